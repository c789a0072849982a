// SPDX-License-Identifier: Apache-2.0
/*
 * base_str.c - near misses, paths, JSON strings. JSON is read back by json-c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "base/str.h"

static void distances(void **state)
{
	static const struct {
		const char *a, *b;
		size_t max, want;
	} cases[] = {
		{ "", "", 5, 0 },
		{ "name", "name", 0, 0 },
		{ "", "abc", 5, 3 },
		{ "nmae", "name", 5, 1 }, /* swapped */
		{ "nam", "name", 5, 1 },
		{ "naame", "name", 5, 1 },
		{ "nome", "name", 5, 1 },
		{ "ca", "abc", 5, 3 }, /* a swapped pair is not edited again */
		{ "kitten", "sitting", 5, 3 },
		{ "kitten", "sitting", 3, 3 },
		{ "kitten", "sitting", 2, 3 }, /* more than max */
		{ "kitten", "sitting", 0, 1 },
		{ "abcdefgh", "hgfedcba", 2, 3 },
		{ "ba", "ab", 1, 1 },
	};
	char long_a[66], long_b[66];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(str_distance(cases[i].a, cases[i].b, cases[i].max),
				 cases[i].want);
		assert_int_equal(str_distance(cases[i].b, cases[i].a, cases[i].max),
				 cases[i].want);
	}
	memset(long_a, 'a', sizeof(long_a));
	long_a[65] = '\0';
	memcpy(long_b, long_a, sizeof(long_b));
	assert_int_equal(str_distance(long_a, long_b, 3), 4); /* too long */
	long_a[64] = long_b[64] = '\0';
	long_b[0] = 'b';
	assert_int_equal(str_distance(long_a, long_b, 3), 1);
}

static void nearest_name(void **state)
{
	static const char *const ties[] = { "parts", "ports" };
	static const char *const names[] = { "name", "image", "command", "args",
					     "env",  "ports", "envFrom", "hostNetwork" };
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "nmae", "name" },
		{ "imagee", "image" },
		{ "comand", "command" },
		{ "cmd", NULL },
		{ "hostnetwork", "hostNetwork" },
		{ "ENV", "env" },
		{ "env", "env" },
		{ "en", NULL },
		{ "", NULL },
		{ "port", "ports" },
		{ "envFom", "envFrom" },
		{ "somethingElse", NULL },
		{ "hotsNetwrok", "hostNetwork" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = str_nearest(cases[i].name, names, ARRAY_SIZE(names));

		if (cases[i].want)
			assert_string_equal(got, cases[i].want);
		else
			assert_null(got);
	}
	assert_null(str_nearest("name", names, 0));
	assert_string_equal(str_nearest("prts", ties, 2), "parts"); /* the first */
}

static void joined_paths(void **state)
{
	static const struct {
		const char *dir, *name, *want;
	} cases[] = {
		{ "/run", "x", "/run/x" },  { "/run/", "x", "/run/x" },
		{ "/run", "/x", "/run/x" }, { "/run//", "//x", "/run/x" },
		{ "/", "x", "/x" },         { "//", "x", "/x" },
		{ "", "x", "x" },           { "", "/x", "/x" },
		{ "/run", "", "/run" },     { "", "", "" },
		{ "/", "", "/" },           { "a/b", "c/d", "a/b/c/d" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].want);

		assert_int_equal(path_join(buf, sizeof(buf), cases[i].dir, cases[i].name),
				 len);
		assert_string_equal(buf, cases[i].want);
		/* Exactly enough, and one byte less. */
		assert_int_equal(path_join(buf, len + 1, cases[i].dir, cases[i].name),
				 len);
		assert_string_equal(buf, cases[i].want);
		memset(buf, 'z', sizeof(buf));
		assert_int_equal(path_join(buf, len, cases[i].dir, cases[i].name),
				 -ENAMETOOLONG);
		assert_int_equal(buf[0], len ? '\0' : 'z');
	}
}

static void utf8_characters(void **state)
{
	(void)state;
	assert_int_equal(str_utf8_len("", 0), 0);
	assert_int_equal(str_utf8_len("a", 1), 1);
	assert_int_equal(str_utf8_len("\xc3\xbc", 2), 2);
	assert_int_equal(str_utf8_len("\xc3\xbc", 1), 0);
	assert_int_equal(str_utf8_len("\xf4\x8f\xbf\xbf", 4), 4);
	assert_int_equal(str_utf8_len("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(str_utf8_len("\xed\x9f\xbf", 3), 3);
	assert_int_equal(str_utf8_len("\xed\xa0\x80", 3), 0);
	assert_int_equal(str_utf8_len("\xc1\xbf", 2), 0);
	assert_int_equal(str_utf8_len("\xe0\x9f\xbf", 3), 0);
	assert_int_equal(str_utf8_len("\xf0\x8f\xbf\xbf", 4), 0);
	assert_true(str_is_control("\t", 1) && str_is_control("\x7f", 1));
	assert_true(str_is_control("\xc2\x85", 2));
	assert_false(str_is_control(" ", 1) || str_is_control("\xc2\xa0", 2));
}

/* Each code point up to U+3000 and a sample of the others, read back by json-c. */
static void every_code_point_survives_json(void **state)
{
	char in[5], out[16];

	(void)state;
	for (uint32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		json_object *obj;
		int len;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		memset(in, 0, sizeof(in));
		if (n == 1)
			in[0] = (char)c;
		else
			in[0] = (char)((0xf00 >> n & 0xff) | c >> 6 * (n - 1));
		for (size_t i = 1; i < n; i++)
			in[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
		assert_int_equal(str_utf8_len(in, n), n);
		len = str_json_escape(out, sizeof(out), in);
		assert_int_equal(len, strlen(out));
		obj = json_tokener_parse(out);
		assert_non_null(obj);
		assert_string_equal(json_object_get_string(obj), in);
		json_object_put(obj);
	}
}

static void json_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "\"\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"" },
		{ "\xc2\x9b", "\"\\u009b\"" },
		{ "bad \xff\xc3", "\"bad \\ufffd\\ufffd\"" },
		{ "\xe2\x82\xac", "\"\xe2\x82\xac\"" },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].out);

		assert_int_equal(str_json_escape(buf, len + 1, cases[i].in), len);
		assert_string_equal(buf, cases[i].out);
		for (size_t size = 1; size <= len; size++) {
			memset(buf, 'z', sizeof(buf));
			assert_int_equal(str_json_escape(buf, size, cases[i].in),
					 -ENOBUFS);
			assert_string_equal(buf, "");
			assert_int_equal(buf[size], 'z');
		}
		assert_int_equal(str_json_escape(buf, 0, cases[i].in), -ENOBUFS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(nearest_name),
		cmocka_unit_test(joined_paths),
		cmocka_unit_test(utf8_characters),
		cmocka_unit_test(every_code_point_survives_json),
		cmocka_unit_test(json_strings),
	};

	return cmocka_run_group_tests_name("base_str", tests, NULL, NULL);
}
