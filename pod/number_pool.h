// SPDX-License-Identifier: Apache-2.0
/*
 * number_pool.h - numbers that are taken: the slots of pods, the addresses of a range.
 *
 * Owns: a sorted array of the numbers taken. Called by: network.c. Pure: no system call.
 * Taking the lowest free number is linear in those taken, of which there are PODS_MAX at
 * most: a few microseconds.
 */
#ifndef POD_NUMBER_POOL_H
#define POD_NUMBER_POOL_H

#include "base/util.h"

struct number_pool {
	uint64_t first, last; /* what may be taken, both ends included */
	uint64_t *taken;
	size_t n, cap;
};

void number_pool_init(struct number_pool *p, uint64_t first, uint64_t last);
void number_pool_free(struct number_pool *p);

/* The lowest free one. 0, -ENOSPC, -ENOMEM. */
int number_pool_take_lowest(struct number_pool *p, uint64_t *ret);
/* This one. 0, -EADDRINUSE, -ERANGE, -ENOMEM. */
int number_pool_take(struct number_pool *p, uint64_t number);
/* Harmless when it is not taken. */
void number_pool_give(struct number_pool *p, uint64_t number);

#endif
