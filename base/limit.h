// SPDX-License-Identifier: Apache-2.0
/*
 * limit.h - what PID 1 takes for itself and its members must not inherit.
 *
 * Owns: the resource limits as they were at boot. Called by: init once; pod's set-up
 * child before exec. Never: allocates. limit_restore() is async-signal-safe.
 */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include "base/util.h"

/* Descriptors for thousands of members: some five each. */
#define LIMIT_FILES 65536

/* Remembers RLIMIT_NOFILE and raises it to LIMIT_FILES, or as far as is allowed; makes
 * PID 1 the last choice of the OOM killer. Needs /proc. 0 or the first -errno; the
 * machine runs without, with fewer members. */
int limit_raise(void);

/* In a fresh child, while it has PID 1's /proc and capabilities: RLIMIT_NOFILE as it was,
 * oom_score_adj 0. Written with CAP_SYS_RESOURCE the 0 is also the least that the member
 * can ask for later (proc(5)); without, it would keep PID 1's -1000 as its limit. */
int limit_restore(void);

#endif
