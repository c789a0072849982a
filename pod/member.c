// SPDX-License-Identifier: Apache-2.0
/*
 * member.c - carries out what the state table says, and takes the facts of an exit.
 *
 * Owns: a member's pidfd, start pipe, stdin, timer and watch. The only file that changes
 * a member's state. Called by: lifecycle.c, and the loop (start pipe, pidfd, timer).
 * Never: allocates on the exit and kill paths, or signals a pid.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/step.h"
#include "pod/launch.h"
#include "pod/member_log.h"
#include "pod/pod.h"

/* A killed group is empty within milliseconds; what is not after this waits for a disk.
 */
#define KILL_WAIT_NS     (2 * NSEC_PER_SEC)
#define KILL_WAIT_MAX_NS (60 * NSEC_PER_SEC)
#define LOOK_AGAIN_NS    NSEC_PER_SEC

static int64_t now_ns(const struct member *m)
{
	return loop_now(m->pod->pods->loop);
}

static void arm(struct member *m, int64_t at_ns)
{
	/* Cannot fail: pods_create() reserved a place for each member. */
	(void)loop_timer_set(m->pod->pods->loop, &m->timer, at_ns);
}

static void set_state(struct member *m, enum member_state state)
{
	if (m->state == state)
		return;
	log_debug("member %s/%s/%s: %s -> %s", m->pod->namespace, m->pod->name,
		  m->spec->name, member_state_name(m->state), member_state_name(state));
	m->state = state;
}

/* The attempt becomes the one that status shows as present. */
static void commit(struct member *m)
{
	if (m->committed)
		return;
	if (m->ran) {
		m->last = m->now;
		m->ran_twice = true;
	}
	m->now = m->starting;
	m->ran = m->committed = true;
	m->restarts = m->now.number;
}

/* ---- start ---- */

/* Reads the start pipe until it ends. STARTED is fed only when exec was reached. */
static void start_read(struct member *m)
{
	struct step step;
	ssize_t n;

	while (m->start_fd >= 0) {
		n = read(m->start_fd, &step, sizeof(step));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n == sizeof(step) && step.code == 0 && step.stage == STAGE_EXEC) {
			m->start_seen = true;
			continue;
		}
		if (n > 0) {
			step_to_err(&step, (size_t)n, &m->start_error);
			continue;
		}
		loop_src_remove(&m->start_src);
		fd_close(&m->start_fd);
		if (n < 0)
			(void)err_set(&m->start_error, STAGE_CLONE, errno, "start pipe");
		if (m->start_seen && !m->start_error.code)
			member_feed(m, MEMBER_EV_STARTED);
	}
}

static void start_ready(struct loop_src *src, uint32_t events)
{
	(void)events;
	start_read(container_of(src, struct member, start_src));
}

static void take_exit(struct member *m);

static void exit_ready(struct loop_src *src, uint32_t events)
{
	(void)events;
	take_exit(container_of(src, struct member, exit_src));
}

/* Nothing was cloned, or the set-up failed in a way that heals (a volume's source that is
 * not there yet): wait and try again, whatever the restart policy. */
static void create_failed(struct member *m, const char *reason, const struct err *e)
{
	char what[sizeof(m->pod->namespace) + sizeof(m->pod->name) + 128];

	m->wait_reason = reason;
	(void)snprintf(m->wait_message, sizeof(m->wait_message), "%s", e->text);
	(void)snprintf(what, sizeof(what), "member %s/%s/%s: %s", m->pod->namespace,
		       m->pod->name, m->spec->name, reason);
	log_err(LOG_ERROR, what, e);
	m->start_error = *e;
	member_publish(m, POD_EVENT_MEMBER_FAILED);
	member_feed(m, MEMBER_EV_FAILED);
}

static void do_launch(struct member *m)
{
	struct loop *loop = m->pod->pods->loop;
	const char *reason = NULL;
	struct err e = { 0 };

	loop_timer_cancel(&m->timer);
	m->starting = (struct attempt){ .number = m->ran ? m->restarts + 1 : 0 };
	m->committed = m->reaped = m->start_seen = false;
	m->start_error.code = 0;
	if (launch_member(m, &reason, &e) < 0) {
		create_failed(m, reason, &e);
		return;
	}
	m->wait_reason = "ContainerCreating";
	m->wait_message[0] = '\0';
	set_state(m, MEMBER_STARTING);
	m->starting.started_ns = now_ns(m);
	m->starting.started_wall_ns = time_wall_ns();
	if (loop_src_add(loop, &m->start_src, m->start_fd, EPOLLIN, LOOP_START,
			 start_ready) < 0 ||
	    loop_src_add(loop, &m->exit_src, m->pidfd, EPOLLIN, LOOP_EXIT, exit_ready) <
		    0) {
		/* Out of kernel memory: without events there is no supervision. The kill
		 * is confirmed by the deadline, which asks the pidfd itself. */
		log_error("member %s/%s/%s: cannot be watched, killed", m->pod->namespace,
			  m->pod->name, m->spec->name);
		(void)proc_signal(m->pidfd, SIGKILL); /* the deadline asks again */
		set_state(m, MEMBER_KILLING);
		m->kill_wait_ns = KILL_WAIT_NS;
		arm(m, time_add(now_ns(m), m->kill_wait_ns));
	}
}

static void do_retry(struct member *m)
{
	int64_t delay;

	if (!m->create_backoff.failures)
		m->create_backoff.failures =
			1; /* no immediate retry: nothing has changed */
	delay = backoff_next(&m->create_backoff, &m->pod->pods->backoff, 0);
	set_state(m, MEMBER_BACKOFF);
	arm(m, time_add(now_ns(m), delay));
	pod_update_status(m->pod);
	pod_advance(m->pod);
}

static void do_run(struct member *m)
{
	commit(m);
	m->now.started_wall_ns = time_wall_ns();
	m->now.started_ns = now_ns(m);
	if (!m->first_exec_ns)
		m->first_exec_ns = time_boot_ns();
	m->create_backoff.failures = 0;
	set_state(m, MEMBER_RUNNING);
	member_publish(m, POD_EVENT_MEMBER_STARTED);
	pod_update_status(m->pod);
	if (m->stop_deadline_ns != TIME_NEVER)
		member_feed(m, MEMBER_EV_STOP);
	else
		pod_advance(m->pod);
}

/* ---- stop ---- */

static void do_kill(struct member *m)
{
	int r = cgroup_kill(m->pod->pods->cgroup_fd, m->cgroup);

	if (r < 0)
		log_warn("member %s/%s/%s: cgroup.kill: %s", m->pod->namespace,
			 m->pod->name, m->spec->name, strerror(-r));
	/* The first process is PID 1 of its namespace: its death alone takes all others
	 * of the namespace along, also when the group's file could not be written. */
	if (m->pidfd >= 0)
		(void)proc_signal(m->pidfd,
				  SIGKILL); /* -ESRCH: it is gone, the exit comes */
	if (m->state != MEMBER_STUCK) {
		set_state(m, MEMBER_KILLING);
		m->kill_wait_ns = KILL_WAIT_NS;
	}
	arm(m, time_add(now_ns(m), m->kill_wait_ns));
}

static void do_stop(struct member *m)
{
	int r;

	if (m->stop_deadline_ns <= now_ns(m)) {
		do_kill(m);
		return;
	}
	arm(m, m->stop_deadline_ns);
	if (m->state == MEMBER_STARTING)
		return; /* its signal is sent when it runs: before exec nobody handles it
			 */
	r = proc_signal(m->pidfd, m->stop_signal);
	if (r < 0 && r != -ESRCH)
		log_warn("member %s/%s/%s: stop signal: %s", m->pod->namespace,
			 m->pod->name, m->spec->name, strerror(-r));
	set_state(m, MEMBER_STOPPING);
	pod_update_status(m->pod);
}

static void do_hurry(struct member *m)
{
	if (m->stop_deadline_ns <= now_ns(m))
		do_kill(m);
	else
		arm(m, m->stop_deadline_ns);
}

static void do_cancel(struct member *m)
{
	loop_timer_cancel(&m->timer);
	set_state(m, MEMBER_ENDED);
	pod_update_status(m->pod);
	pod_advance(m->pod);
}

/* ---- the end ---- */

static const char *end_reason(const struct member *m, const struct attempt *a)
{
	if (m->start_error.code)
		return m->start_error.stage == STAGE_EXEC ||
				       m->start_error.stage == STAGE_CHDIR ?
			       "StartError" :
			       "ContainerCannotRun";
	if (a->exit.by_signal && a->exit.status == SIGKILL &&
	    cgroup_oom_kills(m->pod->pods->cgroup_fd, m->cgroup) > m->oom_base)
		return "OOMKilled";
	return a->exit_code == 0 ? "Completed" : "Error";
}

/* Peek, collect the facts, reap: while the zombie stands its pid is nobody else's. */
static void take_exit(struct member *m)
{
	struct attempt *a;
	struct proc_exit seen;

	start_read(m); /* who said "started" and died at once was started (T23) */
	if (m->pidfd < 0 || proc_peek(m->pidfd, &seen) < 0)
		return; /* a hint only: still alive */
	a = m->committed ? &m->now : &m->starting;
	a->exit = seen;
	a->exit_code = proc_exit_code(&seen);
	a->finished_wall_ns = time_wall_ns();
	a->reason = end_reason(m, a);
	(void)proc_collect(m->pidfd, &seen, NULL); /* peeked above: it is there */

	loop_src_remove(&m->exit_src);
	loop_src_remove(&m->start_src);
	fd_close(&m->pidfd);
	fd_close(&m->start_fd);
	fd_close(&m->stdin_fd);
	m->reaped = true;
	member_feed(m, MEMBER_EV_EXIT);
}

static void do_empty(struct member *m)
{
	int r = cgroup_populated(m->pod->pods->cgroup_fd, m->cgroup);

	if (r == 0) {
		set_state(m, MEMBER_EMPTYING);
		member_feed(m, MEMBER_EV_EMPTY);
		return;
	}
	r = cgroup_kill(m->pod->pods->cgroup_fd, m->cgroup);
	if (r < 0)
		log_warn("member %s/%s/%s: cgroup.kill of what is left: %s",
			 m->pod->namespace, m->pod->name, m->spec->name, strerror(-r));
	if (m->state != MEMBER_STUCK) {
		set_state(m, MEMBER_EMPTYING);
		m->kill_wait_ns = KILL_WAIT_NS;
		arm(m, time_add(now_ns(m), m->kill_wait_ns));
	}
	/* The group may have emptied between the two calls; the watch would not tell. */
	member_group_changed(m);
}

static void do_stuck(struct member *m)
{
	int populated;

	take_exit(m); /* an exit event may have been lost: the pidfd knows (T19, T20) */
	if (!member_alive(m))
		return;
	populated = cgroup_populated(m->pod->pods->cgroup_fd, m->cgroup);
	if (m->reaped && populated == 0) {
		member_feed(m, MEMBER_EV_EMPTY);
		return;
	}
	if (m->reaped && populated < 0) {
		/* No descriptor left to look with: nobody can say that it is stuck. */
		log_warn("member %s/%s/%s: cannot look at its group: %s",
			 m->pod->namespace, m->pod->name, m->spec->name,
			 strerror(-populated));
		arm(m, time_add(now_ns(m), LOOK_AGAIN_NS));
		return;
	}
	if (m->state != MEMBER_STUCK) {
		log_error("member %s/%s/%s: killed, but still there", m->pod->namespace,
			  m->pod->name, m->spec->name);
		set_state(m, MEMBER_STUCK);
		member_publish(m, POD_EVENT_MEMBER_STUCK);
	}
	m->kill_wait_ns = MIN(m->kill_wait_ns * 2, KILL_WAIT_MAX_NS);
	do_kill(m);
}

static void end_for_good(struct member *m)
{
	set_state(m, MEMBER_ENDED);
	pod_update_status(m->pod);
	pod_advance(m->pod);
}

static void do_finish(struct member *m)
{
	int64_t delay_ns = 0;

	if (!m->reaped)
		return; /* empty, but the status is still to come */
	loop_timer_cancel(&m->timer);
	member_log_drain(m->log);
	if (m->start_error.code && m->stop_deadline_ns == TIME_NEVER &&
	    (m->start_error.stage == STAGE_VOLUME ||
	     m->start_error.stage == STAGE_SUBPATH)) {
		const struct err e = m->start_error;

		set_state(m, MEMBER_BACKOFF);
		create_failed(m,
			      e.stage == STAGE_VOLUME ? "ContainerCreating" :
							"CreateContainerConfigError",
			      &e);
		return;
	}
	commit(m);
	if (m->start_error.code) {
		(void)snprintf(m->now.message, sizeof(m->now.message), "%s",
			       m->start_error.text);
		member_publish(m, POD_EVENT_MEMBER_FAILED);
		log_err(LOG_WARN, m->spec->name, &m->start_error);
	}
	member_publish(m, POD_EVENT_MEMBER_EXITED);
	if (!pod_wants_restart(m->pod, m, &delay_ns)) {
		end_for_good(m);
		return;
	}
	set_state(m, MEMBER_BACKOFF);
	m->wait_reason = "CrashLoopBackOff";
	(void)snprintf(m->wait_message, sizeof(m->wait_message),
		       "back-off %lldms restarting failed container=%s pod=%.100s_%s",
		       (long long)(delay_ns / NSEC_PER_MSEC), m->spec->name, m->pod->name,
		       m->pod->namespace);
	if (delay_ns == 0) {
		member_feed(m, MEMBER_EV_DEADLINE);
		return;
	}
	m->backoff_ns = delay_ns;
	member_publish(m, POD_EVENT_MEMBER_BACKOFF);
	arm(m, time_add(now_ns(m), delay_ns));
	pod_update_status(m->pod);
	pod_advance(m->pod);
}

/* ---- outside ---- */

void member_feed(struct member *m, enum member_event event)
{
	static void (*const actions[])(struct member * m) = {
		[MEMBER_DO_LAUNCH] = do_launch, [MEMBER_DO_RUN] = do_run,
		[MEMBER_DO_RETRY] = do_retry,   [MEMBER_DO_EMPTY] = do_empty,
		[MEMBER_DO_FINISH] = do_finish, [MEMBER_DO_STOP] = do_stop,
		[MEMBER_DO_HURRY] = do_hurry,   [MEMBER_DO_KILL] = do_kill,
		[MEMBER_DO_STUCK] = do_stuck,   [MEMBER_DO_CANCEL] = do_cancel,
	};
	enum member_action action = member_react(m->state, event);

	if (action != MEMBER_DO_NOTHING)
		actions[action](m);
}

static void timer_due(struct loop_timer *timer)
{
	member_feed(container_of(timer, struct member, timer), MEMBER_EV_DEADLINE);
}

void member_stop(struct member *m, int64_t deadline_ns)
{
	if (deadline_ns < m->stop_deadline_ns)
		m->stop_deadline_ns = deadline_ns;
	member_feed(m, MEMBER_EV_STOP);
}

void member_retry_start(struct member *m)
{
	/* From the timer: the caller is in the middle of a walk over pods. */
	if (m->state == MEMBER_BACKOFF && m->wait_reason &&
	    (!strcmp(m->wait_reason, "CreateContainerConfigError") ||
	     !strcmp(m->wait_reason, "CreateContainerError")))
		arm(m, now_ns(m));
}

void member_group_changed(struct member *m)
{
	if (cgroup_populated(m->pod->pods->cgroup_fd, m->cgroup) == 0)
		member_feed(m, MEMBER_EV_EMPTY);
}

int member_init(struct member *m, struct pod *pod, const struct container_spec *spec)
{
	const struct log_owner owner = {
		.namespace = pod->namespace,
		.pod = pod->name,
		.uid = pod->uid,
		.member = spec->name,
	};

	m->pod = pod;
	m->spec = spec;
	m->pidfd = m->start_fd = m->stdin_fd = m->wd = -1;
	m->stop_deadline_ns = TIME_NEVER;
	m->wait_reason = m == pod->members || !pod->spec->n_init ? "ContainerCreating" :
								   "PodInitializing";
	m->timer.fn = timer_due;
	m->stop_signal = SIGTERM;
	list_init(&m->watch);
	(void)snprintf(m->cgroup, sizeof(m->cgroup), "%s/%s", pod->uid, spec->name);
	m->log = member_log_new(pod->pods->logs, &owner);
	return m->log ? 0 : -ENOMEM;
}

void member_release(struct member *m)
{
	if (!m->pod)
		return; /* never initialised */
	pods_unwatch(m->pod->pods, m);
	loop_timer_cancel(&m->timer);
	(void)cgroup_remove(m->pod->pods->cgroup_fd,
			    m->cgroup); /* the pod's removal judges */
	launch_plan_free(m->plan);
	m->plan = NULL;
	member_log_free(m->log);
	m->log = NULL;
}
