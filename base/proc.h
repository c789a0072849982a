// SPDX-License-Identifier: Apache-2.0
/*
 * proc.h - processes by pidfd: clone3, signal, peek, collect.
 *
 * Owns: nothing. Called by: pod (members), base/child (helpers), init (orphans).
 * A pidfd is the identity; a pid is text for people. None of these blocks.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/util.h"

struct proc_exit {
	pid_t pid;
	bool by_signal;
	bool core_dumped;
	int status; /* exit code 0..255, or the signal's number when by_signal */
};

/* 128 + n for signals, as a shell and Kubernetes show it. */
int proc_exit_code(const struct proc_exit *e);

/* clone3(2) without CLONE_VM (a fork) that returns twice: 0 in the child, the pid in the
 * parent with *ret_pidfd owned by the caller. flags: CLONE_NEW*; cgroup_fd >= 0 adds
 * CLONE_INTO_CGROUP. -errno: -EAGAIN (pids.max, RLIMIT_NPROC), -ENOMEM, -EBUSY (a
 * domain group with controllers enabled below), -ENOSPC (namespace limit).
 * The child is known (base/known.h) until proc_collect() took its exit: its owner must
 * collect it, nobody else will. */
pid_t proc_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd);

/* In a fresh child, before anything else: default dispositions for every signal, empty
 * mask (signal(7): both are inherited). Async-signal-safe. */
void proc_reset_signals(void);

/* pidfd_send_signal(2). -ESRCH when it has ended and was reaped. */
int proc_signal(int pidfd, int sig);

/* Looks at the exit without taking it: the zombie stays and its pid stays ours.
 * -EAGAIN while it lives. */
int proc_peek(int pidfd, struct proc_exit *ret);

/* Takes the exit. usage may be NULL. -EAGAIN while it lives, -ECHILD when taken. */
int proc_collect(int pidfd, struct proc_exit *ret, struct rusage *usage);

/* Peeks at any ended child: its pid, 0 when there is none, -ECHILD without children. */
pid_t proc_peek_any(void);

/* close_range(2) from first to the end. Async-signal-safe. */
int proc_close_from(unsigned int first);

#endif
