// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_wait.c - podctl's commands that wait until a pod is in some state.
 *
 * Owns: nothing. Called by: podctl.c. They subscribe first and look second, so that
 * nothing can happen in between, and look again at each event: events are hints.
 */
#include <json-c/json.h>
#include <string.h>

#include "base/time.h"
#include "control/podctl.h"

#define WAIT_DEFAULT_S 30 /* as kubectl wait */

static int subscribe(struct podctl *p)
{
	struct json_object *args = json_object_new_object(), *result = NULL;
	int r;

	(void)json_object_object_add(args, "replay", json_object_new_boolean(0));
	r = conn_call(p, "subscribe", args, &result);
	json_object_put(result);
	return r;
}

/* *ret: the pod's entry in the list, NULL when there is none. */
static int find_pod(struct podctl *p, struct json_object *pod, struct json_object **ret)
{
	struct json_object *list = NULL, *item;
	int r = conn_call(p, "pod-list", NULL, &list);

	*ret = NULL;
	for (size_t i = 0; r == 0 && i < list_len(list); i++) {
		item = json_object_array_get_idx(list, i);
		if (strcmp(get_string(item, "namespace", ""),
			   get_string(pod, "namespace", "")) == 0 &&
		    strcmp(get_string(item, "name", ""), get_string(pod, "name", "")) ==
			    0)
			*ret = json_object_get(item);
	}
	json_object_put(list);
	return r;
}

enum progress { NOT_YET, REACHED, NEVER };

static enum progress look(struct json_object *found, const char *until)
{
	const char *phase = get_string(found, "phase", "");
	bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	bool reached;

	if (strcmp(until, "deleted") == 0)
		return found ? NOT_YET : REACHED;
	if (!found)
		return NEVER;
	if (strcmp(until, "ready") == 0)
		reached = get_int(found, "containers", 0) > 0 &&
			  get_int(found, "ready", 0) == get_int(found, "containers", 0);
	else
		reached = strcmp(phase, until + strlen("phase=")) == 0;
	if (reached)
		return REACHED;
	return ended ? NEVER : NOT_YET;
}

/* "; main: CrashLoopBackOff (back-off 10s)" of each member that waits. */
static void append_reasons(struct json_object *list, char *text, size_t size)
{
	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		struct json_object *w = get(get(m, "state"), "waiting");
		const char *message = get_string(w, "message", "");
		size_t len = strlen(text);

		if (w)
			(void)snprintf(text + len, size - len, "; %s: %s%s%s%s",
				       get_string(m, "name", "?"),
				       get_string(w, "reason", "waiting"),
				       message[0] ? " (" : "", message,
				       message[0] ? ")" : "");
	}
}

static int say_late(struct podctl *p, struct json_object *pod, const char *until)
{
	struct json_object *now = NULL, *status;
	char reasons[1024] = "";

	/* The time to wait is over; the question has its own. */
	p->timeout_s = -1;
	p->conn.quiet = true;
	if (conn_call(p, "pod-status", json_object_get(pod), &now) == 0) {
		status = get(now, "status");
		append_reasons(get(status, "initContainerStatuses"), reasons,
			       sizeof(reasons));
		append_reasons(get(status, "containerStatuses"), reasons,
			       sizeof(reasons));
	}
	p->conn.quiet = false;
	json_object_put(now);
	return say(PODCTL_TIMEOUT, "pod %s is not '%s' in time%s",
		   get_string(pod, "name", ""), until, reasons);
}

static int wait_for(struct podctl *p, struct json_object *pod, const char *until,
		    int64_t deadline_ns)
{
	struct json_object *found = NULL, *event = NULL;
	const char *name = get_string(pod, "name", "");
	bool about = true, lost;
	int r;

	for (;;) {
		if (about) {
			enum progress now;

			r = find_pod(p, pod, &found);
			if (r)
				return r;
			now = look(found, until);
			if (now == NEVER)
				(void)say(0, "pod %s %s%s: it will not become '%s'", name,
					  found ? "is " : "is not there",
					  get_string(found, "phase", ""), until);
			json_object_put(found);
			if (now != NOT_YET)
				return now == REACHED ? PODCTL_OK : PODCTL_FAILED;
		}
		r = conn_event(p, deadline_ns, &event);
		if (r == PODCTL_TIMEOUT)
			return say_late(p, pod, until);
		if (r)
			return r;
		lost = strcmp(get_string(event, "event", ""), "LOST") == 0;
		about = lost || event_is_of(event, pod);
		json_object_put(event);
	}
}

int podctl_wait(struct podctl *p)
{
	static const char *const phases[] = { "phase=Pending",   "phase=Running",
					      "phase=Succeeded", "phase=Failed",
					      "ready",           "deleted" };
	const char *until = p->until ? p->until : "ready";
	int64_t limit_s = p->timeout_s >= 0 ? p->timeout_s : WAIT_DEFAULT_S;
	int64_t deadline_ns = time_add(time_boot_ns(), limit_s * NSEC_PER_SEC);
	struct json_object *pod;
	bool known = false;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(phases); i++)
		known |= strcmp(phases[i], until) == 0;
	if (!known)
		return say(PODCTL_USAGE,
			   "--for is ready, deleted or phase=Pending|Running|Succeeded|"
			   "Failed, not '%s'",
			   until);
	pod = pod_arguments(p->args[0]);
	r = pod ? subscribe(p) : PODCTL_USAGE;
	if (r == 0)
		r = wait_for(p, pod, until, deadline_ns);
	json_object_put(pod);
	return r;
}

int podctl_delete(struct podctl *p)
{
	struct json_object *args, *pod;
	int64_t deadline_ns = TIME_NEVER;
	int r;

	if (p->n_args == 2)
		return podctl_delete_object(p);
	args = pod_arguments_with_grace(p);
	if (!args)
		return PODCTL_USAGE;
	if (!p->wait)
		return pod_call(p, "pod-delete", args, "deleting");
	if (p->timeout_s >= 0)
		deadline_ns = time_add(time_boot_ns(), p->timeout_s * NSEC_PER_SEC);
	pod = pod_arguments(p->args[0]);
	r = subscribe(p);
	if (r == 0)
		r = pod_call(p, "pod-delete", json_object_get(args), "deleting");
	if (r == 0)
		r = wait_for(p, pod, "deleted", deadline_ns);
	if (r == 0 && !p->json)
		(void)puts("deleted");
	json_object_put(args);
	json_object_put(pod);
	return r;
}
