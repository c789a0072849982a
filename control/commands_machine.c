// SPDX-License-Identifier: Apache-2.0
/*
 * commands_machine.c - commands about the machine and the channel itself.
 *
 * Owns: nothing. Called by: commands.c. What control cannot know comes from the hooks.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/time.h"
#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"
#include "pod/pods.h"

int command_qmp_capabilities(struct call *call)
{
	(void)call;
	return 0;
}

/* ---- query-commands -----------------------------------------------------------------
 */

static const char *const type_names[ARG_TYPE_MAX] = {
	[ARG_STRING] = "string", [ARG_INT] = "integer",      [ARG_BOOL] = "boolean",
	[ARG_OBJECT] = "object", [ARG_STRINGS] = "string[]", [ARG_SIGNAL] = "signal",
};

static struct json_object *argument_json(const struct arg *a)
{
	struct json_object *obj = json_object_new_object();

	if (obj && call_put_string(obj, "name", a->name) &&
	    call_put_string(obj, "type", type_names[a->type]) &&
	    call_put(obj, "required", json_object_new_boolean(a->required)) &&
	    call_put_string(obj, "help", a->help))
		return obj;
	json_object_put(obj);
	return NULL;
}

static struct json_object *command_json(const struct command *cmd)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *args = json_object_new_array(), *item;
	bool ok = obj && call_put_string(obj, "name", cmd->name) &&
		  call_put_string(obj, "help", cmd->help);

	for (const struct arg *a = cmd->args; ok && args && a && a->name; a++) {
		item = argument_json(a);
		ok = item && json_object_array_add(args, item) == 0;
		if (!ok)
			json_object_put(item);
	}
	if (ok && call_put(obj, "arguments", json_object_get(args))) {
		json_object_put(args);
		return obj;
	}
	json_object_put(args);
	json_object_put(obj);
	return NULL;
}

int command_query_commands(struct call *call)
{
	call->result = json_object_new_array();
	for (size_t i = 0; call->result && i < commands_count; i++) {
		struct json_object *item = command_json(&commands_table[i]);

		if (!item || json_object_array_add(call->result, item) < 0) {
			json_object_put(item);
			return call_no_memory(call);
		}
	}
	return call->result ? 0 : call_no_memory(call);
}

/* ---- podinit-info -------------------------------------------------------------------
 */

static bool put_loop(struct json_object *info, struct loop *loop)
{
	struct json_object *obj = json_object_new_object();
	struct loop_stats stats;

	loop_get_stats(loop, &stats);
	return call_put(info, "loop", obj) &&
	       call_put_int(obj, "wakeups", (int64_t)stats.wakeups) &&
	       call_put_int(obj, "callbacks", (int64_t)stats.callbacks) &&
	       call_put_int(obj, "longestCallbackUs", stats.longest_ns / 1000) &&
	       call_put_int(obj, "timersArmed", (int64_t)stats.timers_armed);
}

static bool put_channel(struct json_object *info, const struct control *c)
{
	struct json_object *obj = json_object_new_object();

	return call_put(info, "control", obj) &&
	       call_put_int(obj, "clients", (int64_t)c->n_sockets) &&
	       call_put_int(obj, "accepted", (int64_t)c->accepted) &&
	       call_put_int(obj, "refused", (int64_t)c->refused) &&
	       call_put_int(obj, "dropped", (int64_t)c->dropped) &&
	       call_put_int(obj, "requests", (int64_t)c->requests);
}

int command_info(struct call *call)
{
	const struct control *c = call->control;
	struct json_object *info = json_object_new_object();
	struct utsname u;

	call->result = info;
	if (!info || uname(&u) < 0 ||
	    !call_put_string(info, "version", PODINIT_VERSION) ||
	    !call_put_int(info, "pid", getpid()) ||
	    !call_put_string(info, "hostname", u.nodename) ||
	    !call_put_string(info, "kernel", u.release) ||
	    !call_put_string(info, "architecture", u.machine) ||
	    !call_put_int(info, "uptimeMs", time_boot_ns() / NSEC_PER_MSEC) ||
	    !call_put_int(info, "pods", (int64_t)c->pods->count) ||
	    !put_loop(info, c->loop) || !put_channel(info, c))
		return call_no_memory(call);
	if (c->hooks.describe)
		c->hooks.describe(c->hooks.arg, info);
	return 0;
}

/* ---- boot ---------------------------------------------------------------------------
 */

/* What the machine says of its boot is the member "boot" of its facts. */
static struct json_object *boot_stages(const struct control *c)
{
	struct json_object *facts = json_object_new_object(), *stages = NULL;

	if (!facts)
		return NULL;
	if (c->hooks.describe)
		c->hooks.describe(c->hooks.arg, facts);
	if (json_object_object_get_ex(facts, "boot", &stages))
		stages = json_object_get(stages);
	else
		stages = json_object_new_array();
	json_object_put(facts);
	return stages;
}

int command_boot(struct call *call)
{
	call->result = json_object_new_object();
	if (!call->result ||
	    !call_put(call->result, "stages", boot_stages(call->control)) ||
	    !call_put(call->result, "members", pods_timeline_json(call->control->pods)))
		return call_no_memory(call);
	return 0;
}

/* ---- shutdown -----------------------------------------------------------------------
 */

int command_shutdown(struct call *call)
{
	const char *mode = call_string(call, "mode", "power-off");
	int64_t grace = call_int(call, "graceSeconds", -1);
	int how = machine_end_parse(mode);
	struct client *cl = call->client;

	if (how < 0 || how == END_STAY)
		return call_fail(
			call, "argument 'mode' is power-off, reboot or halt, not '%.64s'",
			mode);
	call->result = json_object_new_object();
	if (!call->result || !call_put_string(call->result, "mode", mode))
		return call_no_memory(call);
	/* After the answer: the client may be a process that the shutdown ends. */
	cl->shutdown_asked = true;
	cl->shutdown_how = (enum machine_end)how;
	cl->shutdown_grace_ms = grace < 0 ? -1 : grace * 1000;
	return 0;
}
