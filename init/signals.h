// SPDX-License-Identifier: Apache-2.0
/*
 * signals.h - what signals mean to PID 1.
 *
 * Owns: the process's mask and dispositions, the signalfd of requests.
 * Called by: main first of all, then boot once there is a loop.
 * SIGCHLD has a descriptor of its own, in init/reap: it belongs to another priority.
 */
#ifndef INIT_SIGNALS_H
#define INIT_SIGNALS_H

#include "base/loop.h"
#include "config/machine.h"

struct signal_request {
	enum machine_end how;
	bool harder; /* asked for again, it ends the pods' grace */
};

struct signals {
	int fd;
	struct loop_src src;
	void (*request)(void *arg, const struct signal_request *r, int sig);
	void *arg;
};

/* The very first act of main: every disposition to its default (an ignored SIGCHLD
 * survives exec and would make children vanish unseen), SIGPIPE ignored, all signals
 * blocked but those that mean a fault in ourselves. Blocked signals stay pending, so that
 * none is lost before the descriptors exist. */
void signals_begin(void);

/* The meaning of sig, or NULL: it has none and is not read. */
const struct signal_request *signals_meaning(int sig);

/* Starts to read requests. request(), fd and src are s's; it lives as long as the loop.
 * 0 or -errno. */
int signals_start(struct signals *s, struct loop *loop,
		  void (*request)(void *arg, const struct signal_request *r, int sig),
		  void *arg);
void signals_stop(struct signals *s);

#endif
