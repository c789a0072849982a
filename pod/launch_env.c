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

#include "config/expand.h"
#include "pod/launch_parts.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "rootfs/image.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define IPS_ASKED    8 /* the machine may have several of a family */

/* ---- valueFrom.fieldRef ---- */

struct source {
	const struct member *member;
	struct launch_plan *plan;
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
	struct inet ips[IPS_ASKED];

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

static const char *pair_value(const struct spec_pair *pairs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(pairs[i].key, key))
			return pairs[i].value;
	return NULL;
}

static const char *field_text(struct source *s, const struct spec_env *env)
{
	const struct pod *pod = s->member->pod;
	const struct pod_spec *spec = pod->spec;

	switch (env->source) {
	case ENV_POD_NAME:
		return pod->name;
	case ENV_POD_NAMESPACE:
		return pod->namespace;
	case ENV_POD_UID:
		return pod->uid;
	case ENV_POD_LABEL:
		return pair_value(spec->labels, spec->n_labels, env->value);
	case ENV_POD_ANNOTATION:
		return pair_value(spec->annotations, spec->n_annotations, env->value);
	case ENV_NODE_NAME:
		return node_name(s);
	case ENV_SERVICE_ACCOUNT:
		return spec->service_account ? spec->service_account : "default";
	case ENV_HOST_IP:
		return host_ips_text(s, 1);
	case ENV_HOST_IPS:
		return host_ips_text(s, LAUNCH_IPS);
	case ENV_POD_IP:
		return pod_ips_text(s, 1);
	case ENV_POD_IPS:
		return pod_ips_text(s, LAUNCH_IPS);
	case ENV_VALUE:
	case ENV_SOURCE_MAX:
		break;
	}
	return NULL;
}

static const char *source_text(void *arg, const struct spec_env *env)
{
	const char *text = field_text(arg, env);

	return text ? text : "";
}

int launch_env_expand(struct launch_plan *p, const struct member *m,
		      struct expand_var **ret, size_t *ret_n)
{
	struct source s = { .member = m, .plan = p };

	host_ips(m->pod->pods, p->host_ips);
	return expand_env(&p->arena, m->spec, source_text, &s, ret, ret_n);
}

bool launch_plan_stale(const struct member *m)
{
	struct inet now[LAUNCH_IPS];

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
