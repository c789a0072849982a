// SPDX-License-Identifier: Apache-2.0
/*
 * outcome.h - how it all ended, in one line for the host.
 *
 * "podinit-final: " and a JSON object: {"outcome","exitCode","action","pods"}. A contract
 * with host tools, documented in docs/podinit.8. Called by: shutdown's end, a failed
 * boot.
 */
#ifndef INIT_OUTCOME_H
#define INIT_OUTCOME_H

#include "base/util.h"
#include "config/machine.h"

struct json_object;

#define OUTCOME_PREFIX "podinit-final: "

enum outcome_kind {
	OUTCOME_SUCCEEDED,   /* all pods ended, all succeeded */
	OUTCOME_FAILED,      /* all pods ended, at least one failed */
	OUTCOME_SHUTDOWN,    /* stopped on request before all had ended */
	OUTCOME_BOOT_FAILED, /* no pod was started; exit code 125 */
	OUTCOME_KIND_MAX
};

struct outcome {
	enum outcome_kind kind;
	int exit_code;
	const char *action; /* "power-off", "reboot", "halt", "exit" */
};

/* all_done: the pods had all ended when the shutdown was asked for. */
struct outcome outcome_of(bool boot_failed, bool all_done, int pods_exit_code,
			  enum machine_end how, bool initial_pid_ns);

/* The line without a newline; the caller frees it. pods (borrowed) may be NULL: none.
 * NULL when memory is out: outcome_short() is left then. */
char *outcome_line(const struct outcome *o, struct json_object *pods);

/* The same with "pods":[] into fixed memory. Returns buf. */
#define OUTCOME_SHORT_BYTES 160
char *outcome_short(const struct outcome *o, char buf[static OUTCOME_SHORT_BYTES]);

#endif
