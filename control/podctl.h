// SPDX-License-Identifier: Apache-2.0
/*
 * podctl.h - what the files of podctl share.
 *
 * podctl is the client of the channel: one command a run, data on stdout, words about
 * what went wrong on stderr, the outcome as exit code. It waits, but never without a
 * deadline unless it was told to follow something.
 */
#ifndef CONTROL_PODCTL_H
#define CONTROL_PODCTL_H

#include <stdio.h>

#include "base/time.h"
#include "base/buf.h"

struct json_object;

enum podctl_exit {
	PODCTL_OK = 0,
	PODCTL_FAILED = 1, /* the answer is an error; a file is not valid */
	PODCTL_USAGE = 2,
	PODCTL_CONNECT = 3, /* cannot connect, or the connection was lost */
	PODCTL_TIMEOUT = 4
};

#define PODCTL_SOCKET     "/run/podinit/control.sock"
#define PODCTL_VSOCK_PORT 1024
#define PODCTL_TIMEOUT_MS 10000

/* One connection. Private to podctl_conn.c. */
struct conn {
	int fd;
	bool tty;
	struct buf in;
	size_t scanned;             /* bytes of in that hold no newline */
	struct json_object *events; /* array: came while an answer was waited for */
	size_t next_event;
	unsigned int calls;
	bool quiet;   /* the end of the deadline is not an error of the connection */
	bool greeted; /* a socket of podinit itself; a port says nothing by itself */
	bool sent;    /* the last request has left */
	bool ends;    /* the request ends the machine: a loss after it is no error */
	bool gone;    /* lost like that; nothing was said */
};

/* The command line. Numbers are -1 when not given. */
struct podctl {
	const char *address;
	bool json, follow, previous, timestamps, wait, machine;
	int64_t grace_s, lines, since, timeout_s;
	const char *until;     /* --for */
	const char *namespace; /* of list, net, objects; NULL = all */
	char **args;
	int n_args;
	struct conn conn;
};

/* ---- podctl_conn.c --------------------------------------------------------------------
 */

/* 0 or an exit code after having said why. Does nothing when it is open already. */
int conn_open(struct podctl *p);
void conn_close(struct podctl *p);

/* Sends the command, waits for its answer. arguments (taken) may be NULL. 0 and *ret
 * (owned by the caller), or an exit code after having said why. */
int conn_call(struct podctl *p, const char *command, struct json_object *arguments,
	      struct json_object **ret);
/* Sends text as it is (a whole request) and gives the first answer, errors included. */
int conn_raw(struct podctl *p, const char *text, struct json_object **ret);
/* The next event, at most until deadline_ns (TIME_NEVER = for ever). PODCTL_TIMEOUT
 * without a word. */
int conn_event(struct podctl *p, int64_t deadline_ns, struct json_object **ret);
/* When an answer that is asked for now must be there. */
int64_t conn_deadline(const struct podctl *p);

/* ---- podctl_text.c --------------------------------------------------------------------
 */

int say(int code, const char *fmt, ...) PRINTF_LIKE(2, 3); /* to stderr; returns code */

/* To stdout; on a terminal control characters are shown instead of obeyed. */
void put_text(const char *text, size_t len);
void put_json(struct json_object *value);

#define TABLE_COLUMNS 8
struct table {
	size_t columns;
	struct buf cells; /* NUL-terminated texts, row by row */
	size_t width[TABLE_COLUMNS];
};

/* Titles and cells: exactly so many strings as the table has columns. */
void table_begin(struct table *t, size_t columns, const char *const *titles);
void table_row(struct table *t, const char *const *cells);
void table_end(struct table *t); /* prints and frees */

/* "45s", "12m", "3h10m", "5d": the time since an RFC 3339 stamp; "-" without one. */
void text_duration(int64_t seconds, char *buf, size_t size);
void text_age(const char *stamp, char *buf, size_t size);

/* Members of objects, with a default for what is absent. Borrowed. */
struct json_object *get(struct json_object *obj, const char *key);
const char *get_string(struct json_object *obj, const char *key, const char *absent);
int64_t get_int(struct json_object *obj, const char *key, int64_t absent);
size_t list_len(struct json_object *list); /* 0 for what is no array */

/* ---- commands: an exit code each
 * ------------------------------------------------------- */

int podctl_list(struct podctl *p);
int podctl_status(struct podctl *p);
int podctl_create(struct podctl *p);
int podctl_objects(struct podctl *p);
int podctl_delete_object(struct podctl *p); /* KIND NAME */
int podctl_stop(struct podctl *p);
int podctl_delete(struct podctl *p);
int podctl_kill(struct podctl *p);
int podctl_wait(struct podctl *p);
int podctl_logs(struct podctl *p);
int podctl_events(struct podctl *p);
int podctl_log(struct podctl *p);
int podctl_check(struct podctl *p);
int podctl_info(struct podctl *p);
int podctl_net(struct podctl *p);
int podctl_boot(struct podctl *p);
int podctl_shutdown(struct podctl *p);
int podctl_reboot(struct podctl *p);
int podctl_halt(struct podctl *p);

/* {"namespace","name"} out of "[NAMESPACE/]NAME"; NULL after having said what is wrong.
 */
struct json_object *pod_arguments(const char *pod);
/* The same of the first argument, with --grace. */
struct json_object *pod_arguments_with_grace(struct podctl *p);
/* Calls command (args are taken) and prints its result, or in a table's place: done. */
int pod_call(struct podctl *p, const char *command, struct json_object *args,
	     const char *done);
/* Is the event about this pod? */
bool event_is_of(struct json_object *event, struct json_object *pod);
/* A whole file or "-" for stdin; at most max bytes. The length, or -errno. */
ssize_t read_file(const char *path, size_t max, char **ret);

/* podctl_events.c: an event's time as RFC 3339; a value on one line; a LOST event. */
void event_time(struct json_object *event, char text[static TIME_TEXT_SIZE]);
void put_compact(struct json_object *value);
void say_lost(struct json_object *event);

#endif
