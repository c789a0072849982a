// SPDX-License-Identifier: Apache-2.0
/*
 * commands.c - see commands.h: the table, and the checks that come before a handler.
 */
#include "control/commands.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/signal_name.h"
#include "control/client.h"
#include "control/state.h"
#include "pod/pods.h"

/* A day: a longer grace is a mistake in the unit. */
#define GRACE_MAX_S 86400
#define LINES_MAX   100000
#define EVENTS_MAX  1000
#define SEQ_MAX     INT64_MAX

#define ARG_NAMESPACE                                                   \
	{                                                               \
		.name = "namespace", .type = ARG_STRING,                \
		.help = "namespace of the pod, \"default\" when absent" \
	}
#define ARG_NAME                                                      \
	{                                                             \
		.name = "name", .type = ARG_STRING, .required = true, \
		.help = "name of the pod"                             \
	}
#define ARG_GRACE                                                                     \
	{                                                                             \
		.name = "graceSeconds", .type = ARG_INT, .max = GRACE_MAX_S,          \
		.help = "seconds between SIGTERM and SIGKILL; absent = the pod's own" \
	}
#define ARG_SINCE                                                 \
	{                                                         \
		.name = "since", .type = ARG_INT, .max = SEQ_MAX, \
		.help = "number of the first event wanted"        \
	}

static const struct arg pod_args[] = { ARG_NAMESPACE, ARG_NAME, { 0 } };
static const struct arg grace_args[] = { ARG_NAMESPACE, ARG_NAME, ARG_GRACE, { 0 } };

static const struct arg list_args[] = {
	{ .name = "namespace",
	  .type = ARG_STRING,
	  .help = "only pods of this namespace" },
	{ 0 },
};

static const struct arg net_args[] = {
	{ .name = "namespace",
	  .type = ARG_STRING,
	  .help = "only pods of this namespace; with a name \"default\" when absent" },
	{ .name = "name", .type = ARG_STRING, .help = "only this pod" },
	{ 0 },
};

static const struct arg object_args[] = {
	ARG_NAMESPACE,
	ARG_NAME,
	{ .name = "kind",
	  .type = ARG_STRING,
	  .required = true,
	  .help = "ConfigMap or Secret" },
	{ 0 },
};

static const struct arg create_args[] = {
	{ .name = "manifest",
	  .type = ARG_OBJECT,
	  .help = "a v1 Pod, ConfigMap or Secret, or a v1 List of them" },
	{ .name = "text",
	  .type = ARG_STRING,
	  .help = "the same as JSON text; errors then carry line and column" },
	{ 0 },
};

static const struct arg kill_args[] = {
	ARG_NAMESPACE,
	ARG_NAME,
	{ .name = "member",
	  .type = ARG_STRING,
	  .required = true,
	  .help = "name of the container" },
	{ .name = "signal", .type = ARG_SIGNAL, .help = "name or number, default TERM" },
	{ 0 },
};

static const struct arg logs_args[] = {
	ARG_NAMESPACE,
	ARG_NAME,
	{ .name = "member",
	  .type = ARG_STRING,
	  .help = "name of the container; may be absent when the pod has one" },
	{ .name = "lines",
	  .type = ARG_INT,
	  .max = LINES_MAX,
	  .help = "how many of the last lines, default 100" },
	{ .name = "attempt",
	  .type = ARG_INT,
	  .max = UINT32_MAX,
	  .help = "only this start of the member; absent = all that are held" },
	{ 0 },
};

static const struct arg events_args[] = {
	ARG_SINCE,
	{ .name = "max",
	  .type = ARG_INT,
	  .min = 1,
	  .max = EVENTS_MAX,
	  .help = "how many at most, default 100" },
	{ 0 },
};

static const struct arg subscribe_args[] = {
	{ .name = "events",
	  .type = ARG_STRINGS,
	  .help = "of \"pod\", \"member\", \"log\"; default pod and member" },
	ARG_SINCE,
	{ .name = "replay",
	  .type = ARG_BOOL,
	  .help = "begin with what is held in memory, default true" },
	{ 0 },
};

static const struct arg capabilities_args[] = {
	{ .name = "enable", .type = ARG_STRINGS, .help = "ignored: there are none" },
	{ 0 },
};

static const struct arg shutdown_args[] = {
	{ .name = "mode",
	  .type = ARG_STRING,
	  .help = "power-off (default), reboot or halt" },
	{ .name = "graceSeconds",
	  .type = ARG_INT,
	  .max = GRACE_MAX_S,
	  .help = "limit for the grace of all pods; absent = each pod's own" },
	{ 0 },
};

const struct command commands_table[] = {
	{ "boot", command_boot, NULL,
	  "Times of the boot's stages and of each member's first exec" },
	{ "events", command_events, events_args, "Events held in memory, oldest first" },
	{ "logs", command_logs, logs_args, "Last lines of a member's output" },
	{ "member-kill", command_member_kill, kill_args,
	  "Sends a signal to a member's first process" },
	{ "object-delete", command_object_delete, object_args,
	  "Forgets a ConfigMap or Secret" },
	{ "object-list", command_object_list, list_args,
	  "ConfigMaps and Secrets: names, keys and sizes, no values" },
	{ "pod-create", command_pod_create, create_args,
	  "Starts the pods of a manifest, takes in its ConfigMaps and Secrets" },
	{ "pod-delete", command_pod_delete, grace_args,
	  "Stops a pod and forgets it when it has ended" },
	{ "pod-list", command_pod_list, list_args, "All pods in short" },
	{ "pod-net", command_pod_net, net_args,
	  "Links, addresses, routes, host ports and counters of the pods' network" },
	{ "pod-status", command_pod_status, pod_args,
	  "One pod as a Kubernetes v1 Pod with its status" },
	{ "pod-stop", command_pod_stop, grace_args, "Ends a pod; its record stays" },
	{ "podinit-info", command_info, NULL,
	  "Facts about this podinit and its machine" },
	{ "podinit-log", command_podinit_log, NULL, "podinit's own last log lines" },
	{ "qmp_capabilities", command_qmp_capabilities, capabilities_args,
	  "Does nothing; QMP clients begin with it" },
	{ "query-commands", command_query_commands, NULL, "This table" },
	{ "shutdown", command_shutdown, shutdown_args,
	  "Stops all pods and ends the machine" },
	{ "subscribe", command_subscribe, subscribe_args,
	  "Sends events and log lines as they come" },
	{ "unsubscribe", command_unsubscribe, NULL, "Ends the subscription" },
};
const size_t commands_count = ARRAY_SIZE(commands_table);

/* ---- for handlers ------------------------------------------------------------------ */

int call_fail(struct call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(call->desc, sizeof(call->desc), fmt, ap); /* cut when too long */
	va_end(ap);
	return -EINVAL;
}

int call_no_memory(struct call *call)
{
	return call_fail(call, "out of memory");
}

struct json_object *call_get(const struct call *call, const char *name)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(call->arguments, name, &value);
	return value;
}

bool call_has(const struct call *call, const char *name)
{
	return call_get(call, name) != NULL;
}

const char *call_string(const struct call *call, const char *name, const char *absent)
{
	struct json_object *value = call_get(call, name);

	return value ? json_object_get_string(value) : absent;
}

int64_t call_int(const struct call *call, const char *name, int64_t absent)
{
	struct json_object *value = call_get(call, name);

	return value ? json_object_get_int64(value) : absent;
}

bool call_bool(const struct call *call, const char *name, bool absent)
{
	struct json_object *value = call_get(call, name);

	return value ? json_object_get_boolean(value) : absent;
}

struct pod *call_pod(struct call *call)
{
	const char *namespace = call_string(call, "namespace", "default");
	const char *name = call_string(call, "name", "");
	struct pod *pod = pods_find(call->control->pods, namespace, name);

	if (!pod)
		(void)call_fail(call, "there is no pod %.63s/%.253s", namespace, name);
	return pod;
}

bool call_put(struct json_object *obj, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(obj, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

bool call_put_string(struct json_object *obj, const char *key, const char *value)
{
	return call_put(obj, key, json_object_new_string(value));
}

bool call_put_int(struct json_object *obj, const char *key, int64_t value)
{
	return call_put(obj, key, json_object_new_int64(value));
}

/* ---- checks before a handler ------------------------------------------------------- */

static int check_int(struct call *call, const struct arg *a, struct json_object *value)
{
	int64_t v = json_object_get_int64(value);

	if (!json_object_is_type(value, json_type_int))
		return call_fail(call, "argument '%s' must be an integer", a->name);
	if (v < a->min || v > a->max)
		return call_fail(call, "argument '%s' must be from %lld to %lld", a->name,
				 (long long)a->min, (long long)a->max);
	return 0;
}

static int check_strings(struct call *call, const struct arg *a,
			 struct json_object *value)
{
	bool good = json_object_is_type(value, json_type_array);

	for (size_t i = 0; good && i < json_object_array_length(value); i++)
		good = json_object_is_type(json_object_array_get_idx(value, i),
					   json_type_string);
	return good ? 0 :
		      call_fail(call, "argument '%s' must be an array of strings",
				a->name);
}

static int check_signal(struct call *call, const struct arg *a, struct json_object *value)
{
	int64_t n = json_object_get_int64(value);

	if (json_object_is_type(value, json_type_int) && n >= 1 && n <= SIGRTMAX)
		return 0;
	if (json_object_is_type(value, json_type_string) &&
	    signal_parse(json_object_get_string(value)) > 0)
		return 0;
	return call_fail(call, "argument '%s' must be the name or number of a signal",
			 a->name);
}

static int check_value(struct call *call, const struct arg *a, struct json_object *value)
{
	switch (a->type) {
	case ARG_INT:
		return check_int(call, a, value);
	case ARG_STRINGS:
		return check_strings(call, a, value);
	case ARG_SIGNAL:
		return check_signal(call, a, value);
	case ARG_STRING:
		if (json_object_is_type(value, json_type_string))
			return 0;
		return call_fail(call, "argument '%s' must be a string", a->name);
	case ARG_BOOL:
		if (json_object_is_type(value, json_type_boolean))
			return 0;
		return call_fail(call, "argument '%s' must be true or false", a->name);
	case ARG_OBJECT:
		if (json_object_is_type(value, json_type_object))
			return 0;
		return call_fail(call, "argument '%s' must be an object", a->name);
	case ARG_TYPE_MAX:
		break;
	}
	return -EINVAL;
}

#define ARGS_MAX 16

static int unknown_argument(struct call *call, const struct arg *args, const char *key)
{
	const char *names[ARGS_MAX], *near;
	size_t n = 0;

	for (const struct arg *a = args; a && a->name && n < ARGS_MAX; a++)
		names[n++] = a->name;
	near = str_nearest(key, names, n);
	if (near)
		return call_fail(call, "unknown argument '%.64s'; did you mean '%s'?",
				 key, near);
	return call_fail(call, "unknown argument '%.64s'", key);
}

static const struct arg *find_arg(const struct arg *args, const char *key)
{
	for (const struct arg *a = args; a && a->name; a++)
		if (strcmp(a->name, key) == 0)
			return a;
	return NULL;
}

static int check_arguments(struct call *call, const struct command *cmd)
{
	int r = 0;

	if (call->arguments) {
		json_object_object_foreach(call->arguments, key, value) {
			const struct arg *a = find_arg(cmd->args, key);

			r = a ? check_value(call, a, value) :
				unknown_argument(call, cmd->args, key);
			if (r < 0)
				return r;
		}
	}
	for (const struct arg *a = cmd->args; a && a->name; a++)
		if (a->required && !call_has(call, a->name))
			return call_fail(call, "argument '%s' is missing", a->name);
	return 0;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < commands_count; i++)
		if (strcmp(commands_table[i].name, name) == 0)
			return &commands_table[i];
	return NULL;
}

static void unknown_command(struct client *cl, const struct request *r)
{
	const char *names[ARRAY_SIZE(commands_table)], *near;
	char desc[REQUEST_DESC_BYTES];

	for (size_t i = 0; i < commands_count; i++)
		names[i] = commands_table[i].name;
	near = str_nearest(r->execute, names, commands_count);
	if (near)
		(void)snprintf(desc, sizeof(desc),
			       "unknown command '%.64s'; did you mean '%s'?", r->execute,
			       near);
	else
		(void)snprintf(desc, sizeof(desc), "unknown command '%.64s'", r->execute);
	client_error(cl, r, "CommandNotFound", desc, NULL);
}

void commands_run(struct client *cl, struct request *r)
{
	const struct command *cmd = find_command(r->execute);
	struct call call = {
		.control = cl->control,
		.client = cl,
		.arguments = r->arguments,
	};
	int err;

	if (!cmd) {
		unknown_command(cl, r);
		return;
	}
	err = check_arguments(&call, cmd);
	if (err == 0)
		err = cmd->fn(&call);
	if (err == 0)
		client_answer(cl, r, call.result);
	else if (err == CALL_LATER)
		deferred_keep(cl, r);
	else
		client_error(cl, r, "GenericError", call.desc, call.data);
	json_object_put(call.result);
	json_object_put(call.data);
}
