// SPDX-License-Identifier: Apache-2.0
/*
 * control_fake.h - the functions of pod/pods.h as the channel's tests need them, and a
 * channel with a real loop and a real socket around them. Included by one file each.
 */
#ifndef TESTS_UNIT_CONTROL_FAKE_H
#define TESTS_UNIT_CONTROL_FAKE_H

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "base/time.h"
#include "config/pod_spec.h"
#include "control/control.h"
#include "pod/event.h"
#include "pod/member_log.h"
#include "pod/pods.h"

/* ---- pods ---------------------------------------------------------------------------
 */

struct pod {
	char namespace[64], name[254];
	struct pod_spec *spec; /* of pods_create() */
	int stops, deletes;
	int64_t grace_ms;
	char killed[64];
	int signal;
	int two_members;
};

#define FAKE_PODS 8
static struct pod fake_pods[FAKE_PODS];
static size_t fake_n;
static int fake_create_error;
static size_t fake_list_size; /* > 0: pods_list_json() gives so many */
static size_t fake_log_lines;

static __attribute__((unused)) struct pod *fake_add(const char *namespace,
						    const char *name)
{
	struct pod *pod = &fake_pods[fake_n++];

	*pod = (struct pod){ 0 };
	(void)snprintf(pod->namespace, sizeof(pod->namespace), "%s", namespace);
	(void)snprintf(pod->name, sizeof(pod->name), "%s", name);
	return pod;
}

int pods_create(struct pods *pods, struct pod_spec *spec, struct pod **ret, struct err *e)
{
	if (fake_create_error || fake_n == FAKE_PODS)
		return err_set(e, STAGE_CONFIG,
			       fake_create_error ? fake_create_error : ENOSPC, "pod %s",
			       spec->name);
	if (pods_find(pods, spec->namespace, spec->name))
		return err_setx(e, STAGE_CONFIG, EEXIST, "pod %s exists", spec->name);
	*ret = fake_add(spec->namespace, spec->name);
	(*ret)->spec = spec;
	return 0;
}

static char fake_objects[256]; /* "KIND NAMESPACE/NAME; " of each that came or went */
static int fake_object_error;

int pods_apply_object(struct pods *pods, struct object_spec *spec,
		      enum object_change *ret, struct err *e)
{
	size_t len = strlen(fake_objects);

	(void)pods;
	if (fake_object_error)
		return err_setx(e, STAGE_CONFIG, fake_object_error, "it is immutable");
	(void)snprintf(fake_objects + len, sizeof(fake_objects) - len, "%s %s/%s; ",
		       object_kind_name(spec->kind), spec->namespace, spec->name);
	*ret = OBJECT_CONFIGURED;
	object_spec_free(spec);
	return 0;
}

int pods_delete_object(struct pods *pods, enum object_kind kind, const char *namespace,
		       const char *name)
{
	(void)pods;
	if (strcmp(name, "there") != 0)
		return -ENOENT;
	(void)snprintf(fake_objects, sizeof(fake_objects), "deleted %s %s/%s",
		       object_kind_name(kind), namespace, name);
	return 0;
}

struct json_object *pods_objects_json(const struct pods *pods, const char *namespace)
{
	struct json_object *list = json_object_new_array();

	(void)pods;
	(void)json_object_array_add(list,
				    json_object_new_string(namespace ? namespace : "*"));
	return list;
}

struct pod *pods_find(struct pods *pods, const char *namespace, const char *name)
{
	(void)pods;
	for (size_t i = 0; i < fake_n; i++)
		if (strcmp(fake_pods[i].namespace, namespace ? namespace : "default") ==
			    0 &&
		    strcmp(fake_pods[i].name, name) == 0)
			return &fake_pods[i];
	return NULL;
}

void pod_stop(struct pod *pod, int64_t grace_ms)
{
	pod->stops++;
	pod->grace_ms = grace_ms;
}

void pod_delete(struct pod *pod, int64_t grace_ms)
{
	pod->deletes++;
	pod->grace_ms = grace_ms;
}

const char *pod_uid(const struct pod *pod)
{
	(void)pod;
	return "uid-1";
}

int member_kill(struct pod *pod, const char *member, int sig)
{
	if (strcmp(member, "absent") == 0)
		return -ENOENT;
	if (strcmp(member, "ended") == 0)
		return -ESRCH;
	(void)snprintf(pod->killed, sizeof(pod->killed), "%s", member);
	pod->signal = sig;
	return 0;
}

struct json_object *pods_list_json(const struct pods *pods)
{
	struct json_object *list = json_object_new_array();

	(void)pods;
	for (size_t i = 0; i < MAX(fake_n, fake_list_size); i++) {
		const struct pod *pod = &fake_pods[i % FAKE_PODS];
		struct json_object *obj = json_object_new_object();

		json_object_object_add(obj, "namespace",
				       json_object_new_string(pod->namespace));
		json_object_object_add(obj, "name", json_object_new_string(pod->name));
		if (fake_list_size)
			json_object_object_add(obj, "pad",
					       json_object_new_string_len(
						       (const char[1000]){ "x" }, 150));
		json_object_array_add(list, obj);
	}
	return list;
}

struct json_object *pod_json(const struct pod *pod)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},"
		"\"status\":{\"phase\":\"Running\",\"containerStatuses\":["
		"{\"name\":\"main\"}%s]}}",
		pod->name, pod->two_members ? ",{\"name\":\"side\"}" : "");
	return json_tokener_parse(text);
}

struct json_object *pods_timeline_json(const struct pods *pods)
{
	(void)pods;
	return json_tokener_parse("[{\"pod\":\"a\",\"member\":\"main\",\"execNs\":5}]");
}

static struct json_object *fake_line_json(const char *text)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "time",
			       json_object_new_string("2024-01-02T03:04:05.123456789Z"));
	json_object_object_add(o, "text", json_object_new_string(text));
	return o;
}

int member_log_json(struct pod *pod, const char *member, size_t max_lines,
		    int64_t attempt, struct json_object **ret)
{
	struct json_object *lines = json_object_new_array();

	(void)pod;
	(void)attempt;
	if (strcmp(member, "absent") == 0) {
		json_object_put(lines);
		return -ENOENT;
	}
	for (size_t i = 0; i < MIN(max_lines, fake_log_lines); i++)
		json_object_array_add(lines, fake_line_json("bad \xFF byte"));
	*ret = json_object_new_object();
	json_object_object_add(*ret, "lines", lines);
	return 0;
}

/* Answers when the test says so: see fake_net_answer(). */
static struct pods_net_query *fake_net[FAKE_PODS];
static size_t fake_n_net;
static int fake_net_error;
static int fake_net_cancelled;
static char fake_net_of[400];

int pods_net_ask(struct pods *pods, const char *namespace, const struct pod *pod,
		 struct pods_net_query *q)
{
	(void)pods;
	(void)snprintf(fake_net_of, sizeof(fake_net_of), "%s/%s",
		       namespace ? namespace : "", pod ? pod->name : "");
	if (fake_net_error)
		return fake_net_error;
	fake_net[fake_n_net++] = q;
	return 0;
}

void pods_net_cancel(struct pods_net_query *q)
{
	for (size_t i = 0; i < fake_n_net; i++)
		if (fake_net[i] == q) {
			fake_net[i] = fake_net[--fake_n_net];
			fake_net_cancelled++;
		}
}

/* The oldest question; text NULL: an error. */
static __attribute__((unused)) void fake_net_answer(const char *text)
{
	struct pods_net_query *q = fake_net[0];
	struct err e = { .code = ETIMEDOUT, .text = "asking the kernel: timed out" };

	assert_true(fake_n_net > 0);
	fake_n_net--;
	memmove(fake_net, fake_net + 1, fake_n_net * sizeof(fake_net[0]));
	q->done(q, text, text ? strlen(text) : 0, text ? NULL : &e);
}

const char *pod_event_name(enum pod_event event)
{
	static const char *const names[POD_EVENT_MAX] = {
		"POD_CHANGED",   "POD_DELETED",    "MEMBER_STARTED", "MEMBER_FAILED",
		"MEMBER_EXITED", "MEMBER_BACKOFF", "MEMBER_STUCK",
	};

	return names[event];
}

/* ---- the channel --------------------------------------------------------------------
 */

#define FAKE_DEADLINE_MS 60000
#define FAKE_LINE_BYTES  (4u << 20)

struct fake {
	char dir[32], path[64];
	struct loop *loop;
	struct pods pods;
	struct machine machine;
	struct control *control;
	int shutdowns, answered_first;
	enum machine_end how;
	int64_t grace_ms;
	int watch_fd; /* looked at when shutdown is called */
	bool drained;
};

static int fake_shutdown(void *arg, enum machine_end how, int64_t grace_ms)
{
	struct fake *f = arg;
	struct pollfd p = { .fd = f->watch_fd, .events = POLLIN };

	f->shutdowns++;
	f->how = how;
	f->grace_ms = grace_ms;
	f->answered_first = poll(&p, 1, 0) == 1;
	return 0;
}

static __attribute__((unused)) void fake_describe(void *arg, struct json_object *info)
{
	(void)arg;
	json_object_object_add(info, "boot",
			       json_tokener_parse("[{\"stage\":\"mounts\","
						  "\"atNs\":1}]"));
}

static __attribute__((unused)) void fake_drained(void *arg)
{
	struct fake *f = arg;

	f->drained = true;
}

static int fake_setup(void **state)
{
	static struct fake f;
	static const char *no_ports[] = { NULL };
	struct control_hooks hooks = { fake_shutdown, fake_describe, &f };
	struct err e = { 0 };

	memset(&f, 0, sizeof(f));
	memset(fake_pods, 0, sizeof(fake_pods));
	fake_n = fake_list_size = fake_log_lines = 0;
	fake_create_error = fake_net_error = fake_net_cancelled = 0;
	fake_n_net = 0;
	f.watch_fd = -1;
	strcpy(f.dir, "/tmp/control-XXXXXX");
	assert_non_null(mkdtemp(f.dir));
	(void)snprintf(f.path, sizeof(f.path), "%s/run/sock", f.dir);
	f.machine.control_unix = f.path;
	f.machine.control_vsock_port = -1;
	f.machine.control_ports = no_ports;
	assert_int_equal(journal_init(&f.pods.events, 65536), 0);
	assert_int_equal(journal_init(&f.pods.lines, 65536), 0);
	assert_int_equal(loop_init(&f.loop), 0);
	if (control_init(&f.control, f.loop, &f.pods, &f.machine, &hooks, &e) < 0)
		fail_msg("%s", e.text);
	*state = &f;
	return 0;
}

static int fake_teardown(void **state)
{
	struct fake *f = *state;
	char run[64];

	control_free(f->control);
	loop_free(f->loop);
	journal_free(&f->pods.events);
	journal_free(&f->pods.lines);
	for (size_t i = 0; i < fake_n; i++)
		pod_spec_free(fake_pods[i].spec);
	(void)unlink(f->path);
	(void)snprintf(run, sizeof(run), "%s/run", f->dir);
	(void)rmdir(run);
	(void)rmdir(f->dir);
	return 0;
}

static int fake_connect(struct fake *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, f->path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static __attribute__((unused)) void fake_send(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* One line without its newline, turning the loop until it is there. */
static __attribute__((unused)) const char *fake_line(struct fake *f, int fd)
{
	static char line[FAKE_LINE_BYTES];
	int64_t end_ns = time_boot_ns() + FAKE_DEADLINE_MS * NSEC_PER_MSEC;
	size_t len = 0;

	while (time_boot_ns() < end_ns) {
		ssize_t n = recv(fd, line + len, 1, 0);

		if (n == 1 && line[len] == '\n') {
			line[len] = '\0';
			return line;
		}
		if (n == 1 && ++len == sizeof(line) - 1)
			fail_msg("line too long");
		if (n == 0)
			return NULL; /* end of stream */
		if (n < 0)
			assert_true(loop_turn(f->loop, 50) >= 0);
	}
	fail_msg("no answer");
	return NULL;
}

static __attribute__((unused)) int fake_client(struct fake *f)
{
	int fd = fake_connect(f);

	assert_non_null(strstr(fake_line(f, fd), "\"QMP\""));
	return fd;
}

static __attribute__((unused)) void fake_turns(struct fake *f, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(loop_turn(f->loop, 0) >= 0);
}

static __attribute__((unused)) void fake_event(struct fake *f, enum pod_event kind,
					       const char *data)
{
	(void)journal_append(&f->pods.events, kind, 1700000000123456789, NULL, 0, data,
			     strlen(data));
	control_wake(f->control);
}

static __attribute__((unused)) void fake_log(struct fake *f, const char *text, size_t len,
					     unsigned int kind)
{
	static const char names[] = "default\0web\0main"; /* and the last NUL */
	char head[sizeof(struct log_record_head) + sizeof(names)];
	struct log_record_head *h = (struct log_record_head *)head;

	h->attempt = 3;
	h->name_bytes = sizeof(names);
	memcpy(head + sizeof(*h), names, sizeof(names));
	(void)journal_append(&f->pods.lines, kind, 1700000000000000000, head,
			     sizeof(*h) + sizeof(names), text, len);
	control_wake(f->control);
}

#endif
