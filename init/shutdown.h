// SPDX-License-Identifier: Apache-2.0
/*
 * shutdown.h - from the wish to stop to the last act, each step with a deadline.
 *
 * Owns: the state, one timer (armed from the start, so that it cannot fail later), the
 * helper children that unmount and sync. Called by: boot (signals, power key, the end of
 * all pods, the channel). Calls: pods, control, and the hooks below.
 * Never: blocks, waits without a deadline, goes back. A second request can only make it
 * harder or faster; the first one says how it ends.
 */
#ifndef INIT_SHUTDOWN_H
#define INIT_SHUTDOWN_H

#include "base/child.h"
#include "base/loop.h"
#include "config/machine.h"

struct control;
struct pods;

enum shutdown_state {
	SHUTDOWN_IDLE,    /* nobody asked */
	SHUTDOWN_STOP,    /* pods end within their grace */
	SHUTDOWN_KILL,    /* cgroup.kill was sent, the kernel tears them down */
	SHUTDOWN_LOGS,    /* the log writer brings the last lines to disk */
	SHUTDOWN_UNMOUNT, /* helper child; everything else was killed before */
	SHUTDOWN_SYNC,    /* helper child */
	SHUTDOWN_DRAIN,   /* clients of the channel take their last words */
	SHUTDOWN_OVER,    /* hooks.finish() was called */
	SHUTDOWN_STATE_MAX
};

enum shutdown_event {
	SHUTDOWN_BEGIN,     /* the first request */
	SHUTDOWN_HARDER,    /* no more grace */
	SHUTDOWN_QUIET,     /* no member process is left */
	SHUTDOWN_STEP_DONE, /* the step's helper or client is done */
	SHUTDOWN_DEADLINE,  /* the step's time is over */
	SHUTDOWN_EVENT_MAX
};

/* The table: pure, for every pair. */
enum shutdown_state shutdown_next(enum shutdown_state state, enum shutdown_event event);
const char *shutdown_state_name(enum shutdown_state state);

struct shutdown_hooks {
	/* Kills what is no member (orphans, helpers) so that nothing holds a mount. */
	void (*kill_rest)(void *arg);
	/* The final line and the last act. Not expected to return. */
	void (*finish)(void *arg);
	void *arg;
};

struct shutdown {
	/* Read only. */
	enum shutdown_state state;
	enum machine_end how;
	bool all_done; /* the pods had ended by themselves when it began */
	/* Private. */
	struct loop *loop;
	struct pods *pods;
	struct control *control; /* may be NULL */
	struct shutdown_hooks hooks;
	int64_t total_ms; /* for all steps after the grace */
	bool own_mounts;  /* file systems are ours to unmount and sync */
	bool stop_wanted, harder_wanted, step_done;
	int64_t stop_ns;   /* when the pods' grace is over */
	int64_t step_ns;   /* deadline of the running step */
	int64_t report_ns; /* when to say next who we wait for */
	struct loop_timer timer;
	struct child unmount, sync;
};

/* own_mounts: false in a container, where a sync or remount would be everybody's. Arms
 * the timer. 0 or -ENOMEM. */
int shutdown_init(struct shutdown *s, struct loop *loop, struct pods *pods,
		  int64_t total_ms, bool own_mounts, const struct shutdown_hooks *hooks);

/* Asks for it; why (for the log) is borrowed for the call. grace_ms < 0: each pod's own.
 * The work begins in the next callback of the timer, never in this call: it may come from
 * inside pods or control. 0; -EALREADY: one runs that is as hard; -EINVAL: how. */
int shutdown_request(struct shutdown *s, enum machine_end how, int64_t grace_ms,
		     const char *why);

/* Asks for the end of all grace; begins a shutdown when there is none. */
int shutdown_harder(struct shutdown *s, enum machine_end how, const char *why);

/* Something changed with the pods: looks again in this turn. Cheap when idle. */
void shutdown_kick(struct shutdown *s);

#endif
