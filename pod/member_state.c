// SPDX-License-Identifier: Apache-2.0
/*
 * member_state.c - see member_state.h. Rows are states, columns events, in enum order.
 */
#include "pod/member_state.h"

#include <assert.h>

#include "base/util.h"

#define NOTHING MEMBER_DO_NOTHING
#define LAUNCH  MEMBER_DO_LAUNCH
#define RUN     MEMBER_DO_RUN
#define RETRY   MEMBER_DO_RETRY
#define EMPTY   MEMBER_DO_EMPTY
#define FINISH  MEMBER_DO_FINISH
#define STOP    MEMBER_DO_STOP
#define HURRY   MEMBER_DO_HURRY
#define KILL    MEMBER_DO_KILL
#define STUCK   MEMBER_DO_STUCK
#define CANCEL  MEMBER_DO_CANCEL

/*
 * An EXIT while STARTING first drains the start pipe, so it is seen as STARTED + EXIT or
 * as a failed start, never as an end of something that had not begun (T23).
 * An EMPTY before the EXIT is a hint only: the status is not known yet (T18).
 */
static const enum member_action table[][MEMBER_EVENT_MAX] = {
	/* clang-format off */
	/*                   START    STARTED  FAILED   EXIT     EMPTY    STOP     DEADLINE */
	[MEMBER_WAITING]  = {LAUNCH,  NOTHING, RETRY,   NOTHING, NOTHING, CANCEL,  NOTHING},
	[MEMBER_STARTING] = {NOTHING, RUN,     RETRY,   EMPTY,   NOTHING, STOP,    KILL},
	[MEMBER_RUNNING]  = {NOTHING, NOTHING, NOTHING, EMPTY,   NOTHING, STOP,    NOTHING},
	[MEMBER_STOPPING] = {NOTHING, NOTHING, NOTHING, EMPTY,   NOTHING, HURRY,   KILL},
	[MEMBER_KILLING]  = {NOTHING, NOTHING, NOTHING, EMPTY,   NOTHING, NOTHING, STUCK},
	[MEMBER_EMPTYING] = {NOTHING, NOTHING, NOTHING, NOTHING, FINISH,  NOTHING, STUCK},
	[MEMBER_STUCK]    = {NOTHING, NOTHING, NOTHING, EMPTY,   FINISH,  NOTHING, STUCK},
	[MEMBER_BACKOFF]  = {LAUNCH,  NOTHING, RETRY,   NOTHING, NOTHING, CANCEL,  LAUNCH},
	[MEMBER_ENDED]    = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING},
	/* clang-format on */
};

static_assert(ARRAY_SIZE(table) == MEMBER_STATE_MAX, "a state without a row");

static const char *const state_names[] = {
	[MEMBER_WAITING] = "waiting", [MEMBER_STARTING] = "starting",
	[MEMBER_RUNNING] = "running", [MEMBER_STOPPING] = "stopping",
	[MEMBER_KILLING] = "killing", [MEMBER_EMPTYING] = "emptying",
	[MEMBER_STUCK] = "stuck",     [MEMBER_BACKOFF] = "back-off",
	[MEMBER_ENDED] = "ended",
};
static_assert(ARRAY_SIZE(state_names) == MEMBER_STATE_MAX, "a state without a name");

static const char *const event_names[] = {
	[MEMBER_EV_START] = "start",       [MEMBER_EV_STARTED] = "started",
	[MEMBER_EV_FAILED] = "failed",     [MEMBER_EV_EXIT] = "exit",
	[MEMBER_EV_EMPTY] = "empty",       [MEMBER_EV_STOP] = "stop",
	[MEMBER_EV_DEADLINE] = "deadline",
};
static_assert(ARRAY_SIZE(event_names) == MEMBER_EVENT_MAX, "an event without a name");

enum member_action member_react(enum member_state state, enum member_event event)
{
	return table[state][event];
}

const char *member_state_name(enum member_state state)
{
	return state_names[state];
}

const char *member_event_name(enum member_event event)
{
	return event_names[event];
}
