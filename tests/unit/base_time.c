// SPDX-License-Identifier: Apache-2.0
/*
 * base_time.c - clocks and their texts; dates are compared with the C library's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/time.h"

static void known_texts(void **state)
{
	static const struct {
		int64_t ns;
		const char *nano, *sec;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000000000Z", "1970-01-01T00:00:00Z" },
		{ 1704164645123456789, "2024-01-02T03:04:05.123456789Z",
		  "2024-01-02T03:04:05Z" },
		{ 951782399999999999, "2000-02-28T23:59:59.999999999Z",
		  "2000-02-28T23:59:59Z" },
		{ 951782400000000001, "2000-02-29T00:00:00.000000001Z",
		  "2000-02-29T00:00:00Z" },
		{ 4107542400000000000, "2100-03-01T00:00:00.000000000Z",
		  "2100-03-01T00:00:00Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16Z" },
		{ -1, "1970-01-01T00:00:00.000000000Z", "1970-01-01T00:00:00Z" },
		{ INT64_MIN, "1970-01-01T00:00:00.000000000Z", "1970-01-01T00:00:00Z" },
	};
	char text[TIME_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		time_text_nano(cases[i].ns, text);
		assert_string_equal(text, cases[i].nano);
		time_text_sec(cases[i].ns, text);
		assert_string_equal(text, cases[i].sec);
	}
}

/* Noon of every day that fits: 1970 to 2262. */
static void every_day_is_as_the_library_says(void **state)
{
	char text[TIME_TEXT_SIZE], want[TIME_TEXT_SIZE];

	(void)state;
	for (int64_t day = 0; day <= INT64_MAX / NSEC_PER_SEC / 86400 - 1; day++) {
		time_t sec = day * 86400 + 43200;
		struct tm tm;

		assert_non_null(gmtime_r(&sec, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		time_text_sec(sec * NSEC_PER_SEC, text);
		assert_string_equal(text, want);
	}
}

static void deadlines_do_not_overflow(void **state)
{
	(void)state;
	assert_true(time_add(5, 7) == 12);
	assert_true(time_add(5, TIME_NEVER) == TIME_NEVER);
	assert_true(time_add(TIME_NEVER, 1) == TIME_NEVER);
	assert_true(time_add(1, TIME_NEVER - 1) == TIME_NEVER);
	assert_true(time_add(-5, 7) == 2);
}

static void clocks_run(void **state)
{
	struct timespec ts;
	int64_t a = time_boot_ns(), b = time_boot_ns(), wall;

	(void)state;
	assert_true(a > 0 && b >= a);
	wall = time_wall_ns();
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &ts), 0);
	assert_true(ts.tv_sec - wall / NSEC_PER_SEC <= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts),
		cmocka_unit_test(every_day_is_as_the_library_says),
		cmocka_unit_test(deadlines_do_not_overflow),
		cmocka_unit_test(clocks_run),
	};

	return cmocka_run_group_tests_name("base_time", tests, NULL, NULL);
}
