// SPDX-License-Identifier: Apache-2.0
/*
 * config_diag.c - bounds and looks of errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/diag.h"

static struct diag d;

static void check(const struct diag_item *item, const char *expected)
{
	char line[512];

	assert_int_equal(diag_format(&d, item, line, sizeof(line)), strlen(expected));
	assert_string_equal(line, expected);
}

static void test_format(void **state)
{
	char small[8];

	(void)state;
	diag_init(&d, "pods.json");
	diag_add(&d, DIAG_SYNTAX, "", "text %d", 1);
	d.items[0].line = 3;
	d.items[0].column = 7;
	check(&d.items[0], "pods.json:3:7: text 1");
	diag_add(&d, DIAG_VALUE, "/spec/x", "text");
	check(&d.items[1], "pods.json: /spec/x: text");
	d.items[1].line = 1;
	d.items[1].column = 2;
	check(&d.items[1], "pods.json:1:2: /spec/x: text");
	diag_warn(&d, "/a", "careful");
	check(&d.items[2], "pods.json: /a: warning: careful");
	diag_add(&d, DIAG_LIMIT, NULL, "long");
	check(&d.items[3], "pods.json: long");
	assert_int_equal(d.errors, 3);
	assert_int_equal(d.n, 4);
	assert_int_equal(diag_format(&d, &d.items[3], small, sizeof(small)), 15);
	assert_string_equal(small, "pods.js");

	diag_init(&d, NULL);
	diag_add(&d, DIAG_SYNTAX, "", "text");
	check(&d.items[0], "text");
	d.items[0].line = 3;
	d.items[0].column = 7;
	check(&d.items[0], "3:7: text");
}

static void test_overflow(void **state)
{
	size_t i;

	(void)state;
	diag_init(&d, "f");
	for (i = 0; i < DIAG_MAX; i++)
		diag_warn(&d, "", "warning");
	assert_int_equal(d.n, DIAG_MAX / 2); /* the other half is for errors */
	assert_int_equal(d.dropped, 0);
	for (i = 0; i < DIAG_MAX; i++)
		diag_add(&d, DIAG_VALUE, "", "error");
	assert_int_equal(d.n, DIAG_MAX);
	assert_int_equal(d.errors, DIAG_MAX);
	assert_int_equal(d.dropped, DIAG_MAX / 2);
}

static void test_long_texts_are_cut(void **state)
{
	char text[2 * DIAG_TEXT];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[sizeof(text) - 2] = 'z';
	text[sizeof(text) - 1] = '\0';
	diag_init(&d, text);
	diag_add(&d, DIAG_VALUE, text, "%s", text);
	assert_int_equal(strlen(d.file), sizeof(d.file) - 1);
	assert_int_equal(strlen(d.items[0].text), DIAG_TEXT - 1);
	assert_true(strlen(d.items[0].pointer) < DIAG_POINTER);
	assert_int_equal(d.items[0].pointer[0], '/');
	assert_non_null(strstr(d.items[0].pointer, "..."));
	assert_int_equal(d.items[0].pointer[strlen(d.items[0].pointer) - 1], 'z');
	text[DIAG_POINTER - 1] = '\0';
	diag_add(&d, DIAG_VALUE, text, "x");
	assert_string_equal(d.items[1].pointer, text);
}

static void test_nothing_steers_a_terminal(void **state)
{
	(void)state;
	diag_init(&d, "f");
	diag_add(&d, DIAG_VALUE, "/\x1b[2J", "a\nb\x7f \xc2\x9bm \xff\xc3 \xc3\xa9");
	assert_string_equal(d.items[0].pointer, "/?[2J");
	assert_null(strpbrk(d.items[0].text, "\n\x7f\x9b\xff"));
	assert_non_null(strstr(d.items[0].text, " \xc3\xa9"));
}

static void test_kind_names(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < DIAG_KIND_MAX; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(diag_kind_name(i), diag_kind_name(k));
	assert_string_equal(diag_kind_name(DIAG_UNKNOWN), "unknown-field");
	assert_string_equal(diag_kind_name(DIAG_KIND_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_nothing_steers_a_terminal),
		cmocka_unit_test(test_kind_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
