// SPDX-License-Identifier: Apache-2.0
/*
 * base_arena.c - memory that is freed together: alignment, limit, overflow.
 */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

/* The sanitizer's malloc() is to fail like the real one. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=4096";
}

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	arena_free(&arena);
	return 0;
}

/* Every byte of every block is written: the sanitizer finds blocks that overlap the end,
 * the patterns find blocks that overlap each other. */
static void blocks_are_zeroed_aligned_and_apart(void **state)
{
	enum { BLOCKS = 400 };
	unsigned char *block[BLOCKS];

	(void)state;
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t size = i * 37 % 5000;

		block[i] = arena_alloc(&arena, size);
		assert_non_null(block[i]);
		assert_int_equal((uintptr_t)block[i] % alignof(max_align_t), 0);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(block[i][k], 0);
		memset(block[i], (int)(i % 255) + 1, size);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < i * 37 % 5000; k++)
			assert_int_equal(block[i][k], i % 255 + 1);
}

static void limit_holds(void **state)
{
	struct arena none = { 0 };
	size_t n = 0;

	(void)state;
	assert_null(arena_alloc(&arena, (1 << 20) + 1));
	while (arena_alloc(&arena, 1000))
		n++;
	assert_in_range(n, 1000, 1048);
	assert_true(arena.used_bytes <= arena.limit_bytes);
	assert_null(arena_alloc(&none, 1));
	arena_free(&none);
}

static void sizes_do_not_wrap(void **state)
{
	(void)state;
	arena.limit_bytes = SIZE_MAX;
	for (size_t i = 0; i < 64; i++)
		assert_null(arena_alloc(&arena, SIZE_MAX - i));
	assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_array(&arena, (size_t)1 << 33, (size_t)1 << 33));
	assert_non_null(arena_array(&arena, 3, 7));
	assert_non_null(arena_array(&arena, 0, 7));
}

static void large_request_leaves_the_current_block_in_use(void **state)
{
	char *a = arena_alloc(&arena, 16), *b;

	(void)state;
	assert_non_null(arena_alloc(&arena, 200000));
	b = arena_alloc(&arena, 16);
	assert_ptr_equal(b, a + 16);
}

static void texts(void **state)
{
	char *s;

	(void)state;
	assert_string_equal(arena_strdup(&arena, ""), "");
	assert_string_equal(arena_strdup(&arena, "abc"), "abc");
	assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(&arena, "abc", SIZE_MAX), "abc");
	s = arena_printf(&arena, "%s-%d", "pod", 12);
	assert_string_equal(s, "pod-12");
	assert_null(arena_printf(&arena, "%*d", 2000000, 1));
	assert_string_equal(s, "pod-12");
}

#define ARENA_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(blocks_are_zeroed_aligned_and_apart),
		ARENA_TEST(limit_holds),
		ARENA_TEST(sizes_do_not_wrap),
		ARENA_TEST(large_request_leaves_the_current_block_in_use),
		ARENA_TEST(texts),
	};

	return cmocka_run_group_tests_name("base_arena", tests, NULL, NULL);
}
