// SPDX-License-Identifier: Apache-2.0
/*
 * init_shutdown.c - the table for every state and event, and whole shutdowns against
 * pods, logs, disk and channel that end, that end late, and that never end.
 *
 * What lies below is faked; helpers are real processes. Times are those of a machine
 * with a shutdownTimeoutMs of a second.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/time.h"
#include "control/control.h"
#include "init/shutdown.h"
#include "pod/member_log.h"
#include "pod/pods.h"
#include "rootfs/unmount.h"

#define TOTAL_MS 1000
#define GRACE_MS 300
#define LIMIT_NS (20 * NSEC_PER_SEC)

/* ---- the world below -------------------------------------------------------------- */

static struct {
	bool quiet, quiet_on_stop, quiet_on_kill, all_done;
	int stops, kills, rests, finishes, drains, log_finishes;
	int64_t stop_deadline_ns;
	bool logs_hang, drain_hangs, unmount_hangs;
	void (*logs_done)(void *arg), (*drain_done)(void *arg);
	void *logs_arg, *drain_arg;
	char order[64]; /* a letter for each step in the order of their calls */
} world;

static struct loop *loop;
static struct pods pods;
static struct shutdown s;

static void mark(char c)
{
	world.order[strlen(world.order)] = c;
}

void pods_stop_all(struct pods *p, int64_t deadline_ns)
{
	assert_ptr_equal(p, &pods);
	world.stops++;
	world.stop_deadline_ns = deadline_ns;
	world.quiet |= world.quiet_on_stop;
	mark('s');
}

void pods_kill_all(struct pods *p)
{
	assert_ptr_equal(p, &pods);
	world.kills++;
	world.quiet |= world.quiet_on_kill;
	mark('k');
}

bool pods_quiet(const struct pods *p)
{
	(void)p;
	return world.quiet;
}

bool pods_all_done(const struct pods *p)
{
	(void)p;
	return world.all_done;
}

int64_t pods_longest_grace_ms(const struct pods *p)
{
	(void)p;
	return GRACE_MS;
}

size_t pods_describe_alive(const struct pods *p, char *buf, size_t size)
{
	(void)p;
	strncpy(buf, "default/web/nginx", size - 1);
	buf[size - 1] = '\0';
	return strlen(buf);
}

void log_service_finish(struct log_service *logs, int64_t deadline_ns,
			void (*done)(void *arg), void *arg)
{
	(void)logs;
	(void)deadline_ns;
	world.log_finishes++;
	world.logs_done = done;
	world.logs_arg = arg;
	mark('l');
	if (!world.logs_hang)
		done(arg); /* at the earliest time there is: from inside the call */
}

void control_drain(struct control *c, int64_t deadline_ns, void (*done)(void *arg),
		   void *arg)
{
	(void)c;
	(void)deadline_ns;
	world.drains++;
	world.drain_done = done;
	world.drain_arg = arg;
	mark('d');
	if (!world.drain_hangs)
		done(arg);
}

int unmount_all_run(void *arg)
{
	(void)arg;
	if (world.unmount_hangs)
		for (;;)
			pause();
	return 0;
}

int unmount_sync_run(void *arg)
{
	(void)arg;
	return 3; /* a failed sync is reported and holds nothing up */
}

static void kill_rest(void *arg)
{
	(void)arg;
	world.rests++;
	mark('r');
}

static void finish(void *arg)
{
	(void)arg;
	world.finishes++;
	mark('f');
}

/* ---- helpers ---------------------------------------------------------------------- */

static int set_up(void **state)
{
	const struct shutdown_hooks hooks = { .kill_rest = kill_rest, .finish = finish };
	static char no_logs, no_control; /* never looked into */

	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&pods, 0, sizeof(pods));
	pods.logs = (struct log_service *)&no_logs;
	if (loop_init(&loop) < 0 ||
	    shutdown_init(&s, loop, &pods, TOTAL_MS, true, &hooks) < 0)
		return -1;
	s.control = (struct control *)&no_control;
	return 0;
}

static int tear_down(void **state)
{
	int64_t end_ns = time_boot_ns() + LIMIT_NS;

	(void)state;
	while ((child_running(&s.unmount) || child_running(&s.sync)) &&
	       time_boot_ns() < end_ns)
		(void)loop_turn(loop, 100);
	loop_timer_cancel(&s.timer);
	loop_free(loop);
	return 0;
}

static void run_until(enum shutdown_state state)
{
	int64_t end_ns = time_boot_ns() + LIMIT_NS;

	while (s.state < state) {
		assert_true(time_boot_ns() < end_ns);
		assert_true(loop_turn(loop, 1000) >= 0);
	}
}

static int64_t ms_since(int64_t start_ns)
{
	return (time_boot_ns() - start_ns) / NSEC_PER_MSEC;
}

/* ---- the table -------------------------------------------------------------------- */

static void the_table_is_complete_and_only_goes_on(void **state)
{
	static const enum shutdown_state want[SHUTDOWN_STATE_MAX][SHUTDOWN_EVENT_MAX] = {
		{ SHUTDOWN_STOP, SHUTDOWN_KILL, SHUTDOWN_IDLE, SHUTDOWN_IDLE,
		  SHUTDOWN_IDLE },
		{ SHUTDOWN_STOP, SHUTDOWN_KILL, SHUTDOWN_LOGS, SHUTDOWN_STOP,
		  SHUTDOWN_KILL },
		{ SHUTDOWN_KILL, SHUTDOWN_KILL, SHUTDOWN_LOGS, SHUTDOWN_KILL,
		  SHUTDOWN_LOGS },
		{ SHUTDOWN_LOGS, SHUTDOWN_LOGS, SHUTDOWN_LOGS, SHUTDOWN_UNMOUNT,
		  SHUTDOWN_UNMOUNT },
		{ SHUTDOWN_UNMOUNT, SHUTDOWN_UNMOUNT, SHUTDOWN_UNMOUNT, SHUTDOWN_SYNC,
		  SHUTDOWN_SYNC },
		{ SHUTDOWN_SYNC, SHUTDOWN_SYNC, SHUTDOWN_SYNC, SHUTDOWN_DRAIN,
		  SHUTDOWN_DRAIN },
		{ SHUTDOWN_DRAIN, SHUTDOWN_DRAIN, SHUTDOWN_DRAIN, SHUTDOWN_OVER,
		  SHUTDOWN_OVER },
		{ SHUTDOWN_OVER, SHUTDOWN_OVER, SHUTDOWN_OVER, SHUTDOWN_OVER,
		  SHUTDOWN_OVER },
	};

	(void)state;
	for (int st = 0; st < SHUTDOWN_STATE_MAX; st++) {
		assert_non_null(shutdown_state_name((enum shutdown_state)st));
		for (int ev = 0; ev < SHUTDOWN_EVENT_MAX; ev++) {
			enum shutdown_state next = shutdown_next((enum shutdown_state)st,
								 (enum shutdown_event)ev);

			assert_int_equal(next, want[st][ev]);
			assert_true(next >= (enum shutdown_state)st);
		}
		/* Time alone leads to the end from everywhere but idle. */
		if (st != SHUTDOWN_IDLE && st != SHUTDOWN_OVER)
			assert_true(shutdown_next((enum shutdown_state)st,
						  SHUTDOWN_DEADLINE) >
				    (enum shutdown_state)st);
	}
}

/* ---- whole shutdowns -------------------------------------------------------------- */

static void idle_does_nothing(void **state)
{
	(void)state;
	shutdown_kick(&s);
	assert_int_equal(loop_turn(loop, 20), 0);
	assert_int_equal(s.state, SHUTDOWN_IDLE);
}

static void all_goes_well(void **state)
{
	int64_t start_ns = time_boot_ns();

	(void)state;
	assert_int_equal(shutdown_request(&s, END_REBOOT, -1, "a test"), 0);
	/* The request may come from inside pods: nothing happens within it. */
	assert_int_equal(world.stops, 0);
	assert_true(loop_turn(loop, 0) >= 0);
	assert_int_equal(s.state, SHUTDOWN_STOP);
	assert_int_equal(world.stops, 1);
	assert_true(world.stop_deadline_ns >= start_ns + GRACE_MS * NSEC_PER_MSEC);
	world.quiet = true;
	shutdown_kick(&s);
	run_until(SHUTDOWN_OVER);
	assert_int_equal(s.how, END_REBOOT);
	assert_false(s.all_done);
	assert_string_equal(world.order, "slrdf");
	assert_true(ms_since(start_ns) < GRACE_MS);
}

static void without_pods_logs_and_channel(void **state)
{
	(void)state;
	pods.logs = NULL;
	s.control = NULL;
	s.own_mounts = false;
	world.quiet = world.all_done = true;
	assert_int_equal(shutdown_request(&s, END_POWER_OFF, -1, "a test"), 0);
	assert_true(loop_turn(loop, 1000) >= 0); /* all in one turn */
	assert_int_equal(s.state, SHUTDOWN_OVER);
	assert_true(s.all_done);
	assert_string_equal(world.order, "srf");
	assert_false(child_running(&s.unmount));
}

static void grace_that_ends_is_followed_by_the_kill(void **state)
{
	int64_t start_ns = time_boot_ns();

	(void)state;
	world.quiet_on_kill = true;
	assert_int_equal(shutdown_request(&s, END_HALT, 100, "a test"), 0);
	run_until(SHUTDOWN_OVER);
	assert_int_equal(world.kills, 1);
	assert_true(ms_since(start_ns) >= 100);
	assert_string_equal(world.order, "sskl"
					 "rdf");
}

static void a_dead_world_holds_nothing_up(void **state)
{
	int64_t start_ns = time_boot_ns();

	(void)state;
	/* A process in D state, a log disk, a mount and a client that never answer. */
	world.logs_hang = world.drain_hangs = world.unmount_hangs = true;
	assert_int_equal(shutdown_request(&s, END_POWER_OFF, 0, "a test"), 0);
	run_until(SHUTDOWN_OVER);
	assert_string_equal(world.order, "sskl"
					 "rdf");
	/* The slack of the stop, then no more than the total. */
	assert_true(ms_since(start_ns) < 1000 + TOTAL_MS + 500);
	assert_int_equal(world.finishes, 1);
	/* What ends after all of it changes nothing. */
	world.logs_done(world.logs_arg);
	world.drain_done(world.drain_arg);
	shutdown_kick(&s);
	while (loop_turn(loop, 20) > 0)
		;
	assert_int_equal(world.finishes, 1);
}

static void a_late_end_is_not_taken_for_the_next_step(void **state)
{
	(void)state;
	world.logs_hang = world.unmount_hangs = world.quiet = true;
	assert_int_equal(shutdown_request(&s, END_POWER_OFF, 0, "a test"), 0);
	run_until(SHUTDOWN_UNMOUNT);
	world.logs_done(world.logs_arg);
	assert_true(loop_turn(loop, 0) >= 0);
	assert_int_equal(s.state, SHUTDOWN_UNMOUNT);
	run_until(SHUTDOWN_OVER);
}

static void a_second_request_can_only_be_faster(void **state)
{
	int64_t first_ns;

	(void)state;
	assert_int_equal(shutdown_request(&s, END_POWER_OFF, -1, "a test"), 0);
	assert_int_equal(shutdown_request(&s, END_REBOOT, -1, "a test"), -EALREADY);
	assert_true(loop_turn(loop, 0) >= 0);
	first_ns = world.stop_deadline_ns;
	assert_int_equal(shutdown_request(&s, END_REBOOT, -1, "a test"), -EALREADY);
	assert_int_equal(shutdown_request(&s, END_REBOOT, 100000, "a test"), -EALREADY);
	assert_int_equal(shutdown_request(&s, END_REBOOT, 50, "a test"), 0);
	assert_true(loop_turn(loop, 0) >= 0);
	assert_int_equal(world.stops, 2);
	assert_true(world.stop_deadline_ns < first_ns);
	assert_int_equal(s.how, END_POWER_OFF); /* the first one says how */
	world.quiet_on_kill = true;
	run_until(SHUTDOWN_OVER);
	assert_int_equal(shutdown_request(&s, END_REBOOT, 0, "a test"), -EALREADY);
	assert_int_equal(shutdown_harder(&s, END_REBOOT, "a test"), -EALREADY);
}

static void harder_ends_the_grace_at_once(void **state)
{
	int64_t start_ns = time_boot_ns();

	(void)state;
	world.quiet_on_kill = true;
	assert_int_equal(shutdown_request(&s, END_REBOOT, -1, "a test"), 0);
	assert_true(loop_turn(loop, 0) >= 0);
	assert_int_equal(shutdown_harder(&s, END_REBOOT, "a test"), 0);
	run_until(SHUTDOWN_OVER);
	assert_int_equal(world.kills, 1);
	assert_true(ms_since(start_ns) < GRACE_MS);
}

static void harder_alone_begins_and_still_stops_restarts(void **state)
{
	(void)state;
	world.quiet_on_kill = true;
	assert_int_equal(shutdown_harder(&s, END_REBOOT, "a test"), 0);
	run_until(SHUTDOWN_OVER);
	assert_string_equal(world.order, "sklrdf");
	assert_int_equal(s.how, END_REBOOT);
}

static void what_is_no_end_is_refused(void **state)
{
	(void)state;
	assert_int_equal(shutdown_request(&s, END_STAY, -1, "a test"), -EINVAL);
	assert_int_equal(shutdown_harder(&s, END_STAY, "a test"), -EINVAL);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(s.state, SHUTDOWN_IDLE);
}

int main(void)
{
#define FLOW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_complete_and_only_goes_on),
		FLOW(idle_does_nothing),
		FLOW(all_goes_well),
		FLOW(without_pods_logs_and_channel),
		FLOW(grace_that_ends_is_followed_by_the_kill),
		FLOW(a_dead_world_holds_nothing_up),
		FLOW(a_late_end_is_not_taken_for_the_next_step),
		FLOW(a_second_request_can_only_be_faster),
		FLOW(harder_ends_the_grace_at_once),
		FLOW(harder_alone_begins_and_still_stops_restarts),
		FLOW(what_is_no_end_is_refused),
	};

	return cmocka_run_group_tests_name("init shutdown", tests, NULL, NULL);
}
