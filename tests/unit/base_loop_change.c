// SPDX-License-Identifier: Apache-2.0
/*
 * base_loop_change.c - callbacks that remove, replace, park or free sources while these
 * have an event pending in the same turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/base_loop_fixture.h"

static void remove_other(struct probe *p)
{
	loop_src_remove(&p->other->src);
	probe_quiet(p);
}

static void removed_source_is_not_called_though_pending(void **state)
{
	struct loop *loop = *state;
	struct probe first, second;

	probe_open(loop, &first, 1, LOOP_START);
	probe_open(loop, &second, 2, LOOP_LOG);
	first.action = remove_other;
	first.other = &second;
	probe_signal(&first);
	probe_signal(&second);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	ASSERT_TRACE(1);
	loop_src_remove(&second.src); /* twice is harmless */
	probe_close(&first);
	probe_close(&second);
}

static void replace_other(struct probe *p)
{
	struct probe *o = p->other;
	struct loop *loop = o->src.loop;

	probe_quiet(p);
	probe_close(o);
	probe_open(loop, o, 3, LOOP_LOG);
}

static void stale_event_does_not_reach_the_successor(void **state)
{
	struct loop *loop = *state;
	struct probe first, second;

	probe_open(loop, &first, 1, LOOP_START);
	probe_open(loop, &second, 2, LOOP_LOG);
	first.action = replace_other;
	first.other = &second;
	probe_signal(&first);
	probe_signal(&second);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	ASSERT_TRACE(1);
	probe_close(&first);
	probe_close(&second);
}

static void park_other(struct probe *p)
{
	probe_quiet(p);
	assert_int_equal(loop_src_set(&p->other->src, 0), 0);
}

static void want_less_of_other(struct probe *p)
{
	probe_quiet(p);
	assert_int_equal(loop_src_set(&p->other->src, EPOLLPRI), 0);
}

static void pending_event_follows_the_interest(void **state)
{
	struct loop *loop = *state;
	struct probe first, second;

	probe_open(loop, &first, 1, LOOP_START);
	probe_open(loop, &second, 2, LOOP_LOG);
	first.other = &second;
	first.action = park_other;
	probe_signal(&first);
	probe_signal(&second);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	ASSERT_TRACE(1);

	assert_int_equal(loop_src_set(&second.src, EPOLLIN), 0);
	first.action = want_less_of_other;
	probe_signal(&first);
	assert_int_equal(loop_turn(loop, -1), 1);
	ASSERT_TRACE(1);

	assert_int_equal(loop_src_set(&second.src, EPOLLIN), 0);
	assert_int_equal(loop_turn(loop, -1), 1);
	ASSERT_TRACE(2);
	probe_close(&first);
	probe_close(&second);
}

static void drop_both(struct probe *p)
{
	struct loop *loop = p->src.loop;
	struct probe *o = p->other;

	loop_src_remove(&o->src);
	loop_src_remove(&p->src);
	loop_defer_free(loop, &o->garbage);
	loop_defer_free(loop, &p->garbage);
	p->events = o->events = 0; /* both are still there: the sanitizer watches */
}

static void garbage_goes_after_the_turn(void **state)
{
	struct loop *loop = *state;
	struct probe *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b)), last;

	probe_open(loop, a, 1, LOOP_START);
	probe_open(loop, b, 2, LOOP_LOG);
	probe_open(loop, &last, 3, LOOP_BACKGROUND);
	a->action = drop_both;
	a->other = b;
	probe_signal(a);
	probe_signal(b);
	probe_signal(&last);
	assert_int_equal(loop_turn(loop, -1), 2);
	ASSERT_TRACE(1, 3, 99, 99);
	probe_close(&last);
}

static struct probe woken;

static void wake(struct loop_garbage *garbage)
{
	(void)garbage;
	probe_signal(&woken);
}

static void garbage_of_no_turn_goes_before_the_next_wait(void **state)
{
	struct loop *loop = *state, *other;
	struct loop_garbage garbage = { .fn = wake };
	struct probe *p;

	probe_open(loop, &woken, 1, LOOP_LOG);
	loop_defer_free(loop, &garbage);
	assert_int_equal(loop_turn(loop, 10000), 1);
	ASSERT_TRACE(1);
	probe_close(&woken);

	assert_int_equal(loop_init(&other), 0);
	p = calloc(1, sizeof(*p));
	p->fd = -1;
	p->garbage.fn = free_probe;
	loop_defer_free(other, &p->garbage);
	loop_free(other);
	ASSERT_TRACE(99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(removed_source_is_not_called_though_pending),
		LOOP_TEST(stale_event_does_not_reach_the_successor),
		LOOP_TEST(pending_event_follows_the_interest),
		LOOP_TEST(garbage_goes_after_the_turn),
		LOOP_TEST(garbage_of_no_turn_goes_before_the_next_wait),
	};

	return cmocka_run_group_tests_name("base_loop_change", tests, NULL, NULL);
}
