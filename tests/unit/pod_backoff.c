// SPDX-License-Identifier: Apache-2.0
/*
 * pod_backoff.c - the kubelet's restart delays.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/time.h"
#include "pod/backoff.h"

#define SEC NSEC_PER_SEC

static const struct backoff_limits kubelet = { 10 * SEC, 300 * SEC, 600 * SEC };

static void kubelet_schedule(void **unused)
{
	static const int64_t want_s[] = { 0, 10, 20, 40, 80, 160, 300, 300, 300 };
	struct backoff b = { 0 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(want_s); i++)
		assert_int_equal(backoff_next(&b, &kubelet, SEC), want_s[i] * SEC);
}

static void long_run_starts_over(void **unused)
{
	struct backoff b = { 0 };

	(void)unused;
	for (int i = 0; i < 5; i++)
		(void)backoff_next(&b, &kubelet, SEC);
	/* Exactly the limit is not "more than". */
	assert_int_equal(backoff_next(&b, &kubelet, 600 * SEC), 160 * SEC);
	assert_int_equal(backoff_next(&b, &kubelet, 600 * SEC + 1), 0);
	assert_int_equal(backoff_next(&b, &kubelet, SEC), 10 * SEC);
}

static void never_overflows(void **unused)
{
	const struct backoff_limits huge = { INT64_MAX / 3, INT64_MAX, INT64_MAX };
	struct backoff b = { .failures = UINT32_MAX - 1 };
	struct backoff c = { 0 };

	(void)unused;
	assert_int_equal(backoff_next(&b, &kubelet, 0), 300 * SEC);
	assert_int_equal(backoff_next(&b, &kubelet, 0), 300 * SEC);
	assert_int_equal(b.failures, UINT32_MAX);
	for (int i = 0; i < 100; i++)
		assert_true(backoff_next(&c, &huge, 0) >= 0);
}

static void base_zero_and_base_above_max(void **unused)
{
	const struct backoff_limits zero = { 0, 300 * SEC, SEC };
	const struct backoff_limits odd = { 10 * SEC, 3 * SEC, 600 * SEC };
	struct backoff b = { 0 }, c = { 0 };

	(void)unused;
	for (int i = 0; i < 70; i++)
		assert_int_equal(backoff_next(&b, &zero, 0), 0);
	assert_int_equal(backoff_next(&c, &odd, 0), 0);
	assert_int_equal(backoff_next(&c, &odd, 0), 3 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kubelet_schedule),
		cmocka_unit_test(long_run_starts_over),
		cmocka_unit_test(never_overflows),
		cmocka_unit_test(base_zero_and_base_above_max),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
