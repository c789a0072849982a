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
	struct loop_src exit_src;
};

void pause_init(struct pause *p);

/* Makes it, if there is none; also when the earlier one was killed, which took the pod's
 * members along. 0 or -errno with e. */
int pause_ensure(struct pod *pod, struct err *e);

/* Kills it. True when there is none (any more); else pod_advance() comes when it is gone.
 */
bool pause_end(struct pod *pod);

/* main() of the process: does not return. */
_Noreturn void pause_main(void);

#endif
