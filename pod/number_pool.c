// SPDX-License-Identifier: Apache-2.0
/*
 * number_pool.c - see number_pool.h.
 */
#include "pod/number_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void number_pool_init(struct number_pool *p, uint64_t first, uint64_t last)
{
	*p = (struct number_pool){ .first = first, .last = last };
}

void number_pool_free(struct number_pool *p)
{
	free(p->taken);
	p->taken = NULL;
	p->n = p->cap = 0;
}

/* Index of the first taken number that is not below number. */
static size_t find(const struct number_pool *p, uint64_t number)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->taken[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct number_pool *p, size_t at, uint64_t number)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 16;
		uint64_t *taken = reallocarray(p->taken, cap, sizeof(*taken));

		if (!taken)
			return -ENOMEM;
		p->taken = taken;
		p->cap = cap;
	}
	memmove(p->taken + at + 1, p->taken + at, (p->n - at) * sizeof(*p->taken));
	p->taken[at] = number;
	p->n++;
	return 0;
}

int number_pool_take_lowest(struct number_pool *p, uint64_t *ret)
{
	uint64_t number = p->first;
	size_t at = 0;
	int r;

	/* Sorted and without gaps up to the first number that is free. */
	while (at < p->n && p->taken[at] == number) {
		if (number == p->last)
			return -ENOSPC;
		number++;
		at++;
	}
	if (number > p->last)
		return -ENOSPC;
	r = insert(p, at, number);
	if (r == 0)
		*ret = number;
	return r;
}

int number_pool_take(struct number_pool *p, uint64_t number)
{
	size_t at = find(p, number);

	if (number < p->first || number > p->last)
		return -ERANGE;
	if (at < p->n && p->taken[at] == number)
		return -EADDRINUSE;
	return insert(p, at, number);
}

void number_pool_give(struct number_pool *p, uint64_t number)
{
	size_t at = find(p, number);

	if (at == p->n || p->taken[at] != number)
		return;
	p->n--;
	memmove(p->taken + at, p->taken + at + 1, (p->n - at) * sizeof(*p->taken));
}
