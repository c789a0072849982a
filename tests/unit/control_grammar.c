// SPDX-License-Identifier: Apache-2.0
/*
 * control_grammar.c - framing, requests and JSON text: what arrives in any pieces, and
 * what is no request at all.
 */
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "control/grammar.h"
#include "control/json_text.h"
#include "control/request.h"

/* One character a result: 'C' complete, 'W' wrong; texts of the complete ones after it.
 */
struct outcome {
	char results[64];
	char texts[512];
};

static void feed(struct grammar *g, const char *data, size_t len, size_t piece,
		 struct outcome *o)
{
	size_t at = 0;

	while (at < len) {
		size_t used = 0, n = MIN(piece, len - at);
		enum grammar_result r = grammar_feed(g, data + at, n, &used);

		assert_true(used > 0 && used <= n);
		at += used;
		if (r == GRAMMAR_MORE)
			continue;
		strncat(o->results, r == GRAMMAR_COMPLETE ? "C" : "W", 2);
		if (r == GRAMMAR_COMPLETE && strlen(o->texts) + g->text.len < 500) {
			strncat(o->texts, buf_head(&g->text), g->text.len);
			strcat(o->texts, "|");
		}
		if (r == GRAMMAR_WRONG)
			assert_non_null(g->error);
	}
}

struct row {
	const char *name, *input, *results, *texts;
};

#define COMMAND "{\"execute\":\"x\"}"

static const struct row rows[] = {
	{ "one", COMMAND "\n", "C", COMMAND "|" },
	{ "without newline", COMMAND, "C", COMMAND "|" },
	{ "two without newline", COMMAND COMMAND, "CC", COMMAND "|" COMMAND "|" },
	{ "spaces between", " \t" COMMAND "\r\n\n " COMMAND " ", "CC",
	  COMMAND "|" COMMAND "|" },
	{ "over several lines", "{\n \"a\" : [ 1,\n2 ]\n}\n", "C",
	  "{\n \"a\" : [ 1,\n2 ]\n}|" },
	{ "brackets in strings", "{\"a\":\"}]{[\"}", "C", "{\"a\":\"}]{[\"}|" },
	{ "escaped quote", "{\"a\":\"\\\"}\\\\\"}", "C", "{\"a\":\"\\\"}\\\\\"}|" },
	{ "half", "{\"execute\":", "", "" },
	{ "reset when idle is silent", "\xFF\xFF" COMMAND, "C", COMMAND "|" },
	{ "reset in an object", "{\"a\":\xFF" COMMAND, "WC", COMMAND "|" },
	{ "reset in a string", "{\"a\":\"b\xFF" COMMAND, "WC", COMMAND "|" },
	{ "garbage line", "hello {\n" COMMAND, "WC", COMMAND "|" },
	{ "garbage is told once a line", "a b c\nd e f\n", "WW", "" },
	{ "garbage up to a reset", "hello\xFF" COMMAND, "WC", COMMAND "|" },
	{ "array at the top", "[1]\n" COMMAND, "WC", COMMAND "|" },
	{ "wrong bracket", "{\"a\":[}\n" COMMAND, "WC", COMMAND "|" },
	{ "string without end", "{\"a\":\"b}\n" COMMAND, "WC", COMMAND "|" },
	{ "NUL in a string", "{\"a\":\"\1\"}\n" COMMAND, "WC", COMMAND "|" },
	{ "closing bracket first", "}\n" COMMAND, "WC", COMMAND "|" },
};

static void test_rows_in_all_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t piece = 1; piece < 40; piece++) {
			struct grammar_pool pool = { .max = 1 << 20 };
			struct outcome o = { "", "" };
			struct grammar g;

			grammar_init(&g, &pool);
			feed(&g, rows[i].input, strlen(rows[i].input), piece, &o);
			if (strcmp(o.results, rows[i].results) ||
			    strcmp(o.texts, rows[i].texts))
				fail_msg("%s (pieces of %zu): %s %s", rows[i].name, piece,
					 o.results, o.texts);
			grammar_free(&g);
			assert_int_equal(pool.used, 0);
		}
	}
}

static void test_depth(void **state)
{
	struct grammar_pool pool = { .max = 1 << 20 };
	struct outcome o = { "", "" };
	struct grammar g;
	char text[2 * GRAMMAR_DEPTH_MAX + 64];
	size_t n;

	(void)state;
	grammar_init(&g, &pool);
	/* The deepest that is legal, then one more. */
	for (int extra = 0; extra < 2; extra++) {
		n = (size_t)sprintf(text, "{\"a\":");
		for (int i = 1; i < GRAMMAR_DEPTH_MAX + extra; i++)
			text[n++] = '[';
		for (int i = 1; i < GRAMMAR_DEPTH_MAX + extra; i++)
			text[n++] = ']';
		n += (size_t)sprintf(text + n, "}\n");
		feed(&g, text, n, n, &o);
	}
	assert_string_equal(o.results, "CW");
	grammar_free(&g);
}

static void test_too_long_is_skipped_to_its_end(void **state)
{
	struct grammar_pool pool = { .max = GRAMMAR_POOL_BYTES };
	struct outcome o = { "", "" };
	struct grammar g;
	char chunk[65536];
	size_t fed = 0;

	(void)state;
	memset(chunk, 'a', sizeof(chunk));
	grammar_init(&g, &pool);
	feed(&g, "{\"a\":\"", 6, 6, &o);
	while (fed < GRAMMAR_BYTES_MAX + sizeof(chunk)) {
		feed(&g, chunk, sizeof(chunk), sizeof(chunk), &o);
		fed += sizeof(chunk);
		assert_true(pool.used <= GRAMMAR_BYTES_MAX);
	}
	assert_string_equal(o.results, "W");
	assert_int_equal(pool.used, 0); /* given back at once, not at its end */
	feed(&g, "\"}" COMMAND, 2 + strlen(COMMAND), 64, &o);
	assert_string_equal(o.results, "WC");
	grammar_free(&g);
}

static void test_too_many_values(void **state)
{
	struct grammar_pool pool = { .max = GRAMMAR_POOL_BYTES };
	struct outcome o = { "", "" };
	struct grammar g;

	(void)state;
	grammar_init(&g, &pool);
	feed(&g, "{\"a\":[", 6, 6, &o);
	for (int i = 0; i <= GRAMMAR_VALUES_MAX; i++)
		feed(&g, "0,", 2, 2, &o);
	feed(&g, "0]}" COMMAND, 3 + strlen(COMMAND), 64, &o);
	assert_string_equal(o.results, "WC");
	grammar_free(&g);
}

static void test_pool_is_shared(void **state)
{
	struct grammar_pool pool = { .max = 10000 };
	struct outcome a = { "", "" }, b = { "", "" };
	struct grammar one, two;
	char chunk[4096];

	(void)state;
	memset(chunk, ' ', sizeof(chunk));
	grammar_init(&one, &pool);
	grammar_init(&two, &pool);
	feed(&one, "{", 1, 1, &a);
	feed(&one, chunk, sizeof(chunk), sizeof(chunk), &a);
	assert_string_equal(a.results, "");
	feed(&two, "{", 1, 1, &b);
	feed(&two, chunk, sizeof(chunk), sizeof(chunk), &b);
	feed(&two, chunk, sizeof(chunk), sizeof(chunk), &b);
	assert_string_equal(b.results, "W");
	feed(&one, "}", 1, 1, &a);
	assert_string_equal(a.results, "C");
	grammar_free(&one);
	grammar_free(&two);
	assert_int_equal(pool.used, 0);
}

/* ---- request ------------------------------------------------------------------------
 */

struct request_row {
	const char *text;
	int result;
	const char *desc; /* part of the sentence */
	const char *id;   /* NULL = none echoed */
};

static const struct request_row requests[] = {
	{ "{\"execute\":\"a\"}", 0, NULL, NULL },
	{ "{\"execute\":\"a\",\"id\":7}", 0, NULL, "7" },
	{ "{\"execute\":\"a\",\"id\":null,\"arguments\":{}}", 0, NULL, "null" },
	{ "{\"execute\":\"a\",\"id\":{\"b\":[1]}}", 0, NULL, "{\"b\":[1]}" },
	{ "{}", -EINVAL, "'execute' is missing", NULL },
	{ "{\"execute\":1}", -EINVAL, "'execute' must be a string", NULL },
	{ "{\"execute\":\"a\\u0000b\"}", -EINVAL, "/execute: \\u0000", NULL },
	{ "{\"execute\":\"a\",\"arguments\":[]}", -EINVAL, "'arguments' must be", NULL },
	{ "{\"exec\":\"a\",\"id\":3}", -EINVAL, "unknown member 'exec'", "3" },
	{ "{'execute':'a'}", -EINVAL, "not JSON", NULL },
	{ "{\"execute\":\"\xC0\x80\"}", -EINVAL, "not JSON", NULL },
	{ "{nonsense}", -EINVAL, "not JSON", NULL },
	{ "{\"execute\":\"a\",}", -EINVAL, "not JSON", NULL },
	{ "{\"execute\":\"a\",\"execute\":\"b\",\"id\":1}", -EINVAL, "/execute", "1" },
	/* An id that would come back changed does not come back. */
	{ "{\"execute\":\"a\",\"id\":123456789012345678901234567890}", -EINVAL, "/id",
	  NULL },
	{ "{\"execute\":\"a\",\"id\":{\"x\":1,\"x\":2}}", -EINVAL, "/id/x", NULL },
	{ "{\"id\":1,\"execute\":\"a\",\"id\":2}", -EINVAL, "/id", NULL },
	{ "{\"id\":5,\"execute\":\"a\",\"arguments\":{\"b\":18446744073709551616}}",
	  -EINVAL, "/arguments/b", "5" },
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct request_row *row = &requests[i];
		char desc[REQUEST_DESC_BYTES] = "";
		struct request r;

		print_message("request %s\n", row->text);
		assert_int_equal(request_parse(row->text, strlen(row->text), &r, desc),
				 row->result);
		if (row->desc)
			assert_non_null(strstr(desc, row->desc));
		assert_int_equal(r.has_id, row->id != NULL);
		if (row->id)
			assert_string_equal(json_object_to_json_string_ext(
						    r.id, JSON_C_TO_STRING_PLAIN),
					    row->id);
		request_free(&r);
	}
}

static void test_long_id_is_not_echoed(void **state)
{
	static char text[REQUEST_ID_BYTES + 100];
	char desc[REQUEST_DESC_BYTES];
	struct request r;
	size_t n = (size_t)sprintf(text, "{\"execute\":\"a\",\"id\":\"");

	(void)state;
	memset(text + n, 'x', REQUEST_ID_BYTES);
	strcpy(text + n + REQUEST_ID_BYTES, "\"}");
	assert_int_equal(request_parse(text, strlen(text), &r, desc), -EINVAL);
	assert_false(r.has_id);
	request_free(&r);
}

static void test_answers_are_known_as_such(void **state)
{
	static const char text[] = "{\"timestamp\":{},\"event\":\"LOG\"}";
	char desc[REQUEST_DESC_BYTES];
	struct request r;

	(void)state;
	assert_int_equal(request_parse(text, strlen(text), &r, desc), -EINVAL);
	assert_true(r.answer);
	request_free(&r);
}

/* ---- JSON text ----------------------------------------------------------------------
 */

#define BAD "\xEF\xBF\xBD"

static void test_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain", "\"plain\"" },
		{ "", "\"\"" },
		{ "a\"b\\c\n\t\x01\x7F", "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"" },
		{ "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
		  "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"" },
		{ "a\xFFz", "\"a" BAD "z\"" },
		{ "\xC3", "\"" BAD "\"" },
		{ "\xC0\xAF", "\"" BAD BAD "\"" },                 /* overlong */
		{ "\xED\xA0\x80", "\"" BAD BAD BAD "\"" },         /* surrogate */
		{ "\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"" }, /* past U+10FFFF */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b;

		buf_init(&b, 4096);
		assert_int_equal(
			json_text_append_string(&b, cases[i].in, strlen(cases[i].in)), 0);
		assert_int_equal(b.len, strlen(cases[i].out));
		assert_memory_equal(buf_head(&b), cases[i].out, b.len);
		buf_free(&b);
	}
}

static void test_string_does_not_pass_the_limit(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(json_text_append_string(&b, "123456789", 9), -ENOBUFS);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_in_all_pieces),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_too_long_is_skipped_to_its_end),
		cmocka_unit_test(test_too_many_values),
		cmocka_unit_test(test_pool_is_shared),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_long_id_is_not_echoed),
		cmocka_unit_test(test_answers_are_known_as_such),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_string_does_not_pass_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
