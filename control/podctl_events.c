// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_events.c - `podctl events`: what happened, and what happens.
 *
 * Owns: nothing. Called by: podctl.c. Following subscribes first and lists second; the
 * numbers say which record comes next, so none is missed or shown twice.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>
#include "base/time.h"
#include "config/pod_spec.h"
#include "control/podctl.h"

#define COMPACT (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

void event_time(struct json_object *event, char text[static TIME_TEXT_SIZE])
{
	struct json_object *t = get(event, "timestamp");

	time_text_nano(get_int(t, "seconds", 0) * NSEC_PER_SEC +
			       get_int(t, "microseconds", 0) * 1000,
		       text);
}

void put_compact(struct json_object *value)
{
	(void)printf("%s\n", json_object_to_json_string_ext(value, COMPACT));
}

void say_lost(struct json_object *event)
{
	struct json_object *data = get(event, "data");

	(void)say(0, "%" PRId64 " records of type %s were lost",
		  get_int(data, "count", 0), get_string(data, "of", "?"));
}

/* The number that the next log record would have had when the pod had ended. */
/* What the line does not have already. */
static bool tells_more(const char *key, const char *text, const char *when)
{
	if (strcmp(key, "signal") == 0)
		return strcmp(text, "0") != 0;
	if (strcmp(key, "finishedAt") == 0)
		return strncmp(text, when, strlen("2026-12-01T00:00:00")) != 0;
	return strcmp(key, "namespace") != 0 && strcmp(key, "pod") != 0 &&
	       strcmp(key, "member") != 0 && strcmp(key, "uid") != 0;
}

static void put_event(struct podctl *p, struct json_object *event)
{
	struct json_object *data = get(event, "data");
	const char *member = get_string(data, "member", NULL);
	char when[TIME_TEXT_SIZE];

	if (p->json) {
		put_compact(event);
		return;
	}
	event_time(event, when);
	(void)printf("%.19sZ  %-6" PRId64 " %-15s ", when, get_int(event, "seq", 0),
		     get_string(event, "event", "?"));
	if (get(data, "pod"))
		(void)printf("%s/%s%s%s", get_string(data, "namespace", ""),
			     get_string(data, "pod", ""), member ? "/" : "",
			     member ? member : "");
	if (json_object_is_type(data, json_type_object)) {
		json_object_object_foreach(data, key, value) {
			const char *text = json_object_get_string(value);

			if (text && text[0] && tells_more(key, text, when)) {
				(void)printf("  %s=", key);
				put_text(text, strlen(text));
			}
		}
	}
	(void)putchar('\n');
}

static void put_events_title(struct podctl *p)
{
	if (!p->json)
		(void)printf("%-20s  %-6s %-15s %s\n", "TIME", "SEQ", "EVENT", "OBJECT");
}

static int follow_events(struct podctl *p)
{
	struct json_object *args = json_object_new_object(), *result = NULL,
			   *event = NULL;
	int r;

	if (p->since >= 0)
		(void)json_object_object_add(args, "since",
					     json_object_new_int64(p->since));
	r = conn_call(p, "subscribe", args, &result);
	json_object_put(result);
	if (r == 0)
		put_events_title(p);
	while (r == 0) {
		(void)fflush(stdout);
		r = conn_event(p, TIME_NEVER, &event);
		if (r)
			break;
		put_event(p, event);
		json_object_put(event);
	}
	return r;
}

int podctl_events(struct podctl *p)
{
	int64_t since = MAX(p->since, 0), lost;
	bool titled = false;
	size_t n = 1;
	int r = 0;

	if (p->follow)
		return follow_events(p);
	while (r == 0 && n) {
		struct json_object *args = json_object_new_object(), *result = NULL,
				   *list;

		(void)json_object_object_add(args, "since", json_object_new_int64(since));
		(void)json_object_object_add(args, "max", json_object_new_int64(1000));
		r = conn_call(p, "events", args, &result);
		if (r == 0 && !titled)
			put_events_title(p);
		titled = true;
		list = get(result, "events");
		n = list_len(list);
		for (size_t i = 0; i < n; i++)
			put_event(p, json_object_array_get_idx(list, i));
		lost = get_int(result, "lost", 0);
		if (lost)
			(void)say(0, "%" PRId64 " events were lost", lost);
		since = get_int(result, "nextSeq", 0);
		json_object_put(result);
	}
	return r;
}
