// SPDX-License-Identifier: Apache-2.0
/*
 * proc.c - see proc.h. Raw system calls where glibc has no wrapper (clone3) or hides an
 * argument (the resource usage of waitid).
 */
#include "base/proc.h"

#include <errno.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/known.h"

int proc_exit_code(const struct proc_exit *e)
{
	return e->by_signal ? 128 + e->status : e->status;
}

pid_t proc_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	int pidfd = -1;
	/* CLONE_CLEAR_SIGHAND: a signal that comes before the child has reset its own
	 * dispositions must not run PID 1's handlers in the copy. */
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		known_add((pid_t)pid);
		*ret_pidfd = pidfd;
	}
	return (pid_t)pid;
}

void proc_reset_signals(void)
{
	/* All zero is SIG_DFL without flags in every layout of the kernel's struct. The
	 * raw call also reaches the two signals that glibc keeps for itself. */
	const uint64_t zero[8] = { 0 };
	sigset_t none;

	/* SIGKILL and SIGSTOP are refused, and nothing else can fail here. */
	for (int sig = 1; sig < _NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, zero, NULL, _NSIG / 8);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int proc_signal(int pidfd, int sig)
{
	return pidfd_send_signal(pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

static int wait_pidfd(int pidfd, int options, struct proc_exit *ret, struct rusage *usage)
{
	siginfo_t si = { 0 };

	if (syscall(SYS_waitid, P_PIDFD, pidfd, &si, options | WEXITED | WNOHANG, usage) <
	    0)
		return -errno;
	if (si.si_pid == 0)
		return -EAGAIN;
	*ret = (struct proc_exit){
		.pid = si.si_pid,
		.by_signal = si.si_code != CLD_EXITED,
		.core_dumped = si.si_code == CLD_DUMPED,
		.status = si.si_status,
	};
	return 0;
}

int proc_peek(int pidfd, struct proc_exit *ret)
{
	return wait_pidfd(pidfd, WNOWAIT, ret, NULL);
}

int proc_collect(int pidfd, struct proc_exit *ret, struct rusage *usage)
{
	int r = wait_pidfd(pidfd, 0, ret, usage);

	if (r == 0)
		known_remove(ret->pid);
	return r;
}

pid_t proc_peek_any(void)
{
	siginfo_t si = { 0 };

	if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0)
		return -errno;
	return si.si_pid;
}

int proc_close_from(unsigned int first)
{
	return close_range(first, ~0U, 0) < 0 ? -errno : 0;
}
