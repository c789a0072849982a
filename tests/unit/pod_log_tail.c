// SPDX-License-Identifier: Apache-2.0
/*
 * pod_log_tail.c - the newest lines in memory: order, limit, long lines, no page when
 * idle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "pod/log_tail.h"

struct seen {
	size_t lines, bytes;
	uint32_t attempt;
	int64_t wall_ns;
	bool partial;
	enum log_stream stream;
	char first[64], last[64];
};

static void on_line(void *arg, int64_t wall_ns, uint32_t attempt, enum log_stream stream,
		    bool partial, const char *text, size_t len)
{
	struct seen *s = arg;

	(void)snprintf(s->last, sizeof(s->last), "%.*s", (int)MIN(len, (size_t)60), text);
	if (!s->lines)
		strcpy(s->first, s->last);
	else
		assert_true(wall_ns >= s->wall_ns);
	s->lines++;
	s->bytes += len;
	s->attempt = attempt;
	s->wall_ns = wall_ns;
	s->stream = stream;
	s->partial = partial;
}

static struct seen read_all(const struct log_tail *tail, size_t max)
{
	struct seen seen = { 0 };

	log_tail_read(tail, max, on_line, &seen);
	return seen;
}

static void test_newest(void **state)
{
	struct log_tail tail;
	struct seen s;

	(void)state;
	assert_int_equal(log_tail_init(&tail, 8192), 0);
	assert_int_equal(read_all(&tail, 10).lines, 0);
	for (int i = 0; i < 1000; i++) {
		char text[32];
		int n = sprintf(text, "line %d", i);

		log_tail_append(&tail, i, (uint32_t)i / 500,
				i % 2 ? LOG_STDERR : LOG_STDOUT, i % 2, text, (size_t)n);
	}
	s = read_all(&tail, 3);
	assert_int_equal(s.lines, 3);
	assert_string_equal(s.first, "line 997");
	assert_string_equal(s.last, "line 999");
	assert_int_equal(s.attempt, 1);
	assert_int_equal(s.stream, LOG_STDERR);
	assert_true(s.partial);
	assert_int_equal(read_all(&tail, 0).lines, 0);
	s = read_all(&tail, SIZE_MAX);
	assert_in_range(s.lines, 100, 999);
	assert_string_equal(s.last, "line 999");
	log_tail_free(&tail);
}

static void test_long(void **state)
{
	static char text[LOG_LINE_MAX];
	struct log_tail tail;
	struct seen s;

	(void)state;
	memset(text, 'y', sizeof(text));
	assert_int_equal(log_tail_init(&tail, 65536), 0);
	log_tail_append(&tail, 1, 0, LOG_STDOUT, false, text, sizeof(text));
	s = read_all(&tail, SIZE_MAX);
	assert_int_equal(s.bytes, sizeof(text)); /* in parts, nothing cut */
	assert_false(s.partial);                 /* the last one ends the line */
	log_tail_free(&tail);

	/* The smallest ring still takes it, the newest part last. */
	assert_int_equal(log_tail_init(&tail, 0), 0);
	text[sizeof(text) - 1] = 'z';
	log_tail_append(&tail, 1, 0, LOG_STDOUT, false, text, sizeof(text));
	s = read_all(&tail, 1);
	assert_int_equal(s.last[0], s.bytes == 1 ? 'z' : 'y');
	assert_false(s.partial);
	log_tail_free(&tail);
}

/* Runs come out as lines again, however they were cut to fit. */
static void test_runs(void **state)
{
	static const char run[] = "one\n\nthree\nfour";
	static char big[3000];
	struct log_tail tail;
	struct seen s;

	(void)state;
	assert_int_equal(log_tail_init(&tail, 4096), 0);
	log_tail_append(&tail, 1, 0, LOG_STDOUT, true, run, sizeof(run) - 1);
	s = read_all(&tail, SIZE_MAX);
	assert_int_equal(s.lines, 4);
	assert_int_equal(s.bytes, sizeof(run) - 1 - 3);
	assert_true(s.partial);
	s = read_all(&tail, 2);
	assert_string_equal(s.first, "three");
	assert_int_equal(read_all(&tail, 3).lines, 3);
	log_tail_append(&tail, 2, 0, LOG_STDOUT, false, "", 0);
	s = read_all(&tail, 2);
	assert_string_equal(s.first, "four");
	assert_string_equal(s.last, "");
	assert_false(s.partial);

	/* 300 lines of 9 bytes in one run: cut between lines. */
	for (int i = 0; i < 300; i++)
		memcpy(big + i * 10, "123456789\n", 10);
	log_tail_append(&tail, 3, 0, LOG_STDOUT, false, big, sizeof(big) - 1);
	s = read_all(&tail, 300);
	assert_int_equal(s.lines, 300);
	assert_int_equal(s.bytes, 2700);
	assert_string_equal(s.first, "123456789");
	log_tail_free(&tail);
}

static void test_idle_costs_nothing(void **state)
{
	unsigned char here[16];
	struct log_tail tail;

	(void)state;
	assert_int_equal(log_tail_init(&tail, 65536), 0);
	assert_int_equal(mincore(tail.ring.map, tail.ring.size, here), 0);
	for (size_t i = 0; i < sizeof(here); i++)
		assert_int_equal(here[i] & 1, 0);
	log_tail_free(&tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_idle_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
