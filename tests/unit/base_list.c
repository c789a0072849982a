// SPDX-License-Identifier: Apache-2.0
/*
 * base_list.c - the intrusive list: order, removal at any place and time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"

struct item {
	int number;
	struct list node;
};

static struct item items[4];
static struct list head;

static int setup(void **state)
{
	(void)state;
	list_init(&head);
	for (int i = 0; i < (int)ARRAY_SIZE(items); i++) {
		items[i].number = i;
		list_append(&head, &items[i].node);
	}
	return 0;
}

/* Digits of the numbers in order, read forwards; backwards it must be the mirror. */
static int order(void)
{
	int forth = 0, back = 0, weight = 1;

	list_for_each(it, &head)
		forth = forth * 10 + list_entry(it, struct item, node)->number;
	for (struct list *it = head.prev; it != &head; it = it->prev, weight *= 10)
		back += weight * list_entry(it, struct item, node)->number;
	assert_int_equal(forth, back);
	return forth;
}

static void empty_list(void **state)
{
	struct list fixed = LIST_INIT(fixed);
	int seen = 0;

	(void)state;
	assert_true(list_empty(&fixed));
	list_for_each(it, &fixed)
		seen++;
	list_for_each_safe(it, &fixed)
		seen++;
	assert_int_equal(seen, 0);
	list_remove(&fixed); /* of no list: harmless */
	assert_true(list_empty(&fixed));
}

static void appended_in_order(void **state)
{
	struct item first = { .number = 9 };

	(void)state;
	assert_false(list_empty(&head));
	assert_int_equal(order(), 123); /* 0123 */
	list_insert(&first.node, &head, head.next);
	assert_int_equal(order(), 90123);
}

static void removed_at_any_place(void **state)
{
	(void)state;
	list_remove(&items[1].node);
	assert_int_equal(order(), 23); /* 023 */
	list_remove(&items[3].node);
	assert_int_equal(order(), 2);
	list_remove(&items[0].node);
	assert_int_equal(order(), 2);
	list_remove(&items[2].node);
	assert_true(list_empty(&head));
}

static void removed_twice_is_harmless(void **state)
{
	(void)state;
	list_remove(&items[2].node);
	assert_true(list_empty(&items[2].node));
	list_remove(&items[2].node);
	assert_int_equal(order(), 13); /* 013 */
	list_append(&head, &items[2].node);
	assert_int_equal(order(), 132);
}

static void removed_while_it_is_walked(void **state)
{
	int seen = 0;

	(void)state;
	list_for_each_safe(it, &head) {
		seen = seen * 10 + list_entry(it, struct item, node)->number;
		list_remove(it);
	}
	assert_int_equal(seen, 123);
	assert_true(list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(empty_list, setup),
		cmocka_unit_test_setup(appended_in_order, setup),
		cmocka_unit_test_setup(removed_at_any_place, setup),
		cmocka_unit_test_setup(removed_twice_is_harmless, setup),
		cmocka_unit_test_setup(removed_while_it_is_walked, setup),
	};

	return cmocka_run_group_tests_name("base_list", tests, NULL, NULL);
}
