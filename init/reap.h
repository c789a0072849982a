// SPDX-License-Identifier: Apache-2.0
/*
 * reap.h - orphans: processes that nobody but PID 1 is left to wait for.
 *
 * Owns: the signalfd of SIGCHLD. Called by: boot, then the loop at LOOP_BACKGROUND,
 * after the owners of known children (base/known.h) had their turn at LOOP_EXIT.
 * Never: takes the exit of a known child, takes more than REAP_BATCH in one turn.
 *
 * waitid(2) shows the ended children one at a time, in a fixed order, and a known one
 * that its owner has not collected yet hides the strangers behind it. So the sweep stops
 * there and goes on when the set of known children says that this one was collected.
 */
#ifndef INIT_REAP_H
#define INIT_REAP_H

#include <sys/types.h>

#include "base/loop.h"

#define REAP_BATCH 128 /* some 0.2 ms */

struct reap {
	int fd;
	struct loop_src src;
	pid_t hidden_by; /* the sweep waits for the owner of this one; 0 = it does not */
	uint64_t taken;  /* orphans so far */
};

/* SIGCHLD must be blocked. Looks for children that ended before. 0 or -errno. One in the
 * process; it lives as long as the loop. */
int reap_start(struct reap *reap, struct loop *loop);
void reap_stop(struct reap *reap);

#endif
