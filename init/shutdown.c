// SPDX-License-Identifier: Apache-2.0
/*
 * shutdown.c - see shutdown.h. Everything happens in the callback of one timer: events
 * from elsewhere only leave a note and make it due.
 */
#include "init/shutdown.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/time.h"
#include "control/control.h"
#include "pod/member_log.h"
#include "pod/pods.h"
#include "rootfs/unmount.h"

/* Who blocks is said this often, the first time after as long. */
#define REPORT_NS       (5 * NSEC_PER_SEC)
/* A pod kills what is left at the end of its grace; this is for that to be seen before
 * the kill of everything. */
#define STOP_SLACK_NS   (1 * NSEC_PER_SEC)
/* A helper is killed this long before its step is given up, so that its last words and
 * exit are still seen when it can be killed at all. */
#define HELPER_SLACK_NS (100 * NSEC_PER_MSEC)
/* Far, but less than "never": keeps the timer's place in the loop's heap. */
#define IDLE_NS         (TIME_NEVER - 1)

/* A manifest may ask for any grace; times in ns must not overflow. */
#define GRACE_MAX_MS    (1000LL * 86400 * 365)

#define ALIVE_BYTES     320

static const char *const state_names[] = {
	[SHUTDOWN_IDLE] = "idle",       [SHUTDOWN_STOP] = "stop",
	[SHUTDOWN_KILL] = "kill",       [SHUTDOWN_LOGS] = "logs",
	[SHUTDOWN_UNMOUNT] = "unmount", [SHUTDOWN_SYNC] = "sync",
	[SHUTDOWN_DRAIN] = "drain",     [SHUTDOWN_OVER] = "over",
};
static_assert(ARRAY_SIZE(state_names) == SHUTDOWN_STATE_MAX, "a name for each state");

/* Thousandths of the time after the grace that a step may take: the disk gets most. */
static const int step_share[] = {
	[SHUTDOWN_IDLE] = 0,   [SHUTDOWN_STOP] = 0,      [SHUTDOWN_KILL] = 170,
	[SHUTDOWN_LOGS] = 100, [SHUTDOWN_UNMOUNT] = 340, [SHUTDOWN_SYNC] = 340,
	[SHUTDOWN_DRAIN] = 50, [SHUTDOWN_OVER] = 0,
};
static_assert(ARRAY_SIZE(step_share) == SHUTDOWN_STATE_MAX, "a share for each state");

#define ROW(begin, harder, quiet, done, deadline)          \
	{                                                  \
		[SHUTDOWN_BEGIN] = SHUTDOWN_##begin,       \
		[SHUTDOWN_HARDER] = SHUTDOWN_##harder,     \
		[SHUTDOWN_QUIET] = SHUTDOWN_##quiet,       \
		[SHUTDOWN_STEP_DONE] = SHUTDOWN_##done,    \
		[SHUTDOWN_DEADLINE] = SHUTDOWN_##deadline, \
	}

/* clang-format off */
static const enum shutdown_state table[][SHUTDOWN_EVENT_MAX] = {
	/* on:                  BEGIN    HARDER   QUIET    STEP_DONE DEADLINE */
	[SHUTDOWN_IDLE]    = ROW(STOP,    KILL,    IDLE,    IDLE,    IDLE),
	[SHUTDOWN_STOP]    = ROW(STOP,    KILL,    LOGS,    STOP,    KILL),
	[SHUTDOWN_KILL]    = ROW(KILL,    KILL,    LOGS,    KILL,    LOGS),
	[SHUTDOWN_LOGS]    = ROW(LOGS,    LOGS,    LOGS,    UNMOUNT, UNMOUNT),
	[SHUTDOWN_UNMOUNT] = ROW(UNMOUNT, UNMOUNT, UNMOUNT, SYNC,    SYNC),
	[SHUTDOWN_SYNC]    = ROW(SYNC,    SYNC,    SYNC,    DRAIN,   DRAIN),
	[SHUTDOWN_DRAIN]   = ROW(DRAIN,   DRAIN,   DRAIN,   OVER,    OVER),
	[SHUTDOWN_OVER]    = ROW(OVER,    OVER,    OVER,    OVER,    OVER),
};
/* clang-format on */
static_assert(ARRAY_SIZE(table) == SHUTDOWN_STATE_MAX, "a row for each state");

enum shutdown_state shutdown_next(enum shutdown_state state, enum shutdown_event event)
{
	return table[state][event];
}

const char *shutdown_state_name(enum shutdown_state state)
{
	return state_names[state];
}

/* ---- the steps -------------------------------------------------------------------- */

/* A late end of a step that was given up is no end of the running one. */
static void step_ended(struct shutdown *s, enum shutdown_state step)
{
	if (s->state != step)
		return;
	s->step_done = true;
	shutdown_kick(s);
}

static void helper_ended(struct shutdown *s, struct child *child,
			 enum shutdown_state step)
{
	if (child->timed_out)
		log_warn("shutdown: %s took too long", child->name);
	else if (!child_ok(child))
		log_warn("shutdown: %s ended with code %d", child->name,
			 proc_exit_code(&child->exit));
	if (child->output_len)
		log_warn("shutdown: %s: %s", child->name, child->output);
	step_ended(s, step);
}

static void unmount_ended(struct child *child)
{
	helper_ended(container_of(child, struct shutdown, unmount), child,
		     SHUTDOWN_UNMOUNT);
}

static void sync_ended(struct child *child)
{
	helper_ended(container_of(child, struct shutdown, sync), child, SHUTDOWN_SYNC);
}

static void logs_ended(void *arg)
{
	step_ended(arg, SHUTDOWN_LOGS);
}

static void drain_ended(void *arg)
{
	step_ended(arg, SHUTDOWN_DRAIN);
}

/* Without a process (-EAGAIN while the killed ones are still going away) it is tried
 * again at the next report; PID 1 itself must not call what can block. */
static void start_helper(struct shutdown *s, struct child *child)
{
	int r;

	if (!s->own_mounts) {
		s->step_done = true;
		return;
	}
	child->timeout_ns = MAX(s->step_ns - loop_now(s->loop) - HELPER_SLACK_NS,
				HELPER_SLACK_NS);
	r = child_start(s->loop, child);
	if (r < 0)
		log_error("shutdown: no process for %s (errno %d)", child->name, -r);
}

static void enter(struct shutdown *s)
{
	int64_t now_ns = loop_now(s->loop);

	s->step_done = false;
	s->step_ns = time_add(now_ns, s->total_ms * step_share[s->state] * 1000);
	s->report_ns = time_add(now_ns, REPORT_NS);
	switch (s->state) {
	case SHUTDOWN_STOP:
		break; /* begin_stop() */
	case SHUTDOWN_KILL:
		/* "Nothing is restarted any more" must hold on the way without a grace.
		 */
		pods_stop_all(s->pods, now_ns);
		pods_kill_all(s->pods);
		break;
	case SHUTDOWN_LOGS:
		if (s->pods->logs)
			log_service_finish(s->pods->logs, s->step_ns, logs_ended, s);
		else
			s->step_done = true;
		break;
	case SHUTDOWN_UNMOUNT:
		s->hooks.kill_rest(s->hooks.arg);
		start_helper(s, &s->unmount);
		break;
	case SHUTDOWN_SYNC:
		start_helper(s, &s->sync);
		break;
	case SHUTDOWN_DRAIN:
		if (s->control)
			control_drain(s->control, s->step_ns, drain_ended, s);
		else
			s->step_done = true;
		break;
	case SHUTDOWN_OVER:
		s->hooks.finish(s->hooks.arg);
		break;
	case SHUTDOWN_IDLE:
	case SHUTDOWN_STATE_MAX:
		assert(false);
	}
}

/* What is left behind when a step's time is over. */
static void report_given_up(const struct shutdown *s)
{
	char alive[ALIVE_BYTES];

	if (s->state == SHUTDOWN_STOP || s->state == SHUTDOWN_KILL) {
		(void)pods_describe_alive(s->pods, alive, sizeof(alive));
		log_warn("shutdown: %s: %s",
			 s->state == SHUTDOWN_STOP ? "grace is over, killing" :
						     "cannot be killed, left behind",
			 alive);
	} else {
		log_warn("shutdown: %s is not over in time, left behind",
			 shutdown_state_name(s->state));
	}
}

/* true when the event led to another state. */
static bool feed(struct shutdown *s, enum shutdown_event event)
{
	enum shutdown_state next = shutdown_next(s->state, event);

	if (next == s->state)
		return false;
	if (event == SHUTDOWN_DEADLINE)
		report_given_up(s);
	log_info("shutdown: %s -> %s", shutdown_state_name(s->state),
		 shutdown_state_name(next));
	s->state = next;
	enter(s);
	return true;
}

/* ---- the timer -------------------------------------------------------------------- */

static void report_waiting(struct shutdown *s, int64_t now_ns)
{
	char alive[ALIVE_BYTES];
	long long left_s = (s->step_ns - now_ns) / NSEC_PER_SEC;

	if (s->state == SHUTDOWN_STOP || s->state == SHUTDOWN_KILL) {
		(void)pods_describe_alive(s->pods, alive, sizeof(alive));
		log_info("shutdown: waiting for %s (%llds left)", alive, left_s);
	} else {
		log_info("shutdown: waiting for %s (%llds left)",
			 shutdown_state_name(s->state), left_s);
	}
	if (s->state == SHUTDOWN_UNMOUNT && !child_running(&s->unmount) && !s->step_done)
		start_helper(s, &s->unmount);
	if (s->state == SHUTDOWN_SYNC && !child_running(&s->sync) && !s->step_done)
		start_helper(s, &s->sync);
	s->report_ns = time_add(now_ns, REPORT_NS);
}

/* The step that began with the request, or a shorter grace for it. */
static void begin_stop(struct shutdown *s)
{
	s->stop_wanted = false;
	if (s->state != SHUTDOWN_STOP)
		return;
	pods_stop_all(s->pods, s->stop_ns);
	s->step_ns = time_add(s->stop_ns, STOP_SLACK_NS);
}

/* The next event that has happened, SHUTDOWN_EVENT_MAX for none. */
static enum shutdown_event look(struct shutdown *s, int64_t now_ns)
{
	if (s->state == SHUTDOWN_IDLE && s->stop_wanted)
		return SHUTDOWN_BEGIN;
	if (s->harder_wanted) {
		s->harder_wanted = false;
		return SHUTDOWN_HARDER;
	}
	if ((s->state == SHUTDOWN_STOP || s->state == SHUTDOWN_KILL) &&
	    pods_quiet(s->pods))
		return SHUTDOWN_QUIET;
	if (s->step_done)
		return SHUTDOWN_STEP_DONE;
	if (s->state != SHUTDOWN_IDLE && now_ns >= s->step_ns)
		return SHUTDOWN_DEADLINE;
	return SHUTDOWN_EVENT_MAX;
}

static void on_timer(struct loop_timer *timer)
{
	struct shutdown *s = container_of(timer, struct shutdown, timer);
	int64_t now_ns = loop_now(s->loop), next_ns = IDLE_NS;
	enum shutdown_event event;
	int r;

	/* Each round goes at least one state further, or ends. */
	while (s->state != SHUTDOWN_OVER) {
		event = look(s, now_ns);
		if (event != SHUTDOWN_EVENT_MAX)
			(void)feed(s, event);
		if (s->stop_wanted)
			begin_stop(s);
		else if (event == SHUTDOWN_EVENT_MAX)
			break;
	}
	if (s->state != SHUTDOWN_IDLE && s->state != SHUTDOWN_OVER) {
		if (now_ns >= s->report_ns)
			report_waiting(s, now_ns);
		next_ns = MIN(s->step_ns, s->report_ns);
	}
	r = loop_timer_set(s->loop, &s->timer, next_ns);
	if (r < 0)
		log_error("shutdown: no memory for its timer");
}

void shutdown_kick(struct shutdown *s)
{
	if (s->state != SHUTDOWN_IDLE || s->stop_wanted || s->harder_wanted)
		(void)loop_timer_set(s->loop, &s->timer, loop_now(s->loop));
}

/* ---- requests --------------------------------------------------------------------- */

int shutdown_init(struct shutdown *s, struct loop *loop, struct pods *pods,
		  int64_t total_ms, bool own_mounts, const struct shutdown_hooks *hooks)
{
	*s = (struct shutdown){
		.loop = loop,
		.pods = pods,
		.hooks = *hooks,
		.total_ms = total_ms,
		.own_mounts = own_mounts,
		.stop_ns = TIME_NEVER,
		.timer.fn = on_timer,
	};
	child_init(&s->unmount);
	s->unmount.name = "unmount";
	s->unmount.run = unmount_all_run;
	s->unmount.arg = &s->unmount.timeout_ns;
	s->unmount.done = unmount_ended;
	child_init(&s->sync);
	s->sync.name = "sync";
	s->sync.run = unmount_sync_run;
	s->sync.arg = &s->sync.timeout_ns;
	s->sync.done = sync_ended;
	return loop_timer_set(loop, &s->timer, IDLE_NS);
}

static bool can_end(enum machine_end how)
{
	return how == END_POWER_OFF || how == END_REBOOT || how == END_HALT;
}

/* The first request is also the one that says how it ends. */
static bool begin(struct shutdown *s, enum machine_end how, const char *why)
{
	if (s->state != SHUTDOWN_IDLE || s->stop_wanted || s->harder_wanted)
		return false;
	s->how = how;
	s->all_done = pods_all_done(s->pods);
	log_info("shutdown: %s asked for by %s", machine_end_name(how), why);
	return true;
}

int shutdown_request(struct shutdown *s, enum machine_end how, int64_t grace_ms,
		     const char *why)
{
	int64_t longest_ms = pods_longest_grace_ms(s->pods), stop_ns;
	bool first;

	if (!can_end(how))
		return -EINVAL;
	first = begin(s, how, why);
	if (grace_ms < 0 || grace_ms > longest_ms)
		grace_ms = longest_ms;
	grace_ms = MIN(grace_ms, GRACE_MAX_MS);
	stop_ns = time_add(loop_now(s->loop), grace_ms * NSEC_PER_MSEC);
	if (!first &&
	    (s->state > SHUTDOWN_STOP || s->harder_wanted || stop_ns >= s->stop_ns))
		return -EALREADY;
	s->stop_ns = stop_ns;
	s->stop_wanted = true;
	shutdown_kick(s);
	return 0;
}

int shutdown_harder(struct shutdown *s, enum machine_end how, const char *why)
{
	if (!can_end(how))
		return -EINVAL;
	if (!begin(s, how, why)) {
		if (s->state > SHUTDOWN_STOP || s->harder_wanted)
			return -EALREADY;
		log_info("shutdown: no more grace, says %s", why);
	}
	s->harder_wanted = true;
	shutdown_kick(s);
	return 0;
}
