// SPDX-License-Identifier: Apache-2.0
/*
 * pause.c - see pause.h.
 */
#include "pod/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "pod/caps.h"
#include "pod/pod.h"

/* A container's name is a DNS label, so none has this one. */
#define PAUSE_GROUP ".pause"

/* ---- the process ---- */

/* In the child of the clone: everything but the standard descriptors closes by itself. */
static _Noreturn void become_pause(void)
{
	char *const argv[] = { (char *)PAUSE_ARGV0, NULL };
	char *const envp[] = { NULL };
	int null_fd;

	proc_reset_signals();
	(void)setsid();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2; fd++)
		if (null_fd < 0 || dup2(null_fd, fd) < 0)
			_exit(126);
	(void)execve("/proc/self/exe", argv, envp);
	_exit(127);
}

_Noreturn void pause_main(void)
{
	sigset_t child;

	(void)prctl(PR_SET_NAME, "pause");
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (caps_limit_bounding(0) < 0 || caps_apply(0, true) < 0)
		_exit(1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL); /* cannot fail */
	for (;;) {
		/* One signal stands for all that ended before it was taken. */
		(void)sigwaitinfo(&child, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* ---- in PID 1 ---- */

void pause_init(struct pause *p)
{
	*p = (struct pause){ .pidfd = -1, .ns_fd = -1 };
}

static void exit_ready(struct loop_src *src, uint32_t events)
{
	struct pause *p = container_of(src, struct pause, exit_src);
	struct pod *pod = container_of(p, struct pod, pause);
	struct proc_exit seen;

	(void)events;
	if (proc_collect(p->pidfd, &seen, NULL) < 0)
		return; /* a hint only: still alive */
	if (pod->state == POD_INIT || pod->state == POD_RUNNING)
		log_warn("pod %s/%s: its pid namespace ended (%s %d), and all in it",
			 pod->namespace, pod->name,
			 seen.by_signal ? "signal" : "exit code", seen.status);
	loop_src_remove(&p->exit_src);
	fd_close(&p->pidfd);
	fd_close(&p->ns_fd);
	pod_advance(pod);
}

static int open_namespace(pid_t pid)
{
	char path[40];
	int fd;

	/* Not reaped yet, so the number is still its own. */
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pause_ensure(struct pod *pod, struct err *e)
{
	const struct cgroup_limits none = { .cpu_quota_us = -1, .memory_max = -1 };
	struct pods *pods = pod->pods;
	struct pause *p = &pod->pause;
	_cleanup_close_ int group = -1;
	char path[CGROUP_PATH_BYTES];
	pid_t pid;
	int r;

	if (p->pidfd >= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" PAUSE_GROUP, pod->uid);
	r = cgroup_make_leaf(pods->cgroup_fd, path, &none, e);
	if (r < 0)
		return r;
	group = openat(pods->cgroup_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0)
		return err_set(e, STAGE_CGROUP, errno, "open cgroup %s", path);
	pid = proc_clone(CLONE_NEWPID, group, &p->pidfd);
	if (pid == 0)
		become_pause();
	if (pid < 0)
		return err_set(e, STAGE_CLONE, (int)-pid,
			       "clone the pod's pid namespace");
	p->ns_fd = open_namespace(pid);
	r = p->ns_fd < 0 ? p->ns_fd :
			   loop_src_add(pods->loop, &p->exit_src, p->pidfd, EPOLLIN,
					LOOP_EXIT, exit_ready);
	if (r == 0)
		return 0;
	/* Nobody would hear of its end: it ends here. */
	(void)proc_signal(p->pidfd, SIGKILL);
	fd_close(&p->pidfd);
	fd_close(&p->ns_fd);
	return err_set(e, STAGE_CLONE, -r, "hold the pod's pid namespace");
}

bool pause_end(struct pod *pod)
{
	if (pod->pause.pidfd < 0)
		return true;
	(void)proc_signal(pod->pause.pidfd, SIGKILL); /* -ESRCH: its exit comes */
	return false;
}
