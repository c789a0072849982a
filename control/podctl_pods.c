// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_pods.c - podctl's commands about pods: one request, one answer.
 *
 * Owns: nothing. Called by: podctl.c. Those that wait for something are in podctl_wait.c.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "config/pod_spec.h"
#include "control/podctl.h"

struct json_object *pod_arguments(const char *pod)
{
	const char *slash = strchr(pod, '/');
	struct json_object *obj = json_object_new_object();
	const char *name = slash ? slash + 1 : pod;

	if (!name[0] || slash == pod || strchr(name, '/')) {
		json_object_put(obj);
		(void)say(0, "'%s' is not [NAMESPACE/]NAME of a pod", pod);
		return NULL;
	}
	(void)json_object_object_add(
		obj, "namespace",
		slash ? json_object_new_string_len(pod, (int)(slash - pod)) :
			json_object_new_string("default"));
	(void)json_object_object_add(obj, "name", json_object_new_string(name));
	return obj;
}

bool event_is_of(struct json_object *event, struct json_object *pod)
{
	struct json_object *data = get(event, "data");

	return strcmp(get_string(data, "namespace", ""),
		      get_string(pod, "namespace", "")) == 0 &&
	       strcmp(get_string(data, "pod", ""), get_string(pod, "name", "")) == 0;
}

int pod_call(struct podctl *p, const char *command, struct json_object *args,
	     const char *done)
{
	struct json_object *result = NULL;
	int r = conn_call(p, command, args, &result);

	if (r == 0 && p->json)
		put_json(result);
	else if (r == 0)
		(void)printf("%s\n", done);
	json_object_put(result);
	return r;
}

/* ---- list, status
 * ---------------------------------------------------------------------- */

/* The phase does not tell that a pod is being stopped. */
static bool is_terminating(struct json_object *pod)
{
	return strcmp(get_string(pod, "lifecycle", ""), "KILLING") == 0;
}

static void list_row(struct table *t, struct json_object *pod)
{
	char ready[48], restarts[24], age[24];
	const char *status = get_string(pod, "reason", get_string(pod, "phase", ""));
	const char *cells[] = {
		get_string(pod, "namespace", ""),
		get_string(pod, "name", ""),
		ready,
		is_terminating(pod) ? "Terminating" : status,
		restarts,
		age,
	};

	(void)snprintf(ready, sizeof(ready), "%" PRId64 "/%" PRId64,
		       get_int(pod, "ready", 0), get_int(pod, "containers", 0));
	(void)snprintf(restarts, sizeof(restarts), "%" PRId64,
		       get_int(pod, "restarts", 0));
	text_age(get_string(pod, "startTime", NULL), age, sizeof(age));
	table_row(t, cells);
}

int podctl_list(struct podctl *p)
{
	static const char *const titles[] = { "NAMESPACE", "NAME",     "READY",
					      "STATUS",    "RESTARTS", "AGE" };
	struct json_object *list = NULL;
	struct table t;
	struct json_object *args = NULL;
	int r;

	if (p->namespace) {
		args = json_object_new_object();
		(void)json_object_object_add(args, "namespace",
					     json_object_new_string(p->namespace));
	}
	r = conn_call(p, "pod-list", args, &list);
	if (r == 0 && p->json) {
		put_json(list);
	} else if (r == 0 && list_len(list) == 0) {
		(void)say(0, "no pods");
	} else if (r == 0 && json_object_is_type(list, json_type_array)) {
		table_begin(&t, 6, titles);
		for (size_t i = 0; i < list_len(list); i++)
			list_row(&t, json_object_array_get_idx(list, i));
		table_end(&t);
	}
	json_object_put(list);
	return r;
}

static void put_line(const char *label, const char *value)
{
	(void)printf("%-12s ", label);
	put_text(value, strlen(value));
	(void)putchar('\n');
}

/* "  State:  Terminated (Error), exit code 1, signal 9, 3s ago" */
static void put_state(const char *label, struct json_object *state)
{
	static const char *const names[] = { "waiting", "running", "terminated" };
	struct json_object *s = NULL;
	const char *name = NULL, *reason, *message;
	char age[24];

	for (size_t i = 0; i < ARRAY_SIZE(names) && !s; i++) {
		s = get(state, names[i]);
		name = names[i];
	}
	if (!s)
		return;
	(void)printf("    %-10s %s", label, name);
	reason = get_string(s, "reason", NULL);
	if (reason) {
		(void)fputs(", ", stdout);
		put_text(reason, strlen(reason));
	}
	if (get(s, "exitCode"))
		(void)printf(", exit code %" PRId64, get_int(s, "exitCode", 0));
	if (get_int(s, "signal", 0))
		(void)printf(" (signal %" PRId64 ")", get_int(s, "signal", 0));
	text_age(get_string(s, "finishedAt", get_string(s, "startedAt", NULL)), age,
		 sizeof(age));
	if (age[0] != '-')
		(void)printf(", %s %s", get(s, "finishedAt") ? "ended" : "for", age);
	(void)puts(get(s, "finishedAt") && age[0] != '-' ? " ago" : "");
	message = get_string(s, "message", NULL);
	if (message) {
		(void)printf("    %-10s ", "");
		put_text(message, strlen(message));
		(void)putchar('\n');
	}
}

static void put_members(const char *title, struct json_object *list)
{
	if (list_len(list) == 0)
		return;
	(void)printf("%s\n", title);
	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		const char *image = get_string(m, "image", "?");

		(void)printf("  %s\n    %-10s ", get_string(m, "name", "?"), "Image:");
		put_text(image, strlen(image));
		(void)putchar('\n');
		put_state("State:", get(m, "state"));
		put_state("Last:", get(m, "lastState"));
		(void)printf("    %-10s %s\n    %-10s %" PRId64 "\n", "Ready:",
			     json_object_get_boolean(get(m, "ready")) ? "yes" : "no",
			     "Restarts:", get_int(m, "restartCount", 0));
	}
}

static void put_conditions(struct json_object *list)
{
	static const char *const titles[] = { "  CONDITION", "STATUS", "REASON",
					      "MESSAGE" };
	struct table t;

	if (list_len(list) == 0)
		return;
	table_begin(&t, 4, titles);
	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		char type[80];
		const char *cells[] = { type, get_string(c, "status", ""),
					get_string(c, "reason", ""),
					get_string(c, "message", "") };

		(void)snprintf(type, sizeof(type), "  %s", get_string(c, "type", "?"));
		table_row(&t, cells);
	}
	(void)puts("Conditions:");
	table_end(&t);
}

static void put_pod(struct json_object *pod)
{
	struct json_object *meta = get(pod, "metadata"), *status = get(pod, "status");
	const char *message = get_string(status, "message", NULL);
	char age[24];

	text_age(get_string(status, "startTime", NULL), age, sizeof(age));
	put_line("Name:", get_string(meta, "name", "?"));
	put_line("Namespace:", get_string(meta, "namespace", "?"));
	put_line("UID:", get_string(meta, "uid", "-"));
	put_line("Phase:", get_string(status, "phase", "?"));
	if (is_terminating(status))
		put_line("Status:", "Terminating");
	put_line("Age:", age);
	if (get(status, "reason"))
		put_line("Reason:", get_string(status, "reason", ""));
	if (message)
		put_line("Message:", message);
	put_members("Init members:", get(status, "initContainerStatuses"));
	put_members("Members:", get(status, "containerStatuses"));
	put_conditions(get(status, "conditions"));
}

static int put_status(struct podctl *p, struct json_object *args)
{
	struct json_object *pod = NULL;
	int r = args ? conn_call(p, "pod-status", args, &pod) : PODCTL_USAGE;

	if (r == 0 && p->json)
		put_json(pod);
	else if (r == 0)
		put_pod(pod);
	json_object_put(pod);
	return r;
}

int podctl_status(struct podctl *p)
{
	struct json_object *list = NULL, *item, *args;
	size_t n;
	int r;

	if (p->n_args)
		return put_status(p, pod_arguments(p->args[0]));
	r = conn_call(p, "pod-list", NULL, &list);
	n = r == 0 ? list_len(list) : 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		item = json_object_array_get_idx(list, i);
		args = json_object_new_object();
		(void)json_object_object_add(args, "namespace",
					     json_object_get(get(item, "namespace")));
		(void)json_object_object_add(args, "name",
					     json_object_get(get(item, "name")));
		if (i && !p->json)
			(void)putchar('\n');
		r = put_status(p, args);
	}
	json_object_put(list);
	return r;
}

/* ---- stop, kill ----------------------------------------------------------------------
 */

struct json_object *pod_arguments_with_grace(struct podctl *p)
{
	struct json_object *args = pod_arguments(p->args[0]);

	if (args && p->grace_s >= 0)
		(void)json_object_object_add(args, "graceSeconds",
					     json_object_new_int64(p->grace_s));
	return args;
}

int podctl_stop(struct podctl *p)
{
	struct json_object *args = pod_arguments_with_grace(p);

	return args ? pod_call(p, "pod-stop", args, "stopping") : PODCTL_USAGE;
}

/* Its name (a new reference), when the pod has one member and no more. */
static int only_member(struct podctl *p, struct json_object *pod_args,
		       struct json_object **ret)
{
	struct json_object *pod = NULL, *status, *members, *list;
	int r = conn_call(p, "pod-status", json_object_get(pod_args), &pod);
	size_t n;

	if (r)
		return r;
	status = get(pod, "status");
	members = get(status, "containerStatuses");
	list = get(status, "initContainerStatuses");
	n = list_len(members) + list_len(list);
	if (n == 1)
		list = list_len(members) ? members : list;
	if (n == 1)
		*ret = json_object_get(get(json_object_array_get_idx(list, 0), "name"));
	else
		r = say(PODCTL_USAGE,
			"the pod has %zu members; say which: podctl kill "
			"POD MEMBER [SIGNAL]",
			n);
	json_object_put(pod);
	return r;
}

int podctl_kill(struct podctl *p)
{
	struct json_object *args = pod_arguments(p->args[0]), *member = NULL;
	const char *signal = p->n_args > 2 ? p->args[2] : "TERM";
	int r = PODCTL_OK;

	if (!args)
		return PODCTL_USAGE;
	if (p->n_args > 1)
		member = json_object_new_string(p->args[1]);
	else
		r = only_member(p, args, &member);
	if (r) {
		json_object_put(args);
		return r;
	}
	(void)json_object_object_add(args, "member", member);
	(void)json_object_object_add(args, "signal", json_object_new_string(signal));
	return pod_call(p, "member-kill", args, "signal sent");
}
