// SPDX-License-Identifier: Apache-2.0
/*
 * pod_member_state.c - every state x event of the member table, written out again by
 * hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "pod/member_state.h"

struct row {
	const char *why;
	enum member_state state;
	enum member_event event;
	enum member_action want;
};

/* Everything that does something; all other cells must be "nothing". */
static const struct row rows[] = {
	{ "its turn", MEMBER_WAITING, MEMBER_EV_START, MEMBER_DO_LAUNCH },
	{ "no image yet", MEMBER_WAITING, MEMBER_EV_FAILED, MEMBER_DO_RETRY },
	{ "stop before it was ever started", MEMBER_WAITING, MEMBER_EV_STOP,
	  MEMBER_DO_CANCEL },
	{ "exec worked", MEMBER_STARTING, MEMBER_EV_STARTED, MEMBER_DO_RUN },
	{ "clone failed", MEMBER_STARTING, MEMBER_EV_FAILED, MEMBER_DO_RETRY },
	{ "died during set-up", MEMBER_STARTING, MEMBER_EV_EXIT, MEMBER_DO_EMPTY },
	{ "stop during set-up", MEMBER_STARTING, MEMBER_EV_STOP, MEMBER_DO_STOP },
	{ "set-up hangs past the grace", MEMBER_STARTING, MEMBER_EV_DEADLINE,
	  MEMBER_DO_KILL },
	{ "ends by itself", MEMBER_RUNNING, MEMBER_EV_EXIT, MEMBER_DO_EMPTY },
	{ "stop", MEMBER_RUNNING, MEMBER_EV_STOP, MEMBER_DO_STOP },
	{ "heeds the signal", MEMBER_STOPPING, MEMBER_EV_EXIT, MEMBER_DO_EMPTY },
	{ "a shorter grace", MEMBER_STOPPING, MEMBER_EV_STOP, MEMBER_DO_HURRY },
	{ "ignores the signal", MEMBER_STOPPING, MEMBER_EV_DEADLINE, MEMBER_DO_KILL },
	{ "killed", MEMBER_KILLING, MEMBER_EV_EXIT, MEMBER_DO_EMPTY },
	{ "D state", MEMBER_KILLING, MEMBER_EV_DEADLINE, MEMBER_DO_STUCK },
	{ "leftovers gone", MEMBER_EMPTYING, MEMBER_EV_EMPTY, MEMBER_DO_FINISH },
	{ "leftovers in D state", MEMBER_EMPTYING, MEMBER_EV_DEADLINE, MEMBER_DO_STUCK },
	{ "stuck, then dies", MEMBER_STUCK, MEMBER_EV_EXIT, MEMBER_DO_EMPTY },
	{ "stuck leftovers gone", MEMBER_STUCK, MEMBER_EV_EMPTY, MEMBER_DO_FINISH },
	{ "still stuck", MEMBER_STUCK, MEMBER_EV_DEADLINE, MEMBER_DO_STUCK },
	{ "back-off is over", MEMBER_BACKOFF, MEMBER_EV_DEADLINE, MEMBER_DO_LAUNCH },
	{ "start asked for in back-off", MEMBER_BACKOFF, MEMBER_EV_START,
	  MEMBER_DO_LAUNCH },
	{ "start failed again", MEMBER_BACKOFF, MEMBER_EV_FAILED, MEMBER_DO_RETRY },
	{ "stop while a restart is pending (finit#313)", MEMBER_BACKOFF, MEMBER_EV_STOP,
	  MEMBER_DO_CANCEL },
};

static enum member_action expected(enum member_state state, enum member_event event)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].state == state && rows[i].event == event)
			return rows[i].want;
	return MEMBER_DO_NOTHING;
}

static void every_cell(void **unused)
{
	(void)unused;
	for (int s = 0; s < MEMBER_STATE_MAX; s++)
		for (int e = 0; e < MEMBER_EVENT_MAX; e++) {
			enum member_action got = member_react(s, e);

			if (got != expected(s, e))
				fail_msg("%s x %s: action %d, want %d",
					 member_state_name(s), member_event_name(e), got,
					 expected(s, e));
		}
}

/* From every living state a stop leads on: it acts at once, or a deadline is running that
 * acts (KILLING, EMPTYING, STUCK were entered with one armed). */
static void stop_makes_progress(void **unused)
{
	(void)unused;
	for (int s = 0; s < MEMBER_ENDED; s++) {
		bool acts = member_react(s, MEMBER_EV_STOP) != MEMBER_DO_NOTHING;
		bool timed = member_react(s, MEMBER_EV_DEADLINE) != MEMBER_DO_NOTHING;

		if (!acts && !timed)
			fail_msg("stop in %s leads nowhere", member_state_name(s));
	}
}

static void ended_is_final(void **unused)
{
	(void)unused;
	for (int e = 0; e < MEMBER_EVENT_MAX; e++)
		assert_int_equal(member_react(MEMBER_ENDED, e), MEMBER_DO_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell),
		cmocka_unit_test(stop_makes_progress),
		cmocka_unit_test(ended_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
