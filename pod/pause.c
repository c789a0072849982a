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
#define READY_FD    3

/* ---- the process ---- */

/* In the child of the clone: everything but the standard descriptors closes by itself. */
static _Noreturn void become_pause(int ready_fd)
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
	if (dup2(ready_fd, READY_FD) < 0)
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
	(void)close(READY_FD);
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
	*p = (struct pause){ .pidfd = -1, .ns_fd = -1, .ready_fd = -1 };
}

bool pause_ready(const struct pause *p)
{
	return p->pidfd >= 0 && p->ready_fd < 0;
}

/* Its end or its readiness: who waits for it looks again. */
static void changed(struct pod *pod)
{
	for (size_t i = 0; i < pod->n_members; i++)
		member_retry_start(&pod->members[i]);
	pod_update_status(pod);
	pod_advance(pod);
}

static void release(struct pause *p)
{
	loop_src_remove(&p->exit_src);
	loop_src_remove(&p->ready_src);
	fd_close(&p->pidfd);
	fd_close(&p->ns_fd);
	fd_close(&p->ready_fd);
}

/* There is none; one that has ended is taken first. */
static bool is_gone(struct pause *p)
{
	struct proc_exit seen;

	if (p->pidfd >= 0 && proc_collect(p->pidfd, &seen, NULL) == 0)
		release(p);
	return p->pidfd < 0;
}

static void ready(struct loop_src *src, uint32_t events)
{
	struct pause *p = container_of(src, struct pause, ready_src);
	struct proc_exit seen;

	(void)events;
	loop_src_remove(&p->ready_src);
	if (proc_peek(p->pidfd, &seen) == 0)
		return; /* it closed by its end, whose event comes */
	fd_close(&p->ready_fd);
	changed(container_of(p, struct pod, pause));
}

static void exit_ready(struct loop_src *src, uint32_t events)
{
	struct pause *p = container_of(src, struct pause, exit_src);
	struct pod *pod = container_of(p, struct pod, pause);
	bool was_ready = pause_ready(p);
	struct proc_exit seen;
	struct err e = { 0 };

	(void)events;
	if (proc_collect(p->pidfd, &seen, NULL) < 0)
		return; /* a hint only: still alive */
	release(p);
	if (pod->state != POD_STOPPING && pod->state != POD_ENDED)
		log_warn("pod %s/%s: its pid namespace ended (%s %d), and all in it",
			 pod->namespace, pod->name,
			 seen.by_signal ? "signal" : "exit code", seen.status);
	/* Not again and again: one that never was ready comes with a member's back-off.
	 */
	if (pod->state != POD_STOPPING && pod->state != POD_ENDED && was_ready &&
	    pause_start(pod, &e) < 0)
		log_err(LOG_ERROR, pod->name, &e);
	changed(pod);
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

/* Its group, made if it is not there; owned. */
static int open_group(struct pod *pod, struct err *e)
{
	const struct cgroup_limits none = { .cpu_quota_us = -1, .memory_max = -1 };
	char path[CGROUP_PATH_BYTES];
	int r, fd;

	(void)snprintf(path, sizeof(path), "%s/" PAUSE_GROUP, pod->uid);
	r = cgroup_make_leaf(pod->pods->cgroup_fd, path, &none, e);
	if (r < 0)
		return r;
	fd = openat(pod->pods->cgroup_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(e, STAGE_CGROUP, errno, "open cgroup %s", path) : fd;
}

static int watch(struct pod *pod, pid_t pid)
{
	struct pause *p = &pod->pause;
	int r;

	p->ns_fd = open_namespace(pid);
	if (p->ns_fd < 0)
		return p->ns_fd;
	r = loop_src_add(pod->pods->loop, &p->exit_src, p->pidfd, EPOLLIN, LOOP_EXIT,
			 exit_ready);
	return r < 0 ? r :
		       loop_src_add(pod->pods->loop, &p->ready_src, p->ready_fd, EPOLLIN,
				    LOOP_START, ready);
}

int pause_start(struct pod *pod, struct err *e)
{
	struct pause *p = &pod->pause;
	_cleanup_close_ int group = -1, theirs = -1;
	int fds[2], r;
	pid_t pid;

	if (!is_gone(p))
		return 0;
	group = open_group(pod, e);
	if (group < 0)
		return group;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, STAGE_CLONE, errno, "pipe of the pid namespace");
	p->ready_fd = fds[0];
	theirs = fds[1];
	pid = proc_clone(CLONE_NEWPID, group, &p->pidfd);
	if (pid == 0)
		become_pause(theirs);
	r = pid < 0 ? (int)pid : watch(pod, pid);
	if (r == 0)
		return 0;
	if (pid > 0) /* nobody would hear of its end: the next try takes it */
		(void)proc_signal(p->pidfd, SIGKILL);
	else
		release(p);
	return err_set(e, STAGE_CLONE, -r, "make the pod's pid namespace");
}

bool pause_end(struct pod *pod)
{
	if (is_gone(&pod->pause))
		return true;
	(void)proc_signal(pod->pause.pidfd, SIGKILL); /* -ESRCH: its exit comes */
	return false;
}
