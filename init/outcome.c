// SPDX-License-Identifier: Apache-2.0
/*
 * outcome.c - see outcome.h.
 */
#include "init/outcome.h"

#include <json-c/json.h>
#include <stdio.h>

#include "init/end.h"

static const char *const kind_names[OUTCOME_KIND_MAX] = {
	[OUTCOME_SUCCEEDED] = "succeeded",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_SHUTDOWN] = "shutdown",
	[OUTCOME_BOOT_FAILED] = "boot-failed",
};

#define HEAD_FORMAT \
	OUTCOME_PREFIX "{\"outcome\":\"%s\",\"exitCode\":%d,\"action\":\"%s\","

struct outcome outcome_of(bool boot_failed, bool all_done, int pods_exit_code,
			  enum machine_end how, bool initial_pid_ns)
{
	struct outcome o = {
		.kind = OUTCOME_SHUTDOWN,
		.exit_code = pods_exit_code,
		.action = initial_pid_ns ? machine_end_name(how) : "exit",
	};

	if (boot_failed) {
		o.kind = OUTCOME_BOOT_FAILED;
		o.exit_code = END_CODE_BOOT_FAILED;
	} else if (all_done) {
		o.kind = pods_exit_code ? OUTCOME_FAILED : OUTCOME_SUCCEEDED;
	}
	return o;
}

char *outcome_line(const struct outcome *o, struct json_object *pods)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text = pods ? json_object_to_json_string_ext(pods, flags) : "[]";
	char *line = NULL;

	if (!text || asprintf(&line, HEAD_FORMAT "\"pods\":%s}", kind_names[o->kind],
			      o->exit_code, o->action, text) < 0)
		return NULL;
	return line;
}

char *outcome_short(const struct outcome *o, char buf[static OUTCOME_SHORT_BYTES])
{
	(void)snprintf(buf, OUTCOME_SHORT_BYTES, HEAD_FORMAT "\"pods\":[]}",
		       kind_names[o->kind], o->exit_code, o->action);
	return buf;
}
