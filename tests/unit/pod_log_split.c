// SPDX-License-Identifier: Apache-2.0
/*
 * pod_log_split.c - lines out of bytes: every way to cut the input gives the same lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pod/log_split.h"

#define OUT_BYTES (8 * LOG_LINE_MAX)

/* Lines as text: "F:...\n" or "P:...\n". */
struct out {
	size_t len, lines;
	char text[OUT_BYTES];
};

static void on_line(void *arg, const char *text, size_t len, bool partial)
{
	struct out *out = arg;

	assert_true(len <= LOG_LINE_MAX);
	assert_null(memchr(text, '\n', len));
	assert_true(out->len + len + 3 < OUT_BYTES);
	out->text[out->len++] = partial ? 'P' : 'F';
	out->text[out->len++] = ':';
	memcpy(out->text + out->len, text, len);
	out->len += len;
	out->text[out->len++] = '\n';
	out->lines++;
}

/* Feeds in pieces: the first of `first` bytes, the others of `step`. */
static void split(struct out *out, const char *data, size_t len, size_t first,
		  size_t step, bool drop_cr)
{
	/* Exactly sized, so that a sanitizer sees a byte too many. */
	char *rest = malloc(LOG_LINE_MAX);
	struct log_split s = { .rest = rest, .drop_cr = drop_cr };
	size_t at = 0, n = first;

	out->len = out->lines = 0;
	while (at < len) {
		char *piece;

		n = MIN(n, len - at);
		piece = malloc(n ? n : 1);
		memcpy(piece, data + at, n);
		log_split_feed(&s, piece, n, on_line, out);
		free(piece);
		at += n;
		n = step;
	}
	log_split_end(&s, on_line, out);
	assert_int_equal(s.rest_len, 0);
	free(rest);
}

static void check(const char *data, size_t len, const char *expect, size_t expect_len)
{
	static struct out out;

	for (size_t step = 1; step <= len + 1; step++) {
		split(&out, data, len, step, step, false);
		assert_int_equal(out.len, expect_len);
		assert_memory_equal(out.text, expect, expect_len);
	}
	for (size_t first = 1; first < len; first++) {
		split(&out, data, len, first, len, false);
		assert_int_equal(out.len, expect_len);
		assert_memory_equal(out.text, expect, expect_len);
	}
}

#define CHECK(data, expect) check(data, sizeof(data) - 1, expect, sizeof(expect) - 1)

static void test_short(void **state)
{
	(void)state;
	CHECK("", "");
	CHECK("one\n", "F:one\n");
	CHECK("one\ntwo\n", "F:one\nF:two\n");
	CHECK("\n\n\n", "F:\nF:\nF:\n");
	CHECK("no newline", "P:no newline\n");
	CHECK("line\nno newline", "F:line\nP:no newline\n");
	CHECK("crlf\r\n\r\nend\r", "F:crlf\r\nF:\r\nP:end\r\n");
	CHECK("a\0b\0\n\0", "F:a\0b\0\nP:\0\n");
	CHECK("\xff\xfe\xc3\n\xe2\x82\xac\n\x1b[31m\n",
	      "F:\xff\xfe\xc3\nF:\xe2\x82\xac\nF:\x1b[31m\n");
}

static void test_terminal(void **state)
{
	static const char data[] = "a\r\n\r\nb\rc\r\r\nend\r";
	static struct out out;

	(void)state;
	for (size_t step = 1; step <= sizeof(data); step++) {
		split(&out, data, sizeof(data) - 1, step, step, true);
		assert_int_equal(out.lines, 4);
		assert_int_equal(out.len, strlen("F:a\nF:\nF:b\rc\r\nP:end\r\n"));
		assert_memory_equal(out.text, "F:a\nF:\nF:b\rc\r\nP:end\r\n", out.len);
	}
}

/* n bytes, then tail; the parts expected, 0-terminated: >0 a P of that length, <0 an F.
 */
static void check_long(size_t n, const char *tail, const long *expect)
{
	static char data[5 * LOG_LINE_MAX];
	static struct out out, want;
	size_t len = n + strlen(tail), at = 0;
	size_t steps[] = {
		1, 7, 4096, LOG_LINE_MAX - 1, LOG_LINE_MAX, LOG_LINE_MAX + 1, 65536
	};

	for (size_t i = 0; i < n; i++)
		data[i] = (char)('A' + i % 23);
	strcpy(data + n, tail);
	want.len = want.lines = 0;
	for (; *expect; expect++) {
		size_t part = (size_t)labs(*expect);

		on_line(&want, data + at, part, *expect > 0);
		at += part;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (size_t first = LOG_LINE_MAX - 2; first < LOG_LINE_MAX + 3; first++) {
			split(&out, data, len, first, steps[i], false);
			assert_int_equal(out.len, want.len);
			assert_memory_equal(out.text, want.text, want.len);
		}
	}
}

static void test_long(void **state)
{
	const long max = LOG_LINE_MAX;

	(void)state;
	check_long(LOG_LINE_MAX - 1, "\n", (long[]){ -(max - 1), 0 });
	check_long(LOG_LINE_MAX, "\n", (long[]){ -max, 0 });
	check_long(LOG_LINE_MAX, "", (long[]){ max, 0 });
	check_long(LOG_LINE_MAX + 1, "\n", (long[]){ max, -1, 0 });
	check_long(LOG_LINE_MAX + 1, "", (long[]){ max, 1, 0 });
	check_long(20000, "\n", (long[]){ max, -(20000 - max), 0 });
	check_long(2 * LOG_LINE_MAX, "\n", (long[]){ max, -max, 0 });
	check_long(3 * LOG_LINE_MAX + 5, "\n", (long[]){ max, max, max, -5, 0 });
}

static void test_form(void **state)
{
	char head[LOG_HEAD_BYTES], line[LOG_CRI_BYTES(4)];
	static const char full[] = "2024-01-02T03:04:05.123456789Z stdout F text\n";
	static const char part[] = "2024-01-02T03:04:05.000000001Z stderr P text\n";

	(void)state;
	log_head_make(head, 1704164645123456789, LOG_STDOUT);
	assert_ptr_equal(log_line_write(line, head, false, "text", 4),
			 line + sizeof(line));
	assert_int_equal(sizeof(line), strlen(full));
	assert_memory_equal(line, full, sizeof(line));
	log_head_make(head, 1704164645000000001, LOG_STDERR);
	log_line_write(line, head, true, "text", 4);
	assert_memory_equal(line, part, sizeof(line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
