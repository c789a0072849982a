// SPDX-License-Identifier: Apache-2.0
/*
 * launch.c - PID 1's half of a start: see launch.h.
 */
#include "pod/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "config/expand.h"
#include "config/machine.h"
#include "pod/caps.h"
#include "pod/names.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "rootfs/early.h"
#include "rootfs/image.h"

/* execve(2) takes 2 MiB with the default stack limit; a plan holds it about twice. */
#define PLAN_BYTES     (4u << 20)
/* Of all members together: an expanded command lives as long as its pod, and a small
 * manifest can ask for a large expansion. */
#define PLANS_BYTES    (64u << 20)

#define HOSTNAME_BYTES 65 /* __NEW_UTS_LEN and NUL */

#define DEFAULT_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static size_t strv_len(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

static const char *env_find(const char *const *envp, const char *name)
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
	if (!env_find(b->entries, name))
		env_put(b, arena_printf(b->arena, "%s=%s", name, value));
}

/* ---- fieldRef ---- */

static const char *pair_find(const struct spec_pair *pairs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(pairs[i].key, key))
			return pairs[i].value;
	return ""; /* an absent label is an empty string, as in the kubelet */
}

static const char *ips_text(struct arena *a, const struct inet *ips, size_t n)
{
	char text[INET_TEXT_BYTES];
	const char *all = "";

	for (size_t i = 0; all && i < n; i++)
		all = arena_printf(a, "%s%s%s", all, i ? "," : "",
				   inet_format(&ips[i], text));
	return all;
}

struct env_sources {
	struct arena *arena;
	const struct pod *pod;
};

/* expand_source_fn. What a member sees is what holds when it is started the first time;
 * its own addresses stay the pod's for its whole life. */
static const char *env_source(void *arg, const struct spec_env *env)
{
	const struct env_sources *s = arg;
	const struct pod_spec *spec = s->pod->spec;
	bool host = env->source == ENV_HOST_IP || env->source == ENV_HOST_IPS;
	bool one = env->source == ENV_HOST_IP || env->source == ENV_POD_IP;
	struct inet ips[UPLINK_ADDRS_MAX];

	switch (env->source) {
	case ENV_POD_NAME:
		return s->pod->name;
	case ENV_POD_NAMESPACE:
		return s->pod->namespace;
	case ENV_POD_UID:
		return s->pod->uid;
	case ENV_POD_LABEL:
		return pair_find(spec->labels, spec->n_labels, env->value);
	case ENV_POD_ANNOTATION:
		return pair_find(spec->annotations, spec->n_annotations, env->value);
	case ENV_NODE_NAME:
		return s->pod->pods->machine->hostname;
	case ENV_SERVICE_ACCOUNT:
		return spec->service_account ? spec->service_account : "default";
	case ENV_HOST_IP:
	case ENV_HOST_IPS:
	case ENV_POD_IP:
	case ENV_POD_IPS:
		return ips_text(
			s->arena, ips,
			host ? network_host_ips(s->pod->pods, ips,
						one ? 1 : ARRAY_SIZE(ips)) :
			       network_ips(s->pod, ips, one ? 1 : ARRAY_SIZE(ips)));
	case ENV_VALUE:
	case ENV_SOURCE_MAX:
		break;
	}
	return "";
}

/* ---- environment ---- */

/* Image below, then the spec's; HOSTNAME, PATH, HOME and TERM where nobody set them
 * (containerd and runc do the same). */
static int build_env(struct launch_plan *p, const struct member *m,
		     const struct image *image, const struct expand_var *vars,
		     size_t n_vars)
{
	const char *home = p->user.home[0] ? p->user.home : "/";
	size_t max = strv_len(image->config.env) + n_vars + 5;
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

/* command replaces Entrypoint and drops Cmd; args replaces Cmd; what the manifest says is
 * expanded, what the image says is not. */
static int build_argv(struct launch_plan *p, const struct member *m,
		      const struct image *image, const struct expand_var *vars,
		      size_t n_vars, struct err *e)
{
	const struct container_spec *spec = m->spec;
	const char *const *head = spec->command ?
					  (const char *const *)spec->command :
					  (const char *const *)image->config.entrypoint;
	const char *const *tail = (const char *const *)spec->args;
	const char **argv;
	size_t n_head = strv_len(head), n_tail, n = 0;

	if (!tail && !spec->command)
		tail = (const char *const *)image->config.cmd;
	n_tail = strv_len(tail);
	if (n_head + n_tail == 0)
		return err_setx(
			e, STAGE_IMAGE, EINVAL,
			"no command: neither the manifest nor the image %s has one",
			spec->image);
	argv = arena_array(&p->arena, n_head + n_tail + 1, sizeof(*argv));
	for (size_t i = 0; argv && i < n_head + n_tail; i++) {
		bool from_spec = i < n_head ? spec->command != NULL : spec->args != NULL;
		const char *text = i < n_head ? head[i] : tail[i - n_head];

		argv[n] = from_spec ? expand_text(&p->arena, text, vars, n_vars) :
				      arena_strdup(&p->arena, text);
		if (!argv[n++])
			argv = NULL;
	}
	p->argv = (const char *const *)argv;
	return argv ? 0 : err_set(e, STAGE_IMAGE, ENOMEM, "command line");
}

/* Where to look for argv[0]: as it is when it has a slash, else along the member's PATH.
 */
static int build_paths(struct launch_plan *p)
{
	const char *file = p->argv[0], *path = env_find(p->envp, "PATH");
	const char **paths;
	size_t n = 1, at = 0;

	for (const char *c = path; c && *c; c++)
		n += *c == ':';
	paths = arena_array(&p->arena, n + 1, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	p->paths = (const char *const *)paths;
	if (strchr(file, '/') || !path) {
		paths[0] = file;
		return 0;
	}
	while (file[0]) { /* an empty name is found nowhere */
		size_t len = strcspn(path, ":");

		paths[at] = len ? arena_printf(&p->arena, "%.*s/%s", (int)len, path,
					       file) :
				  arena_printf(&p->arena, "./%s", file);
		if (!paths[at++])
			return -ENOMEM;
		if (!path[len])
			break;
		path += len + 1;
	}
	return 0;
}

static int build_mounts(struct launch_plan *p, const struct member *m)
{
	const struct pod *pod = m->pod;
	struct root_mount *mounts = arena_array(&p->arena, m->spec->n_mounts + 1,
						sizeof(*mounts));

	if (!mounts)
		return -ENOMEM;
	for (size_t i = 0; i < m->spec->n_mounts; i++) {
		const struct spec_mount *from = &m->spec->mounts[i];
		const struct spec_volume *v = &pod->spec->volumes[from->volume];
		struct root_mount *to = &mounts[i];

		to->target = from->path;
		to->read_only = from->read_only;
		to->is_host_path = v->kind == VOLUME_HOST_PATH;
		to->host_type = v->host_type;
		to->source = to->is_host_path ? v->host_path :
						arena_printf(&p->arena, "%s/volumes/%s",
							     pod->run_dir, v->name);
		if (!to->source)
			return -ENOMEM;
	}
	p->root.n_mounts = m->spec->n_mounts;
	p->root.mounts = mounts;
	return 0;
}

static int build_root(struct launch_plan *p, const struct member *m,
		      const struct image *image)
{
	const char *dir = m->spec->working_dir;

	if (!dir || !dir[0])
		dir = image->config.working_dir;
	p->image_id = arena_strdup(&p->arena, image->id);
	p->working_dir = arena_strdup(&p->arena, dir && dir[0] ? dir : "/");
	p->root.lower = arena_strdup(&p->arena, image->root);
	p->root.working_dir = p->working_dir;
	p->root.scratch = SCRATCH_DIR;
	p->root.user_ns = m->pod->pods->user_ns;
	p->root.own_net = !m->pod->spec->host_network;
	p->root.tty_fd = -1;
	p->root.names_dir = arena_printf(&p->arena, "%s/etc", m->pod->run_dir);
	return p->image_id && p->working_dir && p->root.lower && p->root.names_dir ?
		       build_mounts(p, m) :
		       -ENOMEM;
}

/* With hostNetwork the uts namespace is the machine's, and so is the name. */
static int build_hostname(struct launch_plan *p, const struct member *m)
{
	char name[HOSTNAME_BYTES];

	if (m->pod->spec->host_network)
		p->root.hostname = m->pod->pods->machine->hostname;
	else if (names_hostname(m->pod, name, sizeof(name)) < 0)
		return -ENAMETOOLONG; /* its sandbox does not stand: never here */
	else
		p->root.hostname = arena_strdup(&p->arena, name);
	return p->root.hostname ? 0 : -ENOMEM;
}

static int plan_fill(struct launch_plan *p, const struct member *m,
		     const struct image *image, struct err *e)
{
	struct env_sources sources = { &p->arena, m->pod };
	struct expand_var *vars = NULL;
	size_t n_vars = 0;
	int r;

	p->caps = caps_default();
	p->no_new_privs = m->spec->no_new_privs;
	p->tty = m->spec->tty;
	p->stop_signal = image->config.stop_signal ? image->config.stop_signal : SIGTERM;
	r = user_resolve(m->spec->user.uid, m->spec->user.gid, image->config.user,
			 image->passwd, image->group, &p->user, e);
	if (r < 0)
		return r;
	r = build_hostname(p, m);
	if (r == 0)
		r = expand_env(&p->arena, m->spec, env_source, &sources, &vars, &n_vars);
	if (r == 0)
		r = build_env(p, m, image, vars, n_vars);
	if (r == 0)
		r = build_root(p, m, image);
	if (r < 0)
		return err_set(e, STAGE_IMAGE, -r, "environment and mounts");
	r = build_argv(p, m, image, vars, n_vars, e);
	if (r < 0)
		return r;
	r = build_paths(p);
	return r < 0 ? err_set(e, STAGE_IMAGE, -r, "search path") : 0;
}

static const char *image_failure(const struct member *m, int r)
{
	switch (-r) {
	case EINVAL:
		return "InvalidImageName";
	case ENOENT:
		return m->spec->pull == PULL_NEVER ? "ErrImageNeverPull" : "ErrImagePull";
	default:
		return "ImageInspectError";
	}
}

int launch_plan_new(struct member *m, struct launch_plan **ret, const char **ret_reason,
		    struct err *e)
{
	struct image image;
	struct launch_plan *p;
	int r = image_open(m->pod->pods->machine->image_dir, m->spec->image, &image, e);

	if (r < 0) {
		*ret_reason = image_failure(m, r);
		return r;
	}
	*ret_reason = "CreateContainerError";
	p = calloc(1, sizeof(*p));
	if (!p) {
		image_free(&image);
		return err_set(e, STAGE_IMAGE, ENOMEM, "launch plan");
	}
	arena_init(&p->arena, PLAN_BYTES);
	r = plan_fill(p, m, &image, e);
	image_free(&image);
	if (r == -ENOMEM)
		r = err_set(e, STAGE_IMAGE, E2BIG, "command and environment of %s",
			    m->spec->name);
	p->total_bytes = &m->pod->pods->plan_bytes;
	if (r == 0 && *p->total_bytes > PLANS_BYTES - p->arena.used_bytes)
		r = err_setx(e, STAGE_IMAGE, ENOMEM,
			     "the commands of all members need more than %u MiB",
			     PLANS_BYTES >> 20);
	if (r < 0) {
		p->total_bytes = NULL;
		launch_plan_free(p);
		return r;
	}
	*p->total_bytes += p->arena.used_bytes;
	*ret = p;
	return 0;
}

void launch_plan_free(struct launch_plan *plan)
{
	if (!plan)
		return;
	if (plan->total_bytes)
		*plan->total_bytes -= plan->arena.used_bytes;
	arena_free(&plan->arena);
	free(plan);
}

int launch_start(struct member *m, const struct log_ends *ends, struct err *e)
{
	struct pods *pods = m->pod->pods;
	struct launch_child child = {
		.plan = m->plan,
		.uts_fd = m->pod->sandbox.uts_fd,
		.ipc_fd = m->pod->sandbox.ipc_fd,
		.net_fd = m->pod->sandbox.net_fd,
		.stdin_fd = -1,
		.ends = *ends,
	};
	_cleanup_close_ int report = -1, start = -1, in = -1, in_keep = -1, group = -1;
	int fds[2], pidfd = -1;
	pid_t pid;

	m->plan->root.tty_fd = ends->tty;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, STAGE_CLONE, errno, "start pipe");
	start = fds[0];
	report = fds[1];
	if (m->spec->stdin_open && !m->spec->tty) {
		if (pipe2(fds, O_CLOEXEC) < 0)
			return err_set(e, STAGE_CLONE, errno, "stdin pipe");
		in = fds[0];
		in_keep = fds[1];
		(void)fd_set_nonblock(in_keep); /* nobody writes to it before an attach */
	}
	child.report_fd = report;
	child.stdin_fd = in;
	group = openat(pods->cgroup_fd, m->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0 || fd_set_nonblock(start) < 0)
		return err_set(e, STAGE_CGROUP, errno, "open cgroup %s", m->cgroup);

	pid = proc_clone(CLONE_NEWNS | CLONE_NEWPID, group, &pidfd);
	if (pid == 0)
		launch_child_main(&child);
	if (pid < 0)
		return err_set(e, STAGE_CLONE, (int)-pid, "clone %s", m->spec->name);
	m->starting.pid = pid;
	m->pidfd = pidfd;
	m->start_fd = fd_steal(&start);
	m->stdin_fd = fd_steal(&in_keep);
	return 0;
}
