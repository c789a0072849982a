// SPDX-License-Identifier: Apache-2.0
/*
 * commands_log.c - commands about what was said and what happened.
 *
 * Owns: nothing. Called by: commands.c. The journals and tails belong to pod/, podinit's
 * own ring to base/log.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"
#include "pod/event.h"
#include "pod/pods.h"

#define LINES_DEFAULT  100
#define EVENTS_DEFAULT 100

/* ---- logs -------------------------------------------------------------------------- */

static struct json_object *at(struct json_object *obj, const char *key)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(obj, key, &value);
	return value;
}

/* Adds the names of one of the status' lists; the last is left in name. */
static size_t collect_names(struct json_object *list, char *names, size_t size,
			    char *name, size_t name_size)
{
	size_t n = list ? json_object_array_length(list) : 0, used;

	for (size_t i = 0; i < n; i++) {
		const char *s = json_object_get_string(
			at(json_object_array_get_idx(list, i), "name"));

		used = strlen(names);
		(void)snprintf(names + used, size - used, "%s%s", used ? ", " : "",
			       s ? s : "?");
		(void)snprintf(name, name_size, "%s", s ? s : "");
	}
	return n;
}

/* The only member's name. -EINVAL with the names to choose from. */
static int only_member(struct call *call, struct pod *pod, char *name, size_t size)
{
	struct json_object *json = pod_json(pod), *status;
	char names[320] = "";
	size_t n;

	if (!json)
		return call_no_memory(call);
	status = at(json, "status");
	n = collect_names(at(status, "initContainerStatuses"), names, sizeof(names), name,
			  size);
	n += collect_names(at(status, "containerStatuses"), names, sizeof(names), name,
			   size);
	json_object_put(json);
	if (n == 1)
		return 0;
	if (n == 0)
		return call_fail(call, "the pod has no member");
	return call_fail(call, "argument 'member' is missing; the pod has %s", names);
}

int command_logs(struct call *call)
{
	struct pod *pod = call_pod(call);
	const char *member = call_string(call, "member", NULL);
	char only[64];
	int r;

	if (!pod)
		return -ENOENT;
	if (!member) {
		r = only_member(call, pod, only, sizeof(only));
		if (r < 0)
			return r;
		member = only;
	}
	r = member_log_json(pod, member, (size_t)call_int(call, "lines", LINES_DEFAULT),
			    call_int(call, "attempt", -1), &call->result);
	if (r == -ENOENT)
		return call_fail(call, "the pod has no member '%.63s'", member);
	if (r < 0)
		return call_fail(call, "log of '%.63s': %s", member, strerror(-r));
	/* A subscriber's LOG records from this number on are not in the answer. */
	if (!call_put_string(call->result, "member", member) ||
	    !call_put_int(call->result, "nextSeq",
			  (int64_t)call->control->pods->lines.next_seq))
		return call_no_memory(call);
	return 0;
}

/* ---- events ------------------------------------------------------------------------ */

static struct json_object *body_json(const struct journal_record *rec)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *obj;

	if (!tok)
		return NULL;
	obj = json_tokener_parse_ex(tok, rec->body, (int)rec->body_len);
	json_tokener_free(tok);
	/* A body that was cut is still worth showing. */
	return obj ? obj : json_object_new_string_len(rec->body, (int)rec->body_len);
}

static struct json_object *event_json(const struct journal_record *rec)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *time = json_object_new_object();

	if (call_put_int(time, "seconds", rec->wall_ns / NSEC_PER_SEC) &&
	    call_put_int(time, "microseconds", rec->wall_ns % NSEC_PER_SEC / 1000) &&
	    obj &&
	    call_put_string(obj, "event", pod_event_name((enum pod_event)rec->kind)) &&
	    call_put(obj, "timestamp", json_object_get(time)) &&
	    call_put_int(obj, "seq", (int64_t)rec->seq) &&
	    call_put(obj, "data", body_json(rec))) {
		json_object_put(time);
		return obj;
	}
	json_object_put(time);
	json_object_put(obj);
	return NULL;
}

int command_events(struct call *call)
{
	const struct journal *j = &call->control->pods->events;
	int64_t max = call_int(call, "max", EVENTS_DEFAULT);
	struct json_object *list = json_object_new_array(), *item;
	struct journal_cursor cursor;
	struct journal_record rec;
	uint64_t lost = 0, gap;

	call->result = json_object_new_object();
	if (!call->result || !call_put(call->result, "events", list))
		return call_no_memory(call);
	if (call_has(call, "since"))
		subscription_seek(j, &cursor, (uint64_t)call_int(call, "since", 0));
	else
		/* The newest ones: that is what a person wants to see. */
		journal_seek_seq(
			j, &cursor,
			j->next_seq > (uint64_t)max ? j->next_seq - (uint64_t)max : 1);
	for (int64_t i = 0; i < max && journal_next(j, &cursor, &rec, &gap); i++) {
		lost += gap;
		item = event_json(&rec);
		if (!item || json_object_array_add(list, item) < 0) {
			json_object_put(item);
			return call_no_memory(call);
		}
	}
	if (!call_put_int(call->result, "nextSeq", (int64_t)cursor.seq) ||
	    !call_put_int(call->result, "lost", (int64_t)lost))
		return call_no_memory(call);
	return 0;
}

/* ---- subscriptions ----------------------------------------------------------------- */

static int topics_of(struct call *call, unsigned int *ret)
{
	struct json_object *list = call_get(call, "events");
	unsigned int topics = 0;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *s = json_object_get_string(
			json_object_array_get_idx(list, i));

		if (strcmp(s, "pod") == 0)
			topics |= TOPIC_POD;
		else if (strcmp(s, "member") == 0)
			topics |= TOPIC_MEMBER;
		else if (strcmp(s, "log") == 0)
			topics |= TOPIC_LOG;
		else
			return call_fail(
				call,
				"argument 'events' knows \"pod\", \"member\" and "
				"\"log\", not \"%.64s\"",
				s);
	}
	if (list && !topics)
		return call_fail(call, "argument 'events' is empty");
	*ret = list ? topics : TOPIC_POD | TOPIC_MEMBER;
	return 0;
}

int command_subscribe(struct call *call)
{
	struct client *cl = call->client;
	unsigned int topics = 0;
	int r = topics_of(call, &topics);

	if (r < 0)
		return r;
	call->result = json_object_new_object();
	if (!call->result)
		return call_no_memory(call);
	subscription_start(cl, topics, call_bool(call, "replay", true),
			   call_has(call, "since"), (uint64_t)call_int(call, "since", 0));
	if (!call_put_int(call->result, "eventSeq", (int64_t)cl->events.seq) ||
	    !call_put_int(call->result, "logSeq", (int64_t)cl->lines.seq)) {
		subscription_stop(cl);
		return call_no_memory(call);
	}
	return 0;
}

int command_unsubscribe(struct call *call)
{
	subscription_stop(call->client);
	return 0;
}

/* ---- podinit's own log ------------------------------------------------------------- */

int command_podinit_log(struct call *call)
{
	_cleanup_free_ char *text = malloc(LOG_RING_BYTES);
	struct json_object *lines = json_object_new_array();
	size_t len, begin = 0;

	call->result = json_object_new_object();
	if (!text || !call->result || !call_put(call->result, "lines", lines))
		return call_no_memory(call);
	len = log_ring_read(text, LOG_RING_BYTES);
	while (begin < len) {
		const char *end = memchr(text + begin, '\n', len - begin);
		size_t n = end ? (size_t)(end - text) - begin : len - begin;
		struct json_object *s = json_object_new_string_len(text + begin, (int)n);

		if (!s || json_object_array_add(lines, s) < 0) {
			json_object_put(s);
			return call_no_memory(call);
		}
		begin += n + 1;
	}
	return 0;
}
