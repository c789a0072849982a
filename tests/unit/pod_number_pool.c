// SPDX-License-Identifier: Apache-2.0
/*
 * pod_number_pool.c - numbers taken and given back, against a plain array that knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "pod/number_pool.h"

static void test_lowest_and_fixed(void **state)
{
	struct number_pool p;
	uint64_t n;

	(void)state;
	number_pool_init(&p, 2, 6);
	for (uint64_t want = 2; want <= 6; want++) {
		assert_int_equal(number_pool_take_lowest(&p, &n), 0);
		assert_int_equal(n, want);
	}
	assert_int_equal(number_pool_take_lowest(&p, &n), -ENOSPC);
	number_pool_give(&p, 4);
	number_pool_give(&p, 4);
	number_pool_give(&p, 99);
	assert_int_equal(number_pool_take(&p, 5), -EADDRINUSE);
	assert_int_equal(number_pool_take(&p, 1), -ERANGE);
	assert_int_equal(number_pool_take(&p, 7), -ERANGE);
	assert_int_equal(number_pool_take(&p, 4), 0);
	assert_int_equal(number_pool_take_lowest(&p, &n), -ENOSPC);
	number_pool_free(&p);
	number_pool_init(&p, 0, UINT64_MAX);
	assert_int_equal(number_pool_take(&p, UINT64_MAX), 0);
	assert_int_equal(number_pool_take_lowest(&p, &n), 0);
	assert_int_equal(n, 0);
	number_pool_free(&p);
	/* A range that holds nothing. */
	number_pool_init(&p, 2, 1);
	assert_int_equal(number_pool_take_lowest(&p, &n), -ENOSPC);
	number_pool_free(&p);
}

#define NUMBERS 64

static void test_at_random(void **state)
{
	bool taken[NUMBERS] = { false };
	struct number_pool p;
	size_t held = 0;

	(void)state;
	srand(1);
	number_pool_init(&p, 0, NUMBERS - 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t n = (uint64_t)rand() % NUMBERS, lowest = 0;
		int r;

		while (lowest < NUMBERS && taken[lowest])
			lowest++;
		switch (rand() % 3) {
		case 0:
			r = number_pool_take_lowest(&p, &n);
			assert_int_equal(r, lowest == NUMBERS ? -ENOSPC : 0);
			if (r < 0)
				break;
			assert_int_equal(n, lowest);
			taken[n] = true;
			held++;
			break;
		case 1:
			r = number_pool_take(&p, n);
			assert_int_equal(r, taken[n] ? -EADDRINUSE : 0);
			held += !taken[n];
			taken[n] = true;
			break;
		default:
			number_pool_give(&p, n);
			held -= taken[n];
			taken[n] = false;
		}
		assert_int_equal(p.n, held);
	}
	number_pool_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lowest_and_fixed),
		cmocka_unit_test(test_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
