// SPDX-License-Identifier: Apache-2.0
/*
 * lifecycle.c - a pod from its sandbox to its end: what comes next.
 *
 * Owns: pod->state. Called by: member.c and sandbox.c after every change, pods.c for what
 * people ask. pod_advance() looks at the whole pod and makes the next step, so it does
 * not matter which event came first or came twice.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "pod/log_file.h"
#include "pod/member_log.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "pod/volumes.h"
#include "rootfs/tree.h"

/* Removing emptyDirs of many GiB takes a while; it is nobody's turn but the disk's. */
#define CLEANUP_TIMEOUT_NS (120 * NSEC_PER_SEC)

static bool restart_by_policy(enum restart_policy policy, int exit_code)
{
	switch (policy) {
	case RESTART_ALWAYS:
		return true;
	case RESTART_ON_FAILURE:
		return exit_code != 0;
	case RESTART_NEVER:
		return false;
	}
	return false;
}

bool pod_wants_restart(struct pod *pod, struct member *m, int64_t *ret_delay_ns)
{
	int64_t ran_ns = loop_now(pod->pods->loop) - m->now.started_ns;

	if (pod->state == POD_STOPPING || pod->pods->stopping)
		return false;
	/* An initContainer that succeeded is done, whatever the policy. */
	if (m->spec->init && m->now.exit_code == 0)
		return false;
	if (!restart_by_policy(pod->spec->restart, m->now.exit_code))
		return false;
	*ret_delay_ns = backoff_next(&m->backoff, &pod->pods->backoff, ran_ns);
	return true;
}

static bool all_ended(const struct pod *pod, size_t from)
{
	for (size_t i = from; i < pod->n_members; i++)
		if (pod->members[i].state != MEMBER_ENDED)
			return false;
	return true;
}

static void cleanup_due(struct loop_timer *timer)
{
	pod_advance(container_of(timer, struct pod, cleanup_retry));
}

/* A pod's data must not outlive its record: tried again until it is gone. */
static void cleanup_failed(struct pod *pod, const void *what, const char *why)
{
	int64_t delay = backoff_next(&pod->cleanup_backoff, &pod->pods->backoff, 0);

	if (pod->pods->stopping)
		return; /* killed with everything else */
	log_warn("pod %s/%s: %s not removed: %s", pod->namespace, pod->name,
		 what == pod->log_dir ? pod->log_dir : "network and volumes", why);
	if (what == pod->log_dir) {
		pod->logs_left = false; /* logs are no secret of the next pod: given up */
		return;
	}
	pod->cleanup_retry.fn = cleanup_due;
	(void)loop_timer_set(pod->pods->loop, &pod->cleanup_retry, /* reserved */
			     time_add(loop_now(pod->pods->loop), delay));
}

/* The namespaces go with their descriptors. */
static void world_gone(struct pod *pod)
{
	pod->world_left = false;
	sandbox_release(&pod->sandbox);
}

static void cleanup_done(struct child *child)
{
	struct pod *pod = container_of(child, struct pod, cleanup);

	if (!child_ok(child))
		cleanup_failed(pod, child->arg, child_failure(child));
	else if (child->arg == pod->log_dir)
		pod->logs_left = false;
	else
		world_gone(pod);
	pod_advance(pod);
}

#define CLEANUP_NETNS 3 /* child.keep_fd */

/* In a child: interfaces and volumes of a pod that has ended. */
static int remove_world(void *arg)
{
	struct pod *pod = arg;
	int netns = pod->sandbox.net_fd >= 0 ? CLEANUP_NETNS : -1;
	struct err e = { 0 };

	if (pod->net.plan && network_remove(pod, netns, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	if (volumes_unmount(pod, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	return tree_remove_run(pod->run_dir);
}

static void start_cleanup(struct pod *pod, int (*run)(void *arg), void *arg, int keep_fd)
{
	int r;

	pod->cleanup.name = "remove";
	pod->cleanup.run = run;
	pod->cleanup.arg = arg;
	pod->cleanup.timeout_ns = CLEANUP_TIMEOUT_NS;
	pod->cleanup.keep_fd = keep_fd;
	pod->cleanup.done = cleanup_done;
	r = child_start(pod->pods->loop, &pod->cleanup);
	if (r < 0)
		cleanup_failed(pod, arg, strerror(-r));
}

static void start_log_cleanup(struct pod *pod)
{
	const struct log_owner owner = {
		.namespace = pod->namespace,
		.pod = pod->name,
		.uid = pod->uid,
	};
	char name[NAME_MAX + 1];

	if (log_service_remove_pod(pod->pods->logs, &owner)) {
		pod->logs_left = false;
		return;
	}
	log_file_pod_dir(name, pod->namespace, pod->name, pod->uid);
	if (asprintf(&pod->log_dir, "%s/%s", pod->pods->machine->log_dir, name) < 0) {
		pod->log_dir = NULL;
		pod->logs_left = false; /* without memory the logs stay */
		return;
	}
	start_cleanup(pod, tree_remove_run, pod->log_dir, -1);
}

/* An ended pod: its volumes go at once, with the record its logs, as the kubelet does it.
 */
static void advance_ended(struct pod *pod)
{
	if (child_running(&pod->cleanup) || pod->cleanup_retry.loop)
		return;
	/* At the machine's end all of it goes by itself. */
	if (pod->pods->stopping)
		return;
	/* The filter's helper may be in the namespace. */
	if (pod->world_left && network_down(pod))
		start_cleanup(pod, remove_world, pod, pod->sandbox.net_fd);
	else if (!pod->world_left && pod->delete_wanted && pod->logs_left)
		start_log_cleanup(pod);
	if (pod->delete_wanted && !pod->world_left && !pod->logs_left &&
	    network_down(pod))
		pods_forget(pod->pods, pod);
}

static void finish(struct pod *pod)
{
	struct pods *pods = pod->pods;
	int r;

	for (size_t i = 0; i < pod->n_members; i++)
		pods_unwatch(pods, &pod->members[i]);
	r = cgroup_remove(pods->cgroup_fd, pod->uid);
	if (r < 0)
		log_warn("pod %s/%s: cgroup %s: %s", pod->namespace, pod->name, pod->uid,
			 strerror(-r));
	pod->state = POD_ENDED;
	pod->world_left = true;
	pod->logs_left = true;
	network_end(pod);
	pod_update_status(pod);
	advance_ended(pod);
	pods_pod_ended(pods, pod);
}

static void stop(struct pod *pod, int64_t grace_ms)
{
	int64_t grace_ns, deadline_ns;

	if (pod->state == POD_ENDED || pod->state == POD_REFUSED)
		return;
	grace_ms = grace_ms < 0 ? pod->spec->grace_seconds * 1000 : grace_ms;
	grace_ns = grace_ms > TIME_NEVER / NSEC_PER_MSEC ? TIME_NEVER :
							   grace_ms * NSEC_PER_MSEC;
	deadline_ns = time_add(loop_now(pod->pods->loop), grace_ns);
	pod->state = POD_STOPPING;
	loop_timer_cancel(&pod->sandbox.retry);
	child_cancel(&pod->sandbox.child);
	/* All members in parallel: the time is the longest grace, not the sum. */
	for (size_t i = 0; i < pod->n_members; i++)
		member_stop(&pod->members[i], deadline_ns);
	/* The last member's end may have finished the pod inside the loop above. */
	if (pod->state == POD_STOPPING) {
		pod_update_status(pod);
		pod_advance(pod);
	}
}

/* Starts the first initContainer that has not succeeded. true = all have. */
static bool advance_init(struct pod *pod)
{
	for (size_t i = 0; i < pod->spec->n_init; i++) {
		struct member *m = &pod->members[i];

		if (member_succeeded(m))
			continue;
		if (m->state == MEMBER_WAITING)
			member_feed(m, MEMBER_EV_START);
		else if (m->state == MEMBER_ENDED)
			/* Failed, and the policy is Never: the pod has failed. */
			stop(pod, 0);
		return false;
	}
	return true;
}

static void start_containers(struct pod *pod)
{
	pod->state = POD_RUNNING;
	for (size_t i = pod->spec->n_init; i < pod->n_members; i++)
		pod->members[i].wait_reason = "ContainerCreating";
	for (size_t i = pod->spec->n_init; i < pod->n_members; i++) {
		/* None of the starts ends the pod at once; a stop by a hook would. */
		if (pod->state != POD_RUNNING)
			break;
		if (pod->members[i].state == MEMBER_WAITING)
			member_feed(&pod->members[i], MEMBER_EV_START);
	}
}

void pod_advance(struct pod *pod)
{
	switch (pod->state) {
	case POD_CREATED:
		if (!sandbox_ready(pod))
			return;
		pod->state = POD_INIT;
		sandbox_tell(pod, NULL);
		pod_advance(pod);
		return;
	case POD_INIT:
		if (!advance_init(pod))
			return;
		/* Starting the last initContainer may have come back here already. */
		if (pod->state == POD_INIT)
			start_containers(pod);
		pod_update_status(pod);
		return;
	case POD_RUNNING:
		if (all_ended(pod, pod->spec->n_init) && pause_end(pod))
			finish(pod);
		return;
	case POD_STOPPING:
		if (all_ended(pod, 0) && !child_running(&pod->sandbox.child) &&
		    pause_end(pod))
			finish(pod);
		return;
	case POD_ENDED:
	case POD_REFUSED:
		advance_ended(pod);
		return;
	case POD_STATE_MAX:
		return;
	}
}

void pod_reject(struct pod *pod, const char *reason, const char *message)
{
	log_warn("pod %s/%s: %s: %s", pod->namespace, pod->name, reason, message);
	pod->reason = reason;
	free(pod->message);
	pod->message = strdup(message); /* without memory the reason says it */
	stop(pod, 0);
}

void pod_stop(struct pod *pod, int64_t grace_ms)
{
	if (pod->state != POD_ENDED)
		pod->stop_requested = true;
	stop(pod, grace_ms);
}

void pod_delete(struct pod *pod, int64_t grace_ms)
{
	pod->delete_wanted = true;
	pod_stop(pod, grace_ms);
	if (pod->state == POD_ENDED || pod->state == POD_REFUSED)
		pod_advance(pod);
}
