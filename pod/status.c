// SPDX-License-Identifier: Apache-2.0
/*
 * status.c - phase and conditions of a pod by Kubernetes' rules.
 *
 * Owns: pod->phase and pod->conditions. Called by: whatever changes a member or a pod.
 * Source of the rules: kubernetes-pod.md 13 (kubelet getPhase(), status/generate.go).
 * No heap: status must be right when memory is out.
 */
#include <assert.h>

#include "base/log.h"
#include "pod/network.h"
#include "pod/pod.h"

static const char *const condition_names[] = {
	[CONDITION_SCHEDULED] = "PodScheduled",
	[CONDITION_SANDBOX] = "PodReadyToStartContainers",
	[CONDITION_NETWORK] = "NetworkReady",
	[CONDITION_INITIALIZED] = "Initialized",
	[CONDITION_CONTAINERS_READY] = "ContainersReady",
	[CONDITION_READY] = "Ready",
};
static_assert(ARRAY_SIZE(condition_names) == CONDITION_MAX, "a condition without a name");

const char *pod_condition_name(enum pod_condition c)
{
	return condition_names[c];
}

static bool init_done(const struct pod *pod)
{
	for (size_t i = 0; i < pod->spec->n_init; i++)
		if (!member_succeeded(&pod->members[i]))
			return false;
	return true;
}

/* A container that waits and has never been alive keeps the pod Pending, even beside
 * running ones (C371). */
static bool some_never_ran(const struct pod *pod)
{
	for (size_t i = pod->spec->n_init; i < pod->n_members; i++)
		if (!pod->members[i].ran)
			return true;
	return false;
}

static const char *ended_phase(const struct pod *pod)
{
	for (size_t i = 0; i < pod->n_members; i++)
		if (!member_succeeded(&pod->members[i]))
			return "Failed";
	return "Succeeded";
}

static bool containers_ended(const struct pod *pod)
{
	for (size_t i = pod->spec->n_init; i < pod->n_members; i++)
		if (pod->members[i].state != MEMBER_ENDED)
			return false;
	return true;
}

static const char *compute_phase(const struct pod *pod)
{
	if (pod->state == POD_REFUSED)
		return "Failed";
	/* The last container's end is the pod's: it was not "Running" in between. */
	if (pod->state == POD_ENDED ||
	    (pod->state == POD_RUNNING && containers_ended(pod)))
		return ended_phase(pod);
	return some_never_ran(pod) ? "Pending" : "Running";
}

const char *pod_lifecycle_name(const struct pod *pod)
{
	switch (pod->state) {
	case POD_CREATED:
		return "INIT";
	case POD_INIT:
		return "STARTING";
	case POD_RUNNING:
		return some_never_ran(pod) ? "STARTING" : "RUNNING";
	case POD_STOPPING:
		return "KILLING";
	case POD_ENDED:
		if (pod->stop_requested)
			return "KILLED";
		return pod->phase[0] == 'S' ? "FINISH" : "FAILED";
	case POD_REFUSED:
	case POD_STATE_MAX:
		break;
	}
	return "FAILED";
}

static bool containers_ready(const struct pod *pod)
{
	for (size_t i = pod->spec->n_init; i < pod->n_members; i++)
		if (pod->members[i].state != MEMBER_RUNNING)
			return false;
	return pod->state == POD_RUNNING;
}

static void set_condition(struct pod *pod, enum pod_condition which, bool is_true,
			  const char *reason)
{
	struct condition *c = &pod->conditions[which];

	if (c->is_true != is_true)
		c->since_wall_ns = time_wall_ns();
	c->is_true = is_true;
	c->reason = reason;
}

static const char *not_ready_reason(const struct pod *pod)
{
	if (pod->state == POD_ENDED)
		return pod->phase[0] == 'S' ? "PodCompleted" : "PodFailed";
	return "ContainersNotReady";
}

static void update_conditions(struct pod *pod)
{
	bool ready = containers_ready(pod), initialized;
	const char *reason = ready ? NULL : not_ready_reason(pod);

	/* Once a container was started the pod stays initialized. */
	initialized = pod->conditions[CONDITION_INITIALIZED].is_true || init_done(pod);
	set_condition(pod, CONDITION_SCHEDULED, true, NULL);
	set_condition(pod, CONDITION_SANDBOX, sandbox_ready(pod), NULL);
	if (pod->net.plan) {
		bool network = network_up(pod) && !pod->net.watch.wrong;

		set_condition(pod, CONDITION_NETWORK, network,
			      network                 ? NULL :
			      pod->net.watch.wrong    ? pod->net.watch.wrong :
			      pod->state == POD_ENDED ? "NetworkRemoved" :
							"NetworkNotMade");
	}
	set_condition(pod, CONDITION_INITIALIZED, initialized,
		      !initialized         ? "ContainersNotInitialized" :
		      pod->phase[0] == 'S' ? "PodCompleted" :
					     NULL);
	set_condition(pod, CONDITION_CONTAINERS_READY, ready, reason);
	set_condition(pod, CONDITION_READY, ready, reason);
}

void pod_update_status(struct pod *pod)
{
	const char *phase = compute_phase(pod), *lifecycle;
	bool phase_changed = phase != pod->phase || pod->reason != pod->published_reason;
	bool ready;

	pod->phase = phase;
	if (pod->spec)
		update_conditions(pod);
	ready = pod->conditions[CONDITION_READY].is_true;
	lifecycle = pod_lifecycle_name(pod);
	if (!phase_changed && lifecycle == pod->published_lifecycle &&
	    ready == pod->published_ready &&
	    pod->net.watch.wrong == pod->published_network)
		return;
	pod->published_lifecycle = lifecycle;
	pod->published_reason = pod->reason;
	pod->published_ready = ready;
	pod->published_network = pod->net.watch.wrong;
	pod_publish(pod, POD_EVENT_POD_CHANGED);
	if (phase_changed) /* the rest is for programs, not for the console */
		log_info("pod %s/%s: %s%s%s", pod->namespace, pod->name, pod->phase,
			 pod->reason ? ", " : "", pod->reason ? pod->reason : "");
}
