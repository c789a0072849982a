// SPDX-License-Identifier: Apache-2.0
/*
 * backoff.c - see backoff.h.
 */
#include "pod/backoff.h"

int64_t backoff_next(struct backoff *b, const struct backoff_limits *limits,
		     int64_t ran_ns)
{
	int64_t delay = limits->base_ns;

	if (ran_ns > limits->reset_ns)
		b->failures = 0;
	if (b->failures < UINT32_MAX)
		b->failures++;
	if (b->failures == 1)
		return 0;
	for (uint32_t i = 2; i < b->failures && delay < limits->max_ns; i++)
		delay = delay > limits->max_ns / 2 ? limits->max_ns : delay * 2;
	return MIN(delay, limits->max_ns);
}
