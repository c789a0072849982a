// SPDX-License-Identifier: Apache-2.0
/*
 * child.h - a helper process with a deadline: everything slow runs in one of these.
 *
 * Owns: the pidfd, the pipe with the helper's output, the deadline timer.
 * Called by: rootfs (modprobe, umount, sync), pod (sandbox, tree removal), init.
 * The helper is a fork of PID 1 that runs a function, or execs a program. It is killed
 * by SIGKILL at its deadline. done() is called exactly once, from the loop, after the
 * process has been reaped, and never from inside child_start().
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/loop.h"
#include "base/proc.h"

#define CHILD_OUTPUT_BYTES 2048 /* the last bytes of stdout and stderr are kept */

struct child {
	/* Set by the caller between child_init() and child_start(). */
	const char *name; /* for logs: "modprobe" */
	/* The program to exec, by its path; or NULL, and run() is called in the child:
	 * its return value is the exit code 0..255. */
	char *const *argv;
	int (*run)(void *arg);
	void *arg;
	int64_t timeout_ns; /* > 0 */
	int keep_fd;        /* >= 0: stays open in the child as descriptor 3 */
	/* With keep_fd: further ones, as 4, 5, ... Borrowed until child_start() returns;
	 * the child has them as they were at the fork, whatever is closed here later. */
	const int *more_fds;
	size_t n_more_fds;
	void (*done)(struct child *child);

	/* Valid in done(). */
	struct proc_exit exit;
	bool timed_out;
	size_t output_len;
	char output[CHILD_OUTPUT_BYTES + 1]; /* NUL-terminated tail */

	/* Private. */
	int pidfd, out_fd;
	struct loop_src exit_src, out_src;
	struct loop_timer deadline;
};

/* Zeroes it, keep_fd is -1. "not running": child_running() is false, child_cancel()
 * harmless. */
void child_init(struct child *child);

/* 0 or -errno (-EAGAIN, -ENOMEM, -EMFILE; -EBUSY while it runs); on error done() is not
 * called. The child has its own session, /dev/null as stdin, the pipe as stdout and
 * stderr, default signals, no other descriptors but keep_fd and more_fds. Exit code 127:
 * exec failed; 126: the descriptors could not be arranged; the output names the errno.
 * run() works in a copy of PID 1: it may log (to the pipe), but not touch the loop or
 * signal by pid, and it prints by write(2) or dprintf(3), as nobody flushes stdio. */
int child_start(struct loop *loop, struct child *child);

bool child_running(const struct child *child);

/* Sends SIGKILL. done() still comes, with timed_out false if the deadline was not first.
 */
void child_cancel(struct child *child);

/* true when it ran to exit code 0 in time. */
bool child_ok(const struct child *child);

/* When it did not: "timed out", "killed", or the first line of its output, which is cut
 * there. Valid as long as the output is. */
const char *child_failure(struct child *child);

#endif
