// SPDX-License-Identifier: Apache-2.0
/*
 * base_err.c - errors for people, and the message of a set-up child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/step.h"

static void sentence_stage_and_code(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(err_set(&e, STAGE_EXEC, ENOENT, "exec %s", "/bin/foo"), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_int_equal(e.stage, STAGE_EXEC);
	assert_string_equal(e.text, "exec /bin/foo: No such file or directory");
	assert_int_equal(err_setx(&e, STAGE_CONFIG, EINVAL, "field %d is odd", 3),
			 -EINVAL);
	assert_string_equal(e.text, "field 3 is odd");
	assert_int_equal(err_set(&e, STAGE_BOOT, 0, "no error"), 0);
	assert_string_equal(e.text, "no error");
	assert_int_equal(err_set(NULL, STAGE_BOOT, EIO, "nobody asks"), -EIO);
	assert_int_equal(err_setx(NULL, STAGE_BOOT, EIO, "nobody asks"), -EIO);
}

static void long_sentence_is_cut(void **state)
{
	char big[1000];
	struct {
		struct err e;
		char after[8];
	} box = { .after = "guard" };

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	(void)err_set(&box.e, STAGE_EXEC, ENOENT, "%s", big);
	assert_int_equal(strlen(box.e.text), sizeof(box.e.text) - 1);
	assert_string_equal(box.after, "guard");
	/* Just so much room that the errno's text is cut. */
	big[sizeof(box.e.text) - 5] = '\0';
	(void)err_set(&box.e, STAGE_EXEC, ENOENT, "%s", big);
	assert_string_equal(box.e.text + sizeof(box.e.text) - 5, ": No");
}

static void every_stage_has_its_own_name(void **state)
{
	(void)state;
	for (int i = 0; i < STAGE_MAX; i++) {
		assert_string_not_equal(err_stage_name((enum stage)i), "?");
		for (int k = 0; k < i; k++)
			assert_string_not_equal(err_stage_name((enum stage)i),
						err_stage_name((enum stage)k));
	}
	assert_string_equal(err_stage_name(STAGE_MAX), "?");
	assert_string_equal(err_stage_name((enum stage) - 1), "?");
	assert_string_equal(err_stage_name((enum stage)1000000), "?");
}

static void step_becomes_an_error(void **state)
{
	struct step s = { 0 };
	struct err e;
	char big[500];

	(void)state;
	assert_int_equal(step_fail(&s, STAGE_MOUNT, EPERM, "mount", "/proc"), -EPERM);
	step_to_err(&s, sizeof(s), &e);
	assert_int_equal(e.code, EPERM);
	assert_int_equal(e.stage, STAGE_MOUNT);
	assert_string_equal(e.text, "mount /proc: Operation not permitted");
	assert_int_equal(step_fail(&s, STAGE_PIVOT, EINVAL, "pivot_root", NULL), -EINVAL);
	step_to_err(&s, sizeof(s), &e);
	assert_string_equal(e.text, "pivot_root: Invalid argument");
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	(void)step_fail(&s, STAGE_EXEC, ENOENT, "exec", big);
	assert_int_equal(strlen(s.what), STEP_WHAT_BYTES - 1);
}

static void step_is_never_trusted(void **state)
{
	const struct step good = { .stage = STAGE_EXEC, .code = ENOENT, .what = "x" };
	const struct {
		int32_t stage, code;
	} bad[] = { { 0, 1 },
		    { STAGE_MAX, 1 },
		    { -1, 1 },
		    { INT32_MIN, 1 },
		    { STAGE_EXEC, 0 },
		    { STAGE_EXEC, -2 },
		    { STAGE_EXEC, 4096 },
		    { STAGE_EXEC, INT32_MIN } };
	struct step s;
	struct err e;

	(void)state;
	for (size_t len = 0; len < sizeof(good); len++) {
		step_to_err(&good, len, &e);
		assert_int_equal(e.code, EPROTO);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		s = good;
		s.stage = bad[i].stage;
		s.code = bad[i].code;
		step_to_err(&s, sizeof(s), &e);
		assert_int_equal(e.code, EPROTO);
		assert_int_equal(e.stage, STAGE_CLONE);
	}
	s = good;
	memset(s.what, 'y', sizeof(s.what)); /* no NUL */
	step_to_err(&s, sizeof(s), &e);
	assert_int_equal(e.code, ENOENT);
	assert_true(strlen(e.text) < sizeof(e.text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentence_stage_and_code),
		cmocka_unit_test(long_sentence_is_cut),
		cmocka_unit_test(every_stage_has_its_own_name),
		cmocka_unit_test(step_becomes_an_error),
		cmocka_unit_test(step_is_never_trusted),
	};

	return cmocka_run_group_tests_name("base_err", tests, NULL, NULL);
}
