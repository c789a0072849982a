// SPDX-License-Identifier: Apache-2.0
/*
 * base_timer.c - the timers of the event loop: order, changes in callbacks, the timerfd.
 *
 * Replaces timerfd_settime by a version that counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/time.h"

static int settime_calls;
static bool settime_disarmed;

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
		    struct itimerspec *old_value)
{
	settime_calls++;
	settime_disarmed = !new_value->it_value.tv_sec && !new_value->it_value.tv_nsec;
	return (int)syscall(SYS_timerfd_settime, fd, flags, new_value, old_value);
}

#define MS NSEC_PER_MSEC

static int trace[1024];
static size_t traced;

static void trace_add(int what)
{
	assert_true(traced < ARRAY_SIZE(trace));
	trace[traced++] = what;
}

static void assert_trace(const int *want, size_t n)
{
	assert_int_equal(traced, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trace[i], want[i]);
	traced = 0;
}

#define ASSERT_TRACE(...)                                   \
	do {                                                \
		static const int want_[] = { __VA_ARGS__ }; \
		assert_trace(want_, ARRAY_SIZE(want_));     \
	} while (0)

struct tick {
	struct loop_timer timer;
	int number;
	void (*action)(struct tick *tick);
	struct tick *other;
	struct loop *loop;
};

static void tick_event(struct loop_timer *timer)
{
	struct tick *t = container_of(timer, struct tick, timer);

	assert_null(timer->loop);
	trace_add(t->number);
	if (t->action)
		t->action(t);
}

static void tick_set(struct loop *loop, struct tick *t, int number, int64_t at_ns)
{
	*t = (struct tick){ .number = number, .loop = loop, .timer.fn = tick_event };
	assert_int_equal(loop_timer_set(loop, &t->timer, at_ns), 0);
}

static int setup(void **state)
{
	struct loop *loop;

	traced = 0;
	settime_calls = 0;
	if (loop_init(&loop) < 0)
		return -1;
	*state = loop;
	return 0;
}

static int teardown(void **state)
{
	loop_free(*state);
	return 0;
}

/* ---- order and changes ------------------------------------------------------------ */

static void timers_run_in_deadline_order(void **state)
{
	struct loop *loop = *state;
	int64_t now = time_boot_ns();
	struct tick t[6];

	tick_set(loop, &t[0], 4, now - 1);
	tick_set(loop, &t[1], 2, 0);
	tick_set(loop, &t[2], 5, now);
	tick_set(loop, &t[3], 1, INT64_MIN);
	tick_set(loop, &t[4], 3, now - 2);
	tick_set(loop, &t[5], 6, TIME_NEVER);
	assert_int_equal(loop_turn(loop, -1), 5);
	ASSERT_TRACE(1, 2, 3, 4, 5);
	assert_null(t[5].timer.loop);
}

static void timer_is_never_early(void **state)
{
	struct loop *loop = *state;
	int64_t at_ns = time_boot_ns() + 5 * MS;
	struct tick t;
	int n = 0;

	tick_set(loop, &t, 1, at_ns);
	while (n == 0) {
		n = loop_turn(loop, 1000);
		assert_true(n == 0 || time_boot_ns() >= at_ns);
	}
	ASSERT_TRACE(1);
}

static void cancel_other_and_set_third(struct tick *t)
{
	loop_timer_cancel(&t->other->timer);
	loop_timer_cancel(&t->other->timer);
	assert_int_equal(loop_timer_set(t->loop, &t->other->other->timer, 0), 0);
}

static void timer_may_change_others_that_are_due(void **state)
{
	struct loop *loop = *state;
	int64_t now = time_boot_ns();
	struct tick a, b, c;

	tick_set(loop, &a, 1, now - 3);
	tick_set(loop, &b, 2, now - 2);
	tick_set(loop, &c, 3, TIME_NEVER);
	a.action = cancel_other_and_set_third;
	a.other = &b;
	b.other = &c;
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(loop_turn(loop, -1), 1);
	ASSERT_TRACE(1, 3);
}

static void set_again_in_the_past(struct tick *t)
{
	assert_int_equal(loop_timer_set(t->loop, &t->timer, 0), 0);
}

static void control_event(struct loop_src *src, uint32_t events)
{
	(void)src;
	assert_int_equal(events, EPOLLIN);
	trace_add(3);
}

static void eager_timer_runs_once_a_turn_and_starves_nobody(void **state)
{
	struct loop *loop = *state;
	struct tick eager, other;
	struct loop_src src = { 0 };
	int fd = eventfd(1, EFD_CLOEXEC); /* always readable */

	assert_int_equal(
		loop_src_add(loop, &src, fd, EPOLLIN, LOOP_CONTROL, control_event), 0);
	tick_set(loop, &eager, 1, 0);
	eager.action = set_again_in_the_past;
	tick_set(loop, &other, 2, time_boot_ns());
	loop_turn(loop, -1);
	loop_turn(loop, -1);
	ASSERT_TRACE(1, 2, 3, 1, 3);
	loop_timer_cancel(&eager.timer);
	loop_src_remove(&src);
	fd_close(&fd);
}

static void timerfd_is_set_only_when_the_first_deadline_changes(void **state)
{
	struct loop *loop = *state;
	int64_t now = time_boot_ns();
	struct tick t[3];

	tick_set(loop, &t[0], 1, now + 3600 * NSEC_PER_SEC);
	loop_turn(loop, 0);
	assert_int_equal(settime_calls, 1);
	tick_set(loop, &t[1], 2, now + 3601 * NSEC_PER_SEC);
	tick_set(loop, &t[2], 3, now + 10 * NSEC_PER_SEC);
	loop_timer_cancel(&t[2].timer);
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	assert_int_equal(settime_calls, 1);
	loop_timer_cancel(&t[0].timer);
	loop_turn(loop, 0);
	assert_int_equal(settime_calls, 2);
	assert_false(settime_disarmed);
	loop_timer_cancel(&t[1].timer);
	loop_turn(loop, 0);
	assert_int_equal(settime_calls, 3);
	assert_true(settime_disarmed);
}

static void idle_loop_sleeps(void **state)
{
	struct loop *loop = *state;
	struct loop_stats before, after;
	int64_t start;
	struct tick t;

	/* A timer that has fired leaves nothing behind. */
	tick_set(loop, &t, 1, time_boot_ns() + 1);
	while (!traced)
		loop_turn(loop, -1);
	loop_turn(loop, 0);
	assert_true(settime_disarmed);
	settime_calls = 0;

	loop_get_stats(loop, &before);
	start = time_boot_ns();
	assert_int_equal(loop_turn(loop, 50), 0);
	assert_true(time_boot_ns() - start >= 50 * MS - MS);
	loop_get_stats(loop, &after);
	assert_int_equal(after.wakeups - before.wakeups, 1); /* our own time-out */
	assert_int_equal(after.callbacks, before.callbacks);
	assert_int_equal(after.timers_armed, 0);
	assert_int_equal(settime_calls, 0);
}

enum { MANY = 10000 };

static struct model {
	struct loop_timer timer;
	bool armed;
	int64_t at_ns;
} model[MANY];

static struct loop *model_loop;
static size_t model_armed;
static int64_t model_last_ns;
static unsigned int model_changes;

static uint32_t next_random(void)
{
	static uint32_t x = 2463534242U;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static void model_cancel(struct model *m)
{
	loop_timer_cancel(&m->timer);
	model_armed -= m->armed;
	m->armed = false;
}

static void model_set(struct model *m)
{
	m->at_ns = loop_now(model_loop) + 1 + next_random() % (30 * MS);
	assert_int_equal(loop_timer_set(model_loop, &m->timer, m->at_ns), 0);
	model_armed += !m->armed;
	m->armed = true;
}

static void model_change(void)
{
	struct model *m = &model[next_random() % MANY];

	if (next_random() % 3)
		model_set(m);
	else
		model_cancel(m);
}

static void model_event(struct loop_timer *timer)
{
	struct model *m = container_of(timer, struct model, timer);

	assert_true(m->armed);
	assert_true(m->at_ns == timer->at_ns);
	assert_true(m->at_ns <= loop_now(model_loop));
	assert_true(m->at_ns >= model_last_ns);
	model_last_ns = m->at_ns;
	m->armed = false;
	model_armed--;
	if (model_changes) {
		model_changes--;
		model_change();
	}
}

static void ten_thousand_timers_agree_with_a_model(void **state)
{
	struct loop_stats stats;

	model_loop = *state;
	assert_int_equal(loop_timer_reserve(model_loop, MANY), 0);
	for (size_t i = 0; i < MANY; i++) {
		model[i].timer.fn = model_event;
		model_set(&model[i]);
	}
	for (int i = 0; i < 50000; i++)
		model_change();
	loop_get_stats(model_loop, &stats);
	assert_int_equal(stats.timers_armed, model_armed);
	model_changes = 50000;
	while (model_armed)
		assert_true(loop_turn(model_loop, 10000) >= 0);
	loop_get_stats(model_loop, &stats);
	assert_int_equal(stats.timers_armed, 0);
	for (size_t i = 0; i < MANY; i++)
		assert_true(!model[i].armed && !model[i].timer.loop);
}

static void free_disarms_timers(void **state)
{
	struct loop *loop;
	struct tick t;

	(void)state;
	assert_int_equal(loop_init(&loop), 0);
	tick_set(loop, &t, 1, 1);
	loop_free(loop);
	assert_null(t.timer.loop);
	loop_timer_cancel(&t.timer);
	loop_free(NULL);
}

#define TIMER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIMER_TEST(timers_run_in_deadline_order),
		TIMER_TEST(timer_is_never_early),
		TIMER_TEST(timer_may_change_others_that_are_due),
		TIMER_TEST(eager_timer_runs_once_a_turn_and_starves_nobody),
		TIMER_TEST(timerfd_is_set_only_when_the_first_deadline_changes),
		TIMER_TEST(idle_loop_sleeps),
		TIMER_TEST(ten_thousand_timers_agree_with_a_model),
		TIMER_TEST(free_disarms_timers),
	};

	return cmocka_run_group_tests_name("base_timer", tests, NULL, NULL);
}
