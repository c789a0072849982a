// SPDX-License-Identifier: Apache-2.0
/*
 * base_buf.c - the bounded buffer, at its limits and against a model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"

static void assert_holds(const struct buf *b, const char *want)
{
	assert_int_equal(b->len, strlen(want));
	assert_memory_equal(buf_head(b), want, b->len);
}

static void appends_and_consumes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	assert_int_equal(buf_append(&b, "hello ", 6), 0);
	assert_int_equal(buf_printf(&b, "%s %d", "world", 7), 0);
	assert_holds(&b, "hello world 7");
	buf_consume(&b, 6);
	assert_holds(&b, "world 7");
	assert_int_equal(buf_append(&b, NULL, 0), 0);
	buf_consume(&b, 7);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.start, 0);
	buf_free(&b);
	buf_free(&b);
}

static void limit_is_exact_and_failure_changes_nothing(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(buf_append(&b, "0123456789", 10), 0);
	assert_int_equal(buf_append(&b, "x", 1), -ENOBUFS);
	assert_int_equal(buf_printf(&b, "x"), -ENOBUFS);
	assert_null(buf_reserve(&b, 1));
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_int_equal(buf_append(&b, "x", SIZE_MAX), -ENOBUFS);
	assert_holds(&b, "0123456789");
	/* Consumed room is room again, also for a text's NUL. */
	buf_consume(&b, 4);
	assert_int_equal(buf_printf(&b, "%s", "abcd"), 0);
	assert_holds(&b, "456789abcd");
	assert_int_equal(b.cap, 10);
	buf_free(&b);

	buf_init(&b, 0);
	assert_int_equal(buf_printf(&b, "%s", ""), 0);
	assert_int_equal(buf_append(&b, "x", 1), -ENOBUFS);
	buf_free(&b);
}

static void reserve_and_commit(void **state)
{
	struct buf b;
	char *p;

	(void)state;
	buf_init(&b, 5000);
	for (int i = 0; i < 5; i++) {
		p = buf_reserve(&b, 1000);
		assert_non_null(p);
		memset(p, 'a' + i, 1000);
		buf_commit(&b, 1000);
	}
	assert_null(buf_reserve(&b, 1));
	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf_head(&b)[i], 'a' + i / 1000);
	buf_free(&b);
}

static void large_memory_is_given_back_when_empty(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	assert_non_null(buf_reserve(&b, 100000));
	buf_commit(&b, 100000);
	buf_consume(&b, 99999);
	assert_non_null(b.data);
	buf_consume(&b, 1);
	assert_null(b.data);
	assert_int_equal(b.cap, 0);
	assert_int_equal(buf_append(&b, "again", 5), 0);
	assert_holds(&b, "again");
	buf_consume(&b, 5);
	assert_non_null(b.data); /* small: kept */
	buf_free(&b);
}

/* A million bytes of a known sequence pass through in uneven bites. */
static void stream_agrees_with_a_model(void **state)
{
	struct buf b;
	uint32_t in = 0, out = 0, x = 12345;
	char bite[300];

	(void)state;
	buf_init(&b, 1000);
	while (out < 1000000) {
		size_t n;

		x = x * 1103515245U + 12345U;
		n = (x >> 16) % sizeof(bite);
		for (size_t i = 0; i < n; i++)
			bite[i] = (char)((in + i) * 7 % 251);
		if (b.len + n > 1000)
			assert_int_equal(buf_append(&b, bite, n), -ENOBUFS);
		else if (buf_append(&b, bite, n) == 0)
			in += (uint32_t)n;
		assert_int_equal(b.len, in - out);
		assert_true(b.cap <= 1000);

		n = MIN((size_t)(x >> 8) % 350, b.len);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(buf_head(&b)[i], (char)((out + i) * 7 % 251));
		buf_consume(&b, n);
		out += (uint32_t)n;
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_and_consumes),
		cmocka_unit_test(limit_is_exact_and_failure_changes_nothing),
		cmocka_unit_test(reserve_and_commit),
		cmocka_unit_test(large_memory_is_given_back_when_empty),
		cmocka_unit_test(stream_agrees_with_a_model),
	};

	return cmocka_run_group_tests_name("base_buf", tests, NULL, NULL);
}
