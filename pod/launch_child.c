// SPDX-License-Identifier: Apache-2.0
/*
 * launch_child.c - a member between clone and exec.
 *
 * Owns: the process it runs in. Called by: launch.c, in the child. Only async-signal-safe
 * calls, only data prepared by the parent; every failure names its stage and errno.
 */
#include "pod/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "pod/caps.h"

/* What systemd gives services, and so what programs expect: a low soft limit for those
 * that use select(2), a high hard one for those that raise it. */
#define NOFILE_SOFT    1024
#define NOFILE_HARD    524288

#define EXIT_SETUP     128 /* the container never ran */
#define EXIT_NOT_FOUND 127
#define EXIT_NO_EXEC   126

static int join_namespaces(const struct launch_child *c, struct step *s)
{
	const struct {
		int fd, type;
		const char *name;
	} joins[] = {
		{ c->uts_fd, CLONE_NEWUTS, "uts" },
		{ c->ipc_fd, CLONE_NEWIPC, "ipc" },
		{ c->net_fd, CLONE_NEWNET, "net" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(joins); i++)
		if (joins[i].fd >= 0 && setns(joins[i].fd, joins[i].type) < 0)
			return step_fail(s, STAGE_NAMESPACE, errno, "setns",
					 joins[i].name);
	/* Not in clone3's flags: with CLONE_INTO_CGROUP the new namespace would be rooted
	 * at the parent's group (copy_cgroup_ns() looks at current), not at the member's.
	 */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return step_fail(s, STAGE_NAMESPACE, errno, "unshare cgroup", NULL);
	return 0;
}

/* While /proc is still the machine's. PID 1 is at -1000, and its children inherit that.
 */
static int leave_privileges_of_pid1(const struct launch_child *c, struct step *s)
{
	int r = fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj",
				 c->plan->oom_score);

	/* Lower than PID 1's own needs power over the machine. */
	if (r < 0 && !(r == -EACCES && c->plan->root.user_ns))
		return step_fail(s, STAGE_NAMESPACE, -r, "write", "oom_score_adj");
	(void)umask(0022);
	return 0;
}

/* After the last open(): what PID 1 has open is our own until exec, and with a few
 * hundred members that is more than the new limit. Before the capabilities go. */
static int limit_files(struct step *s)
{
	struct rlimit nofile = { NOFILE_SOFT, NOFILE_HARD };

	if (setrlimit(RLIMIT_NOFILE, &nofile) < 0) {
		/* Without CAP_SYS_RESOURCE (user namespace) the hard limit cannot grow.
		 */
		if (getrlimit(RLIMIT_NOFILE, &nofile) < 0)
			return step_fail(s, STAGE_NAMESPACE, errno, "getrlimit", NULL);
		nofile.rlim_cur = MIN(nofile.rlim_max, (rlim_t)NOFILE_SOFT);
		if (setrlimit(RLIMIT_NOFILE, &nofile) < 0)
			return step_fail(s, STAGE_NAMESPACE, errno, "setrlimit", NULL);
	}
	return 0;
}

/* A program that is not root opens /dev/stdout again (nginx does): the pipe must be its
 * own, as runc has it. An id that the user namespace does not map (EINVAL) can own
 * nothing. */
static int own_stdio(const struct launch_child *c, struct step *s)
{
	const int fds[] = { c->stdin_fd, c->ends.out, c->ends.err, c->ends.tty };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0 && fchown(fds[i], c->plan->user.uid, (gid_t)-1) < 0 &&
		    errno != EINVAL)
			return step_fail(s, STAGE_STDIO, errno, "chown", "stdio");
	return 0;
}

/* Really closes what was PID 1's, before any name of the manifest, the image or a volume
 * is looked up: close-on-exec would leave /proc/self/fd/N as a way out of the new root
 * (CVE-2024-21626). */
static int close_strangers(const struct launch_child *c)
{
	int keep[] = { c->ends.tty, c->report_fd, INT_MAX };
	unsigned int next = 3;

	if (keep[0] > keep[1]) {
		keep[0] = c->report_fd;
		keep[1] = c->ends.tty;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
		if (keep[i] < 0)
			continue;
		if ((unsigned int)keep[i] > next &&
		    syscall(SYS_close_range, next, (unsigned int)keep[i] - 1, 0U) < 0)
			return -errno;
		next = (unsigned int)keep[i] + 1;
	}
	return 0;
}

/* Descriptors 0..2 become the member's; PID 1 keeps them open for its own life, so every
 * source is above 2. */
static int take_stdio(const struct launch_child *c, struct step *s)
{
	int out = c->ends.tty >= 0 ? c->ends.tty : c->ends.out;
	int err = c->ends.tty >= 0 ? c->ends.tty : c->ends.err;
	int r = own_stdio(c, s);

	if (r < 0)
		return r;
	if (setsid() < 0 && errno != EPERM)
		return step_fail(s, STAGE_STDIO, errno, "setsid", NULL);
	if (c->ends.tty >= 0 && ioctl(c->ends.tty, TIOCSCTTY, 0) < 0)
		return step_fail(s, STAGE_STDIO, errno, "take", "controlling tty");
	if ((c->stdin_fd >= 0 && dup2(c->stdin_fd, 0) < 0) || dup2(out, 1) < 0 ||
	    dup2(err, 2) < 0)
		return step_fail(s, STAGE_STDIO, errno, "dup2", NULL);
	r = close_strangers(c);
	return r < 0 ? step_fail(s, STAGE_STDIO, -r, "close_range", NULL) : 0;
}

/* A name that an image or a volume may have a hand in: it leads where it says, below the
 * member's root, and never through a descriptor of ours. */
static int open_plain(const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* In the member's root: its own /dev/null, or its terminal by the name it has there, so
 * that ttyname(3) finds it. */
static int open_stdin(const struct launch_child *c, struct step *s)
{
	const char *path = c->ends.tty >= 0 ? "/dev/console" : "/dev/null";
	int fd;

	if (c->stdin_fd >= 0 && c->ends.tty < 0)
		return 0;
	fd = open_plain(path, c->ends.tty >= 0 ? O_RDWR | O_NOCTTY : O_RDONLY);
	if (fd < 0)
		return step_fail(s, STAGE_STDIO, -fd, "open", path);
	if (dup2(fd, 0) < 0 || (c->ends.tty >= 0 && (dup2(fd, 1) < 0 || dup2(fd, 2) < 0)))
		return step_fail(s, STAGE_STDIO, errno, "dup2", path);
	return 0;
}

static int enter_directory(const char *path, struct step *s)
{
	int fd = open_plain(path, O_PATH | O_DIRECTORY);

	if (fd < 0 || fchdir(fd) < 0)
		return step_fail(s, STAGE_CHDIR, fd < 0 ? -fd : errno, "chdir", path);
	return 0;
}

static int become_user(const struct launch_plan *p, struct step *s)
{
	const struct user_ids *u = &p->user;
	int r = caps_limit_bounding(p->caps);

	if (r < 0)
		return step_fail(s, STAGE_CAPS, -r, "limit", "bounding set");
	/* Before the change of user: root may enter a directory that the user may not, as
	 * container runtimes allow. */
	r = enter_directory(p->working_dir, s);
	if (r < 0)
		return r;
	if (setgroups(u->n_groups, u->groups) < 0)
		return step_fail(s, STAGE_USER, errno, "setgroups", NULL);
	if (setresgid(u->gid, u->gid, u->gid) < 0)
		return step_fail(s, STAGE_USER, errno, "setresgid", NULL);
	if (setresuid(u->uid, u->uid, u->uid) < 0)
		return step_fail(s, STAGE_USER, errno, "setresuid", NULL);
	r = caps_apply(p->caps, u->uid == 0);
	if (r < 0)
		return step_fail(s, STAGE_CAPS, -r, "set", "capabilities");
	if (p->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return step_fail(s, STAGE_CAPS, errno, "set", "no_new_privs");
	return 0;
}

static int run_program(const struct launch_child *c, struct step *s)
{
	const struct launch_plan *p = c->plan;
	const struct step reached = { .stage = STAGE_EXEC, .code = 0 };
	int first_errno = ENOENT;
	const char *first = p->argv[0];

	/* End of file on the start pipe alone cannot tell exec from a SIGKILL during
	 * set-up; this mark can. */
	if (write(c->report_fd, &reached, sizeof(reached)) != sizeof(reached))
		return step_fail(s, STAGE_EXEC, errno, "write", "start pipe");
	for (const char *const *path = p->paths; *path; path++) {
		/* Not /proc/self/exe: that is PID 1's own program. */
		int fd = open_plain(*path, O_PATH), code = -fd;

		if (fd >= 0) {
			(void)execve(*path, (char *const *)p->argv,
				     (char *const *)p->envp);
			code = errno;
			fd_close(&fd);
		}
		/* As execvp(3): go on along PATH when it is not there, remember a
		 * candidate that was there but may not be run. */
		if (code == ENOENT || code == ENOTDIR)
			continue;
		first_errno = code;
		first = *path;
		if (code != EACCES)
			break;
	}
	return step_fail(s, STAGE_EXEC, first_errno, "exec", first);
}

_Noreturn void launch_child_main(const struct launch_child *c)
{
	struct step s = { 0 };
	int code = EXIT_SETUP;

	proc_reset_signals();
	if (join_namespaces(c, &s) == 0 && leave_privileges_of_pid1(c, &s) == 0 &&
	    take_stdio(c, &s) == 0 && member_root_enter(&c->plan->root, &s) == 0 &&
	    open_stdin(c, &s) == 0 && limit_files(&s) == 0 &&
	    become_user(c->plan, &s) == 0)
		(void)run_program(c, &s);
	if (s.stage == STAGE_EXEC)
		code = s.code == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
	(void)!write(c->report_fd, &s, sizeof(s)); /* PID 1 sees the exit code at least */
	_exit(code);
}
