// SPDX-License-Identifier: Apache-2.0
/*
 * member_state.h - the states of a member and what each event does in each of them.
 *
 * Owns: the table, nothing else: pure data, testable without a process. member.c carries
 * the actions out. The table is complete: every cell has an answer, "stop" is legal in
 * every state and always makes progress.
 */
#ifndef POD_MEMBER_STATE_H
#define POD_MEMBER_STATE_H

enum member_state {
	MEMBER_WAITING,  /* has not been started in this life of the pod */
	MEMBER_STARTING, /* cloned; the start pipe has not ended */
	MEMBER_RUNNING,
	MEMBER_STOPPING, /* stop signal sent, the grace runs */
	MEMBER_KILLING,  /* its group was killed; the first process is not reaped yet */
	MEMBER_EMPTYING, /* first process reaped, its group was killed, not empty yet */
	MEMBER_STUCK,    /* killed and still there after the deadline (D state) */
	MEMBER_BACKOFF,  /* over; a start is due at a known time */
	MEMBER_ENDED,    /* over for good */
	MEMBER_STATE_MAX
};

enum member_event {
	MEMBER_EV_START,    /* the pod says that it is this one's turn */
	MEMBER_EV_STARTED,  /* start pipe ended well: exec worked */
	MEMBER_EV_FAILED,   /* nothing was cloned: the start failed in PID 1 */
	MEMBER_EV_EXIT,     /* the first process was reaped */
	MEMBER_EV_EMPTY,    /* no process is left in the group */
	MEMBER_EV_STOP,     /* termination wanted, with a grace */
	MEMBER_EV_DEADLINE, /* the timer of the state */
	MEMBER_EVENT_MAX
};

enum member_action {
	MEMBER_DO_NOTHING, /* cannot matter here */
	MEMBER_DO_LAUNCH,  /* clone */
	MEMBER_DO_RUN, /* note that it runs; a stop that came before is carried out now */
	MEMBER_DO_RETRY,  /* back-off without an attempt */
	MEMBER_DO_EMPTY,  /* kill what is left of the group, wait until it is empty */
	MEMBER_DO_FINISH, /* publish the end; restart policy decides what follows */
	MEMBER_DO_STOP,   /* stop signal, grace timer */
	MEMBER_DO_HURRY,  /* shorten the running grace */
	MEMBER_DO_KILL,   /* kill the group */
	MEMBER_DO_STUCK,  /* say so, kill again, ask the kernel again later */
	MEMBER_DO_CANCEL, /* end without having been alive */
	MEMBER_ACTION_MAX
};

/* What event does in state. Both in range. */
enum member_action member_react(enum member_state state, enum member_event event);

const char *member_state_name(enum member_state state); /* "running" */
const char *member_event_name(enum member_event event);

#endif
