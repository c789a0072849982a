// SPDX-License-Identifier: Apache-2.0
/*
 * base_step.c - the message of a set-up child: what it says, and what a child that has
 * gone mad may send instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/step.h"

#define ROUNDS 200000

static const struct step good = { .stage = STAGE_EXEC, .code = ENOENT, .what = "exec x" };

static void arrives_whole(void **state)
{
	(void)state;
	/* Both ends rely on it: less than PIPE_BUF is never split (pipe(7)). */
	assert_true(sizeof(struct step) <= PIPE_BUF);
}

static void becomes_an_error(void **state)
{
	struct step s = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(step_fail(&s, STAGE_MOUNT, EPERM, "mount", "/proc"), -EPERM);
	step_to_err(&s, sizeof(s), &e);
	assert_int_equal(e.code, EPERM);
	assert_int_equal(e.stage, STAGE_MOUNT);
	assert_string_equal(e.text, "mount /proc: Operation not permitted");
	assert_int_equal(step_fail(&s, STAGE_PIVOT, EINVAL, "pivot_root", NULL), -EINVAL);
	step_to_err(&s, sizeof(s), &e);
	assert_string_equal(e.text, "pivot_root: Invalid argument");
}

static void long_object_is_cut(void **state)
{
	struct {
		struct step s;
		char after[8];
	} box = { .after = "guard" };
	char big[500];

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	(void)step_fail(&box.s, STAGE_EXEC, ENOENT, "exec", big);
	assert_int_equal(strlen(box.s.what), STEP_WHAT_BYTES - 1);
	(void)step_fail(&box.s, STAGE_EXEC, ENOENT, big, "object");
	assert_int_equal(strlen(box.s.what), STEP_WHAT_BYTES - 1);
	assert_string_equal(box.after, "guard");
	/* The one before does not shine through. */
	(void)step_fail(&box.s, STAGE_EXEC, ENOENT, "a", "b");
	assert_string_equal(box.s.what, "a b");
}

/* Each length ends where the memory ends: a byte too far is a fault. */
static void only_the_right_length_is_read(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct err e;

	(void)state;
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
	for (size_t len = 0; len <= 2 * sizeof(good); len++) {
		unsigned char *message = map + page - len; /* seldom aligned */

		memset(map, 0, page);
		memcpy(message, &good, len < sizeof(good) ? len : sizeof(good));
		step_to_err(message, len, &e);
		assert_int_equal(e.code, len == sizeof(good) ? ENOENT : EPROTO);
		assert_int_equal(e.stage, len == sizeof(good) ? STAGE_EXEC : STAGE_CLONE);
	}
	assert_int_equal(munmap(map, 2 * page), 0);
}

static void out_of_range_is_a_protocol_error(void **state)
{
	static const struct {
		int32_t stage, code;
	} bad[] = { { 0, 1 },
		    { STAGE_MAX, 1 },
		    { -1, 1 },
		    { INT32_MIN, 1 },
		    { INT32_MAX, 1 },
		    { STAGE_EXEC, 0 },
		    { STAGE_EXEC, -2 },
		    { STAGE_EXEC, 4096 },
		    { STAGE_EXEC, INT32_MIN },
		    { STAGE_EXEC, INT32_MAX } };
	struct step s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		s = good;
		s.stage = bad[i].stage;
		s.code = bad[i].code;
		step_to_err(&s, sizeof(s), &e);
		assert_int_equal(e.code, EPROTO);
		assert_int_equal(e.stage, STAGE_CLONE);
		assert_null(strstr(e.text, good.what));
	}
	for (int32_t stage = STAGE_NONE + 1; stage < STAGE_MAX; stage++) {
		s = good;
		s.stage = stage;
		step_to_err(&s, sizeof(s), &e);
		assert_int_equal(e.code, ENOENT);
		assert_int_equal(e.stage, stage);
	}
}

static void text_without_an_end_is_given_one(void **state)
{
	struct step s = good;
	struct err e;

	(void)state;
	memset(s.what, 'y', sizeof(s.what));
	step_to_err(&s, sizeof(s), &e);
	assert_int_equal(e.code, ENOENT);
	assert_int_equal(strspn(e.text, "y"), STEP_WHAT_BYTES - 1);
	/* It is a text and never a format. */
	memcpy(s.what, "%s%n%d", sizeof("%s%n%d"));
	step_to_err(&s, sizeof(s), &e);
	assert_string_equal(e.text, "%s%n%d: No such file or directory");
}

/* xorshift64: the same bytes in every run. */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void random_bytes_are_harmless(void **state)
{
	uint64_t x = 0x9e3779b97f4a7c15, words[sizeof(struct step) / 8 + 1];
	int taken = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct step s;
		struct err e = { .code = -1 };

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = next_random(&x);
		memcpy(&s, words, sizeof(s));
		/* Half of them get near the ranges: all bytes at random never would. */
		if (round % 2) {
			s.stage %= 2 * STAGE_MAX;
			s.code %= 2 * 4096;
		}
		step_to_err(&s, sizeof(s), &e);
		assert_true(e.code > 0 && e.code < 4096);
		assert_true(e.stage > STAGE_NONE && e.stage < STAGE_MAX);
		assert_true(memchr(e.text, '\0', sizeof(e.text)));
		taken += e.code == s.code;
	}
	assert_in_range(taken, ROUNDS / 100, ROUNDS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrives_whole),
		cmocka_unit_test(becomes_an_error),
		cmocka_unit_test(long_object_is_cut),
		cmocka_unit_test(only_the_right_length_is_read),
		cmocka_unit_test(out_of_range_is_a_protocol_error),
		cmocka_unit_test(text_without_an_end_is_given_one),
		cmocka_unit_test(random_bytes_are_harmless),
	};

	return cmocka_run_group_tests_name("base_step", tests, NULL, NULL);
}
