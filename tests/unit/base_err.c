// SPDX-License-Identifier: Apache-2.0
/*
 * base_err.c - errors for people: sentence, stage and code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentence_stage_and_code),
		cmocka_unit_test(long_sentence_is_cut),
		cmocka_unit_test(every_stage_has_its_own_name),
	};

	return cmocka_run_group_tests_name("base_err", tests, NULL, NULL);
}
