// SPDX-License-Identifier: Apache-2.0
/*
 * commands_pod.c - commands about pods and members.
 *
 * Owns: nothing; translates between the channel and pod/pods.h. Called by: commands.c.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "base/log.h"
#include "config/signal_name.h"
#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"
#include "pod/pods.h"

int command_pod_list(struct call *call)
{
	const char *namespace = call_string(call, "namespace", NULL);
	struct json_object *all = pods_list_json(call->control->pods), *item, *name;

	if (!all)
		return call_no_memory(call);
	for (size_t i = json_object_array_length(all); namespace && i-- > 0;) {
		item = json_object_array_get_idx(all, i);
		if (json_object_object_get_ex(item, "namespace", &name) &&
		    strcmp(json_object_get_string(name), namespace) != 0)
			(void)json_object_array_del_idx(all, i, 1); /* i is in range */
	}
	call->result = all;
	return 0;
}

int command_pod_status(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	call->result = pod_json(pod);
	return call->result ? 0 : call_no_memory(call);
}

int command_pod_net(struct call *call)
{
	struct pod *pod = NULL;

	if (call_has(call, "name")) {
		pod = call_pod(call);
		if (!pod)
			return -ENOENT;
	}
	return deferred_net(call, call_string(call, "namespace", NULL), pod);
}

/* -1 = the pod's own. */
static int64_t grace_ms(const struct call *call)
{
	int64_t seconds = call_int(call, "graceSeconds", -1);

	return seconds < 0 ? -1 : seconds * 1000;
}

/* Who changed something, and what: one line for each request that was carried out. The
 * names are those of a pod, which were checked when it was made. */
static void log_change(const struct call *call, const char *what)
{
	log_info("control: %s: %s %s/%s", call->client->name, what,
		 call_string(call, "namespace", "default"),
		 call_string(call, "name", ""));
}

int command_pod_stop(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	log_change(call, "stop");
	pod_stop(pod, grace_ms(call));
	return 0;
}

int command_pod_delete(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	log_change(call, "delete");
	pod_delete(pod, grace_ms(call));
	return 0;
}

static int signal_of(const struct call *call)
{
	struct json_object *value = call_get(call, "signal");

	if (!value)
		return signal_parse("TERM");
	if (json_object_is_type(value, json_type_int))
		return json_object_get_int(value);
	return signal_parse(json_object_get_string(value));
}

int command_member_kill(struct call *call)
{
	struct pod *pod = call_pod(call);
	const char *member = call_string(call, "member", "");
	int sig = signal_of(call), r;

	if (!pod)
		return -ENOENT;
	r = member_kill(pod, member, sig);
	if (r == 0)
		log_info("control: %s: signal %s to %s/%s/%s", call->client->name,
			 signal_name(sig), call_string(call, "namespace", "default"),
			 call_string(call, "name", ""), member);
	if (r == -ENOENT)
		return call_fail(call, "the pod has no member '%.63s'", member);
	if (r == -ESRCH)
		return call_fail(call, "member '%.63s' is not running", member);
	if (r < 0)
		return call_fail(call, "%s to '%.63s': %s", signal_name(sig), member,
				 strerror(-r));
	return 0;
}
