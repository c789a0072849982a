// SPDX-License-Identifier: Apache-2.0
/*
 * base_loop.c - the event loop: order, parking, faults, run and stop. Timers and changes
 * inside of callbacks have files of their own. Replaces epoll_wait and epoll_ctl by
 * versions that can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/syscall.h>

#include "tests/unit/base_loop_fixture.h"

static int wait_errno, ctl_errno; /* the next call fails with it */

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	if (wait_errno) {
		errno = wait_errno;
		wait_errno = 0;
		return -1;
	}
	return (int)syscall(SYS_epoll_pwait, fd, events, max, timeout, NULL, 8);
}

int epoll_ctl(int fd, int op, int target, struct epoll_event *event)
{
	if (ctl_errno) {
		errno = ctl_errno;
		ctl_errno = 0;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, fd, op, target, event);
}

/* ---- order ------------------------------------------------------------------------ */

static void timer_event(struct loop_timer *timer)
{
	(void)timer;
	trace_add(100);
}

static void runs_in_priority_order_with_timers_in_their_place(void **state)
{
	struct loop *loop = *state;
	struct probe p[LOOP_PRIO_MAX];
	struct loop_timer t = { .fn = timer_event };

	for (int i = LOOP_PRIO_MAX - 1; i >= 0; i--) {
		probe_open(loop, &p[i], i, (enum loop_prio)i);
		probe_signal(&p[i]);
	}
	assert_int_equal(loop_timer_set(loop, &t, time_boot_ns() - 1), 0);
	assert_int_equal(loop_turn(loop, -1), LOOP_PRIO_MAX + 1);
	ASSERT_TRACE(LOOP_START, LOOP_LOG, LOOP_EXIT, LOOP_CGROUP, LOOP_KERNEL, 100,
		     LOOP_TIMER, LOOP_CONTROL, LOOP_BACKGROUND);
	for (int i = 0; i < LOOP_PRIO_MAX; i++)
		probe_close(&p[i]);
}

/* An exit must not overtake a log line that was ready before, however many there are. */
static void sorts_all_that_is_ready_not_only_one_batch(void **state)
{
	enum { LOGS = 600 };
	struct loop *loop = *state;
	static struct probe log[LOGS], end;

	probe_open(loop, &end, 1, LOOP_EXIT);
	probe_signal(&end);
	for (int i = 0; i < LOGS; i++) {
		probe_open(loop, &log[i], 0, LOOP_LOG);
		probe_signal(&log[i]);
	}
	assert_int_equal(loop_turn(loop, -1), LOGS + 1);
	assert_int_equal(traced, LOGS + 1);
	for (int i = 0; i < LOGS; i++)
		assert_int_equal(trace[i], 0);
	assert_int_equal(trace[LOGS], 1);
	for (int i = 0; i < LOGS; i++)
		probe_close(&log[i]);
	probe_close(&end);
}

static void high_priority_comes_again_before_low(void **state)
{
	struct loop *loop = *state;
	struct probe busy, quiet;

	probe_open(loop, &busy, 1, LOOP_BACKGROUND);
	probe_open(loop, &quiet, 2, LOOP_START);
	busy.action = NULL; /* stays readable */
	probe_signal(&busy);
	loop_turn(loop, -1);
	probe_signal(&quiet);
	loop_turn(loop, -1);
	ASSERT_TRACE(1, 2, 1);
	probe_close(&busy);
	probe_close(&quiet);
}

/* ---- parking and refusals --------------------------------------------------------- */

static void parked_source_with_hangup_does_not_spin(void **state)
{
	struct loop *loop = *state;
	struct probe p = { .number = 1 };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(loop_src_add(loop, &p.src, fds[0], 0, LOOP_LOG, probe_event), 0);
	fd_close(&fds[1]);
	assert_int_equal(loop_turn(loop, 20), 0);

	assert_int_equal(loop_src_set(&p.src, EPOLLIN), 0);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(p.events, EPOLLHUP);
	assert_int_equal(loop_src_set(&p.src, 0), 0);
	assert_int_equal(loop_turn(loop, 20), 0);
	loop_src_remove(&p.src);
	fd_close(&fds[0]);
}

static void refused_source_stays_out(void **state)
{
	struct loop *loop = *state;
	struct loop_src src = { 0 };
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct probe p;

	loop_src_remove(&src);
	assert_int_equal(loop_src_add(loop, &src, fd, EPOLLIN, LOOP_LOG, probe_event),
			 -EPERM);
	assert_null(src.loop);
	loop_src_remove(&src);

	probe_open(loop, &p, 1, LOOP_LOG);
	ctl_errno = ENOMEM;
	assert_int_equal(loop_src_set(&p.src, EPOLLIN | EPOLLOUT), -ENOMEM);
	assert_int_equal(p.src.events, EPOLLIN);
	probe_signal(&p);
	assert_int_equal(loop_turn(loop, -1), 1);
	probe_close(&p);

	ctl_errno = ENOSPC;
	p.fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(loop_src_add(loop, &p.src, p.fd, EPOLLIN, LOOP_LOG, probe_event),
			 -ENOSPC);
	assert_null(p.src.loop);
	fd_close(&p.fd);
}

static void interrupted_wait_is_an_empty_turn(void **state)
{
	wait_errno = EINTR;
	assert_int_equal(loop_turn(*state, -1), 0);
	wait_errno = EBADF;
	assert_int_equal(loop_turn(*state, -1), -EBADF);
	wait_errno = EBADF;
	assert_int_equal(loop_run(*state), -EBADF);
}

/* ---- run and stop ----------------------------------------------------------------- */

static void stop_here(struct probe *p)
{
	loop_stop(p->src.loop, 42);
}

static void stop_finishes_the_turn(void **state)
{
	struct loop *loop = *state;
	struct probe first, second;
	struct loop_stats stats;

	probe_open(loop, &first, 1, LOOP_START);
	probe_open(loop, &second, 2, LOOP_CONTROL);
	first.action = stop_here;
	probe_signal(&first);
	probe_signal(&second);
	assert_int_equal(loop_run(loop), 42);
	ASSERT_TRACE(1, 2);
	loop_get_stats(loop, &stats);
	assert_int_equal(stats.callbacks, 2);
	/* A stop that comes first is not forgotten, and counts once. */
	loop_stop(loop, 43);
	assert_int_equal(loop_run(loop), 43);
	assert_int_equal(loop_run(loop), 42);
	assert_true(stats.longest_ns >= 0);
	probe_close(&first);
	probe_close(&second);
}

static int64_t seen_now[2];

static void note_now(struct probe *p)
{
	seen_now[p->number] = loop_now(p->src.loop);
	probe_quiet(p);
}

static void one_turn_has_one_time(void **state)
{
	struct loop *loop = *state;
	struct probe a, b;
	int64_t before = time_boot_ns();

	probe_open(loop, &a, 0, LOOP_START);
	probe_open(loop, &b, 1, LOOP_BACKGROUND);
	a.action = b.action = note_now;
	probe_signal(&a);
	probe_signal(&b);
	loop_turn(loop, -1);
	assert_true(seen_now[0] == seen_now[1]);
	assert_true(seen_now[0] >= before && loop_now(loop) >= seen_now[0]);
	probe_close(&a);
	probe_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(runs_in_priority_order_with_timers_in_their_place),
		LOOP_TEST(sorts_all_that_is_ready_not_only_one_batch),
		LOOP_TEST(high_priority_comes_again_before_low),
		LOOP_TEST(parked_source_with_hangup_does_not_spin),
		LOOP_TEST(refused_source_stays_out),
		LOOP_TEST(interrupted_wait_is_an_empty_turn),
		LOOP_TEST(stop_finishes_the_turn),
		LOOP_TEST(one_turn_has_one_time),
	};

	return cmocka_run_group_tests_name("base_loop", tests, NULL, NULL);
}
