// SPDX-License-Identifier: Apache-2.0
/*
 * commands.h - the commands of the channel: one table, checked arguments, handlers.
 *
 * Owns: nothing. Called by: client.c with one request at a time. A handler sees only
 * arguments that are in its table, of the right type and range.
 */
#ifndef CONTROL_COMMANDS_H
#define CONTROL_COMMANDS_H

#include "base/err.h"
#include "base/util.h"
#include "control/request.h"

struct client;
struct control;
struct json_object;
struct pod;

enum arg_type {
	ARG_STRING,
	ARG_INT,
	ARG_BOOL,
	ARG_OBJECT,
	ARG_STRINGS, /* array of strings */
	ARG_SIGNAL,  /* name or number */
	ARG_TYPE_MAX
};

struct arg {
	const char *name;
	enum arg_type type;
	bool required;
	int64_t min, max; /* ARG_INT */
	const char *help;
};

struct call {
	struct control *control;
	struct client *client;
	struct json_object *arguments; /* borrowed, NULL = none */
	struct json_object *result;    /* made by the handler; NULL = {} */
	char desc[REQUEST_DESC_BYTES];
	struct json_object *data; /* detail of an error, or NULL */
};

/* 0, what call_fail() returned, or CALL_LATER of deferred.h. */
typedef int (*command_fn)(struct call *call);

struct command {
	const char *name;
	command_fn fn;
	const struct arg *args; /* ended by a NULL name; NULL = none */
	const char *help;
};

/* Runs one request and queues its answer, or keeps the request for a later one. */
void commands_run(struct client *cl, struct request *r);

extern const struct command commands_table[];
extern const size_t commands_count;

/* For handlers: the sentence of the error answer; returns -EINVAL. */
int call_fail(struct call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool call_has(const struct call *call, const char *name);
const char *call_string(const struct call *call, const char *name, const char *absent);
int64_t call_int(const struct call *call, const char *name, int64_t absent);
bool call_bool(const struct call *call, const char *name, bool absent);
struct json_object *call_get(const struct call *call, const char *name);
/* The pod that "namespace" and "name" say, or NULL after call_fail(). */
struct pod *call_pod(struct call *call);

/* Members of a result; false when memory is out (the value is freed then). */
bool call_put(struct json_object *obj, const char *key, struct json_object *value);
bool call_put_string(struct json_object *obj, const char *key, const char *value);
bool call_put_int(struct json_object *obj, const char *key, int64_t value);
int call_no_memory(struct call *call);

/* Handlers. commands_manifest.c */
int command_pod_create(struct call *call);
int command_object_list(struct call *call);
int command_object_delete(struct call *call);
/* commands_pod.c */
int command_pod_list(struct call *call);
int command_pod_status(struct call *call);
int command_pod_stop(struct call *call);
int command_pod_delete(struct call *call);
int command_member_kill(struct call *call);
int command_pod_net(struct call *call);
/* commands_log.c */
int command_logs(struct call *call);
int command_events(struct call *call);
int command_subscribe(struct call *call);
int command_unsubscribe(struct call *call);
int command_podinit_log(struct call *call);
/* commands_machine.c */
int command_qmp_capabilities(struct call *call);
int command_query_commands(struct call *call);
int command_info(struct call *call);
int command_boot(struct call *call);
int command_shutdown(struct call *call);

#endif
