// SPDX-License-Identifier: Apache-2.0
/*
 * backoff.h - how long a member that ended waits for its next start.
 *
 * The kubelet's rule: the first restart is at once, then base, 2 base, 4 base ... up to
 * max after the end of the last instance; a member that ran longer than reset starts
 * over. (kubernetes-pod.md 6; kubelet util/flowcontrol backoff: 10 s, 300 s, 2 x 300 s)
 */
#ifndef POD_BACKOFF_H
#define POD_BACKOFF_H

#include "base/util.h"

struct backoff_limits {
	int64_t base_ns, max_ns, reset_ns;
};

struct backoff {
	uint32_t failures; /* ends in a row without a long run */
};

/* Notes an end after ran_ns and returns the delay until the next start in ns. */
int64_t backoff_next(struct backoff *b, const struct backoff_limits *limits,
		     int64_t ran_ns);

#endif
