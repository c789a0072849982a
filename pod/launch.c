// SPDX-License-Identifier: Apache-2.0
/*
 * launch.c - PID 1's half of a start: see launch.h.
 */
#include "pod/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "config/expand.h"
#include "config/machine.h"
#include "pod/caps.h"
#include "pod/launch_parts.h"
#include "pod/names.h"
#include "pod/pod.h"
#include "pod/resources.h"
#include "rootfs/early.h"
#include "rootfs/image.h"

/* execve(2) takes 2 MiB with the default stack limit; a plan holds it about twice. */
#define PLAN_BYTES  (4u << 20)
/* Of all members together: an expanded command lives as long as its pod, and a small
 * manifest can ask for a large expansion. */
#define PLANS_BYTES (64u << 20)

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
	size_t n_head = launch_strv_len(head), n_tail, n = 0;

	if (!tail && !spec->command)
		tail = (const char *const *)image->config.cmd;
	n_tail = launch_strv_len(tail);
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
	const char *file = p->argv[0], *path = launch_env_find(p->envp, "PATH");
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

static int build_root(struct launch_plan *p, const struct member *m,
		      const struct image *image, const struct expand_env *env,
		      const char **ret_reason, struct err *e)
{
	const char *dir = m->spec->working_dir;
	char hostname[HOST_NAME_MAX + 1];
	int r = names_hostname(m->pod, hostname, sizeof(hostname));

	if (r < 0)
		return r;
	if (!dir || !dir[0])
		dir = image->config.working_dir;
	p->image_id = arena_strdup(&p->arena, image->id);
	p->working_dir = arena_strdup(&p->arena, dir && dir[0] ? dir : "/");
	p->root.lower = arena_strdup(&p->arena, image->root);
	p->root.working_dir = p->working_dir;
	p->root.scratch = SCRATCH_DIR;
	p->root.user_ns = m->pod->pods->user_ns;
	p->root.read_only = m->spec->read_only_root;
	p->root.own_net = !m->pod->spec->host_network;
	p->root.tty_fd = -1;
	p->root.hostname = arena_strdup(&p->arena, hostname);
	p->root.names_dir = arena_printf(&p->arena, "%s/etc", m->pod->run_dir);
	if (!p->image_id || !p->working_dir || !p->root.lower || !p->root.hostname ||
	    !p->root.names_dir)
		return -ENOMEM;
	return launch_mounts_build(p, m, env, ret_reason, e);
}

static int build_user(struct launch_plan *p, const struct member *m,
		      const struct image *image, struct err *e)
{
	const struct pod_spec *pod = m->pod->spec;
	int r = user_resolve(m->spec->user.uid, m->spec->user.gid, image->config.user,
			     image->passwd, image->group, !pod->own_groups_only, &p->user,
			     e);

	for (size_t i = 0; r == 0 && i < pod->n_groups; i++)
		if (user_add_group(&p->user, pod->groups[i]) < 0)
			r = err_setx(e, STAGE_USER, E2BIG,
				     "more than %d supplementary groups",
				     USER_GROUPS_MAX);
	if (r == 0 && pod->fs_group >= 0 &&
	    user_add_group(&p->user, (gid_t)pod->fs_group) < 0)
		r = err_setx(e, STAGE_USER, E2BIG, "more than %d supplementary groups",
			     USER_GROUPS_MAX);
	return r;
}

/* runAsNonRoot, as the kubelet has it (kuberuntime security_context.go): a user that the
 * image names could be root tomorrow. */
static int check_non_root(const struct member *m, const struct image *image,
			  struct err *e)
{
	const struct spec_user *user = &m->spec->user;
	const char *name = image->config.user;

	if (user->non_root <= 0 || user->uid > 0)
		return 0;
	if (user->uid == 0)
		return err_setx(e, STAGE_CONFIG, EPERM,
				"container's runAsUser breaks non-root policy");
	if (user_is_name(name))
		return err_setx(e, STAGE_CONFIG, EPERM,
				"container has runAsNonRoot and image has non-numeric "
				"user (%.64s), cannot verify user is non-root",
				name);
	if (strtoul(name, NULL, 10) == 0)
		return err_setx(e, STAGE_CONFIG, EPERM,
				"container has runAsNonRoot and image will run as root");
	return 0;
}

static int plan_fill(struct launch_plan *p, const struct member *m,
		     const struct image *image, const char **ret_reason, struct err *e)
{
	static const struct spec_caps every = { .add_all = true };
	struct expand_env env = { 0 };
	int r;

	p->caps = m->spec->privileged ? caps_of(&every) : caps_of(&m->spec->caps);
	p->root.privileged = m->spec->privileged;
	(void)snprintf(
		p->oom_score, sizeof(p->oom_score), "%d",
		resources_oom_score(m->pod->spec, m->spec, m->pod->pods->memory_bytes));
	p->no_new_privs = m->spec->no_new_privs;
	p->tty = m->spec->tty;
	p->stop_signal = image->config.stop_signal ? image->config.stop_signal : SIGTERM;
	r = build_user(p, m, image, e);
	if (r < 0)
		return r;
	r = launch_env_expand(p, m, &env, e);
	if (r < 0)
		return r;
	r = build_root(p, m, image, &env, ret_reason, e);
	if (r == 0)
		r = launch_env_build(p, m, image, env.vars, env.n);
	if (r < 0)
		return e->code ? r :
				 err_set(e, STAGE_IMAGE, -r, "environment and mounts");
	r = build_argv(p, m, image, env.vars, env.n, e);
	if (r < 0)
		return r;
	r = build_paths(p);
	return r < 0 ? err_set(e, STAGE_IMAGE, -r, "search path") : 0;
}

const char *launch_image_reason(enum pull_policy pull, int r)
{
	switch (-r) {
	case EINVAL:
		return "InvalidImageName";
	case ENOENT:
		return pull == PULL_NEVER ? "ErrImageNeverPull" : "ErrImagePull";
	default:
		return "ImageInspectError";
	}
}

static int plan_new(struct member *m, struct launch_plan **ret, const char **ret_reason,
		    struct err *e)
{
	struct image image;
	struct launch_plan *p;
	int r = image_open(m->pod->pods->machine->image_dir, m->spec->image, &image, e);

	if (r < 0) {
		*ret_reason = launch_image_reason(m->spec->pull, r);
		return r;
	}
	r = check_non_root(m, &image, e);
	if (r < 0) {
		*ret_reason = "CreateContainerConfigError";
		image_free(&image);
		return r;
	}
	*ret_reason = "CreateContainerError";
	p = calloc(1, sizeof(*p));
	if (!p) {
		image_free(&image);
		return err_set(e, STAGE_IMAGE, ENOMEM, "launch plan");
	}
	arena_init(&p->arena, PLAN_BYTES);
	r = plan_fill(p, m, &image, ret_reason, e);
	image_free(&image);
	if (r == -ENOMEM)
		r = err_set(e, STAGE_IMAGE, E2BIG, "command and environment of %s",
			    m->spec->name);
	if (r < 0 && e->stage == STAGE_CONFIG)
		*ret_reason = "CreateContainerConfigError";
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

/* Into the pid namespace that it is to have: one of its own, the machine's, or the pod's,
 * which PID 1 enters for its next child only. */
static pid_t clone_member(const struct member *m, int group, int *pidfd)
{
	const struct pod_spec *spec = m->pod->spec;
	_cleanup_close_ int own_fd = -1;
	pid_t pid;

	if (!spec->share_pid)
		return proc_clone(spec->host_pid ? CLONE_NEWNS :
						   CLONE_NEWNS | CLONE_NEWPID,
				  group, pidfd);
	own_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (own_fd < 0 || setns(m->pod->pause.ns_fd, CLONE_NEWPID) < 0)
		return -errno;
	pid = proc_clone(CLONE_NEWNS, group, pidfd);
	if (pid != 0 && setns(own_fd, CLONE_NEWPID) < 0) {
		/* A descriptor of our own namespace: no reason to fail is known. */
		log_error("cannot leave a pod's pid namespace: %s", strerror(errno));
		abort();
	}
	return pid;
}

/* Clones the member into its group. */
static int start(struct member *m, const struct log_ends *ends, struct err *e)
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

	pid = clone_member(m, group, &pidfd);
	if (pid == 0)
		launch_child_main(&child);
	if (pid == -ENOMEM && m->pod->spec->share_pid)
		return err_setx(
			e, STAGE_CLONE, ENOMEM,
			"the pid namespace of the pod has ended, or memory is out");
	if (pid < 0)
		return err_set(e, STAGE_CLONE, (int)-pid, "clone %s", m->spec->name);
	m->starting.pid = pid;
	m->pidfd = pidfd;
	m->start_fd = fd_steal(&start);
	m->stdin_fd = fd_steal(&in_keep);
	return 0;
}

int launch_member(struct member *m, const char **ret_reason, struct err *e)
{
	struct pods *pods = m->pod->pods;
	struct log_ends ends = { -1, -1, -1 };
	struct cgroup_limits limits;
	int r = 0;

	if (m->plan && launch_plan_stale(m)) {
		launch_plan_free(m->plan);
		m->plan = NULL;
	}
	if (!m->plan) {
		r = plan_new(m, &m->plan, ret_reason, e);
		if (r < 0)
			return r;
		m->stop_signal = m->plan->stop_signal;
	}
	*ret_reason = "CreateContainerError";
	limits = resources_of_container(m->spec);
	r = cgroup_make_leaf(pods->cgroup_fd, m->cgroup, &limits, e);
	if (r < 0)
		return r;
	if (m->pod->spec->share_pid && !pause_ready(&m->pod->pause)) {
		r = pause_start(m->pod, e);
		return r < 0 ? r :
			       err_setx(e, STAGE_CLONE, EAGAIN,
					"the pod's pid namespace is being made");
	}
	pods_watch(pods, m);
	m->oom_base = cgroup_oom_kills(pods->cgroup_fd, m->cgroup);
	r = member_log_open(m->log, m->starting.number, m->spec->tty, &ends, e);
	if (r < 0)
		return r;
	r = start(m, &ends, e);
	fd_close(&ends.out);
	fd_close(&ends.err);
	fd_close(&ends.tty);
	if (r < 0)
		member_log_drain(m->log);
	return r;
}
