// SPDX-License-Identifier: Apache-2.0
/*
 * launch_env.c - the environment a member starts with.
 *
 * Owns: nothing; everything is made in the plan's arena. Called by: launch.c, in PID 1.
 * Order as with containerd and runc: the image's below, the manifest's above, and what
 * every program expects where neither set it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/expand.h"
#include "pod/downward.h"
#include "pod/launch_parts.h"
#include "pod/network.h"
#include "pod/objects.h"
#include "pod/pod.h"
#include "rootfs/image.h"

#define DEFAULT_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define ENV_MAX        2048         /* names are compared pairwise */
#define DOWNWARD_BYTES (256u << 10) /* the longest annotation */
#define IPS_ASKED      8            /* the machine may have several of a family */

/* ---- valueFrom ---- */

struct source {
	const struct member *member;
	struct launch_plan *plan;
	struct err *e;
	char text[256]; /* IPs, the machine's name */
};

/* status.podIPs and status.hostIPs hold at most one of each family. */
static void one_a_family(const struct inet *from, size_t n,
			 struct inet ret[static LAUNCH_IPS])
{
	memset(ret, 0, LAUNCH_IPS * sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		struct inet *to = &ret[from[i].family == AF_INET ? 0 : 1];

		if (!to->family)
			*to = from[i];
	}
}

static void host_ips(const struct pods *pods, struct inet ret[static LAUNCH_IPS])
{
	struct inet ips[IPS_ASKED] = { { 0 } };

	one_a_family(ips, network_host_ips(pods, ips, IPS_ASKED), ret);
}

static const char *ips_text(struct source *s, const struct inet ips[static LAUNCH_IPS],
			    size_t max)
{
	char one[INET_TEXT_BYTES];
	size_t len = 0, n = 0;

	s->text[0] = '\0';
	for (size_t i = 0; i < LAUNCH_IPS && n < max; i++)
		if (ips[i].family)
			len += (size_t)snprintf(s->text + len, sizeof(s->text) - len,
						"%s%s", n++ ? "," : "",
						inet_format(&ips[i], one));
	return s->text;
}

static const char *pod_ips_text(struct source *s, size_t max)
{
	const struct pod *pod = s->member->pod;
	struct inet ips[IPS_ASKED], chosen[LAUNCH_IPS];

	one_a_family(ips, network_ips(pod, ips, IPS_ASKED), chosen);
	if (pod->spec->host_network) /* they are the machine's then */
		s->plan->uses_host_ips = true;
	return ips_text(s, chosen, max);
}

static const char *host_ips_text(struct source *s, size_t max)
{
	s->plan->uses_host_ips = true;
	return ips_text(s, s->plan->host_ips, max);
}

static const char *node_name(struct source *s)
{
	if (gethostname(s->text, sizeof(s->text)) < 0)
		s->text[0] = '\0';
	return s->text;
}

/* Names, labels and resources; the text is in the plan's arena. */
static int downward(struct source *s, const struct spec_env *env, const char **ret)
{
	struct buf text;
	int r;

	buf_init(&text, DOWNWARD_BYTES);
	r = downward_text(s->member->pod, s->member->spec, env, &text, s->e);
	if (r == 0)
		*ret = arena_strndup(&s->plan->arena, text.len ? buf_head(&text) : "",
				     text.len);
	buf_free(&text);
	/* -ENOENT would mean a variable that is not set. */
	return r == -ENOENT ? -EINVAL : r < 0 || *ret ? r : -ENOMEM;
}

/* As the kubelet: an optional one that is not there is not set. */
static int object_text(struct source *s, const struct spec_env *env, const char **ret)
{
	const struct pod *pod = s->member->pod;
	const struct object_spec *object = NULL;
	const struct object_entry *entry = NULL;
	int r = objects_resolve(pod->pods, pod->namespace, &env->object, &object, s->e);

	s->plan->uses_objects = true;
	if (r == 0)
		r = objects_resolve_key(pod->namespace, &env->object, object, env->value,
					&entry, s->e);
	if (r < 0)
		return -EINVAL;
	/* binaryData is for volumes only. */
	if (entry && entry->binary && !env->object.optional) {
		(void)err_setx(s->e, STAGE_CONFIG, ENOENT,
			       "couldn't find key %.64s in %s %s/%.100s", env->value,
			       object_kind_name(env->object.kind), pod->namespace,
			       env->object.name);
		return -EINVAL;
	}
	if (!entry || entry->binary)
		return -ENOENT;
	*ret = entry->data; /* a NUL in it ends it, as it would in the kernel */
	return 0;
}

static int source_text(void *arg, const struct spec_env *env, const char **ret)
{
	struct source *s = arg;

	switch (env->source) {
	case ENV_NODE_NAME:
		*ret = node_name(s);
		return 0;
	case ENV_HOST_IP:
		*ret = host_ips_text(s, 1);
		return 0;
	case ENV_HOST_IPS:
		*ret = host_ips_text(s, LAUNCH_IPS);
		return 0;
	case ENV_POD_IP:
		*ret = pod_ips_text(s, 1);
		return 0;
	case ENV_POD_IPS:
		*ret = pod_ips_text(s, LAUNCH_IPS);
		return 0;
	case ENV_OBJECT:
		return object_text(s, env, ret);
	case ENV_VALUE:
	case ENV_POD_NAME:
	case ENV_POD_NAMESPACE:
	case ENV_POD_UID:
	case ENV_POD_LABEL:
	case ENV_POD_ANNOTATION:
	case ENV_POD_LABELS:
	case ENV_POD_ANNOTATIONS:
	case ENV_SERVICE_ACCOUNT:
	case ENV_RESOURCE:
	case ENV_SOURCE_MAX:
		break;
	}
	return downward(s, env, ret);
}

/* ---- envFrom ---- */

/* All keys of the objects, found first so that there is room for them. */
static int find_env_from(struct source *s, const struct object_spec **objects,
			 size_t *ret_n)
{
	const struct pod *pod = s->member->pod;
	const struct container_spec *c = s->member->spec;

	for (size_t i = 0; i < c->n_env_from; i++) {
		int r = objects_resolve(pod->pods, pod->namespace, &c->env_from[i].object,
					&objects[i], s->e);

		if (r < 0)
			return r;
		*ret_n += objects[i] ? objects[i]->n_entries : 0;
	}
	if (*ret_n > ENV_MAX)
		return err_setx(s->e, STAGE_CONFIG, E2BIG,
				"%zu environment variables; at most %d are possible",
				*ret_n, ENV_MAX);
	return 0;
}

static int put_env_from(struct source *s, struct expand_env *env,
			const struct object_spec *const *objects)
{
	const struct container_spec *c = s->member->spec;
	struct arena *a = &s->plan->arena;

	for (size_t i = 0; i < c->n_env_from; i++)
		for (size_t k = 0; objects[i] && k < objects[i]->n_entries; k++) {
			const struct object_entry *entry = &objects[i]->entries[k];
			const char *name, *value;

			if (entry->binary)
				continue;
			name = arena_printf(a, "%s%s", c->env_from[i].prefix, entry->key);
			value = arena_strdup(a, entry->data);
			if (!name || !value)
				return -ENOMEM;
			expand_env_put(env, name, value);
		}
	return 0;
}

int launch_env_expand(struct launch_plan *p, const struct member *m,
		      struct expand_env *ret, struct err *e)
{
	struct source s = { .member = m, .plan = p, .e = e };
	const struct object_spec **objects = arena_array(
		&p->arena, m->spec->n_env_from + 1, sizeof(*objects));
	size_t n = m->spec->n_env;
	int r = objects ? 0 : -ENOMEM;

	host_ips(m->pod->pods, p->host_ips);
	p->uses_objects = m->spec->n_env_from > 0;
	p->objects_changed = m->pod->pods->objects_changed;
	if (r == 0)
		r = find_env_from(&s, objects, &n);
	if (r == 0)
		r = expand_env_init(ret, &p->arena, n);
	if (r == 0)
		r = put_env_from(&s, ret, objects);
	if (r == 0)
		r = expand_env(ret, &p->arena, m->spec, source_text, &s);
	return r < 0 && !e->code ? err_set(e, STAGE_IMAGE, -r, "environment") : r;
}

bool launch_plan_stale(const struct member *m)
{
	struct inet now[LAUNCH_IPS];

	if (m->plan->uses_objects &&
	    m->plan->objects_changed != m->pod->pods->objects_changed)
		return true;
	if (!m->plan->uses_host_ips)
		return false;
	host_ips(m->pod->pods, now);
	for (size_t i = 0; i < LAUNCH_IPS; i++)
		if (now[i].family != m->plan->host_ips[i].family ||
		    (now[i].family && !inet_same(&now[i], &m->plan->host_ips[i])))
			return true;
	return false;
}

/* ---- the list ---- */

size_t launch_strv_len(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

const char *launch_env_find(const char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, len) && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

struct env_build {
	struct arena *arena;
	const char **entries;
	size_t n;
	bool failed;
};

/* entry is "NAME=value"; a later one of the same name replaces the earlier. */
static void env_put(struct env_build *b, const char *entry)
{
	const char *equals = entry ? strchr(entry, '=') : NULL;
	size_t len;

	if (!equals) {
		b->failed = b->failed || !entry;
		return; /* an image's "NAME" without a value sets nothing, as in runc */
	}
	len = (size_t)(equals - entry) + 1;
	for (size_t i = 0; i < b->n; i++)
		if (!strncmp(b->entries[i], entry, len)) {
			b->entries[i] = entry;
			return;
		}
	b->entries[b->n++] = entry;
}

static void env_put_missing(struct env_build *b, const char *name, const char *value)
{
	b->entries[b->n] = NULL;
	if (!launch_env_find(b->entries, name))
		env_put(b, arena_printf(b->arena, "%s=%s", name, value));
}

/* Image below, then the spec's; HOSTNAME, PATH, HOME and TERM where nobody set them
 * (containerd and runc do the same). */
int launch_env_build(struct launch_plan *p, const struct member *m,
		     const struct image *image, const struct expand_var *vars,
		     size_t n_vars)
{
	const char *home = p->user.home[0] ? p->user.home : "/";
	size_t max = launch_strv_len(image->config.env) + n_vars + 5;
	struct env_build b = { .arena = &p->arena };

	b.entries = arena_array(&p->arena, max, sizeof(*b.entries));
	if (!b.entries)
		return -ENOMEM;
	for (const char *const *e = (const char *const *)image->config.env; e && *e; e++)
		env_put(&b, arena_strdup(&p->arena, *e));
	for (size_t i = 0; i < n_vars; i++)
		env_put(&b,
			arena_printf(&p->arena, "%s=%s", vars[i].name, vars[i].value));
	env_put_missing(&b, "PATH", DEFAULT_PATH);
	env_put_missing(&b, "HOSTNAME", p->root.hostname);
	env_put_missing(&b, "HOME", home);
	if (m->spec->tty)
		env_put_missing(&b, "TERM", "xterm");
	p->envp = b.entries;
	return b.failed ? -ENOMEM : 0;
}
