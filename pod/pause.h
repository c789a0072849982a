// SPDX-License-Identifier: Apache-2.0
/*
 * pause.h - the first process of a pid namespace that a pod's containers share
 * (shareProcessNamespace). The other namespaces are held by descriptors; a pid namespace
 * lives as long as its first process, and that one has to reap.
 *
 * Owns: the process, its pidfd, the descriptor of its namespace. Called by: launch.c,
 * which needs it, and lifecycle.c, which ends it. It is podinit's own program executed
 * anew, without a capability: PID 1's memory, with the pods' secrets, is not in it.
 */
#ifndef POD_PAUSE_H
#define POD_PAUSE_H

#include "base/err.h"
#include "base/loop.h"

struct pod;

#define PAUSE_ARGV0 "podinit-pause"

struct pause {
	int pidfd, ns_fd; /* -1 = there is none */
	int ready_fd; /* closed by the process when it is its own program; -1 after that
		       */
	struct loop_src exit_src, ready_src;
};

void pause_init(struct pause *p);

/* Makes it, if there is none. pod_advance() comes when it is ready. When somebody kills
 * it, which takes the pod's members along, it is made anew. 0 or -errno with e. */
int pause_start(struct pod *pod, struct err *e);

/* May members be started in it? Not before: until then it is a copy of PID 1. */
bool pause_ready(const struct pause *p);

/* Kills it. True when there is none (any more); else pod_advance() comes when it is gone.
 */
bool pause_end(struct pod *pod);

/* main() of the process: does not return. */
_Noreturn void pause_main(void);

#endif
