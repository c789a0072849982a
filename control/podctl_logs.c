// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_logs.c - podctl's commands about output and events.
 *
 * Owns: nothing. Called by: podctl.c. Following subscribes first and takes the tail
 * second; the tail says which record comes next, so no line is missed or shown twice.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "base/time.h"
#include "config/pod_spec.h"
#include "control/podctl.h"

/* Whose lines are shown. */
struct source {
	struct json_object *pod; /* {"namespace","name"} */
	size_t n;
	struct {
		char name[64];
		int64_t next_seq; /* records before it were in the tail */
	} members[POD_SPEC_MEMBERS];
	char open_line[64]; /* member whose last piece had no newline, "" = none */
};

/* ---- lines
 * ------------------------------------------------------------------------------ */

static void close_line(struct source *s)
{
	if (s->open_line[0])
		(void)putchar('\n');
	s->open_line[0] = '\0';
}

static void put_log_line(struct podctl *p, struct source *s, const char *member,
			 const char *time, struct json_object *text, bool partial)
{
	bool goes_on = s->open_line[0] && strcmp(s->open_line, member) == 0;

	if (!goes_on) {
		close_line(s);
		if (p->timestamps)
			(void)printf("%s ", time);
		if (s->n > 1)
			(void)printf("[%s] ", member);
	}
	put_text(json_object_get_string(text), (size_t)json_object_get_string_len(text));
	s->open_line[0] = '\0';
	if (partial)
		(void)snprintf(s->open_line, sizeof(s->open_line), "%s", member);
	else
		(void)putchar('\n');
}

static int by_time(const void *a, const void *b)
{
	struct json_object *const *x = a, *const *y = b;

	return strcmp(get_string(*x, "time", ""), get_string(*y, "time", ""));
}

static void put_tails(struct podctl *p, struct source *s, struct json_object *lines)
{
	/* RFC 3339 in UTC with equal digits sorts as text; merge keeps each member's
	 * order because its own stamps never fall. */
	if (s->n > 1)
		json_object_array_sort(lines, by_time);
	for (size_t i = 0; i < list_len(lines); i++) {
		struct json_object *line = json_object_array_get_idx(lines, i);

		put_log_line(p, s, get_string(line, "member", ""),
			     get_string(line, "time", ""), get(line, "text"),
			     json_object_get_boolean(get(line, "partial")));
	}
}

/* Adds a member's tail to lines (with -o json: prints it). */
static int take_tail(struct podctl *p, struct source *s, size_t which, int64_t attempt,
		     struct json_object *lines)
{
	struct json_object *args = json_object_new_object(), *result = NULL, *list, *line;
	const char *member = s->members[which].name;
	int r;

	(void)json_object_object_add(args, "namespace",
				     json_object_get(get(s->pod, "namespace")));
	(void)json_object_object_add(args, "name", json_object_get(get(s->pod, "name")));
	(void)json_object_object_add(args, "member", json_object_new_string(member));
	if (p->lines >= 0)
		(void)json_object_object_add(args, "lines",
					     json_object_new_int64(p->lines));
	if (attempt >= 0)
		(void)json_object_object_add(args, "attempt",
					     json_object_new_int64(attempt));
	r = conn_call(p, "logs", args, &result);
	s->members[which].next_seq = get_int(result, "nextSeq", 0);
	list = get(result, "lines");
	if (r == 0 && p->json)
		put_json(result);
	for (size_t i = 0; r == 0 && i < list_len(list); i++) {
		line = json_object_array_get_idx(list, i);
		if (!json_object_is_type(line, json_type_object))
			continue;
		(void)json_object_get(line);
		(void)json_object_object_add(line, "member",
					     json_object_new_string(member));
		(void)json_object_array_add(lines, line);
	}
	json_object_put(result);
	return r;
}

/* ---- whose
 * ------------------------------------------------------------------------------ */

static void add_member(struct source *s, const char *name)
{
	if (s->n == ARRAY_SIZE(s->members))
		return; /* a pod cannot have more */
	(void)snprintf(s->members[s->n].name, sizeof(s->members[0].name), "%s", name);
	s->n++;
}

static void add_members(struct source *s, struct json_object *list)
{
	for (size_t i = 0; i < list_len(list); i++)
		add_member(s, get_string(json_object_array_get_idx(list, i), "name", ""));
}

/* The number at the end of ".../MEMBER/ATTEMPT"; -1 when it never ran. */
static int64_t attempt_of(struct json_object *status, const char *member)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		struct json_object *list = get(status, lists[k]), *m;

		for (size_t i = 0; i < list_len(list); i++) {
			const char *id, *slash;

			m = json_object_array_get_idx(list, i);
			if (strcmp(get_string(m, "name", ""), member) != 0)
				continue;
			id = get_string(m, "containerID", "");
			slash = strrchr(id, '/');
			return slash ? strtoll(slash + 1, NULL, 10) : -1;
		}
	}
	return -1;
}

static bool has_pod(struct json_object *list, const char *name)
{
	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *pod = json_object_array_get_idx(list, i);

		if (strcmp(get_string(pod, "namespace", ""), "default") == 0 &&
		    strcmp(get_string(pod, "name", ""), name) == 0)
			return true;
	}
	return false;
}

/* "A/B" is pod A's member B when the namespace "default" has a pod A, else pod B in the
 * namespace A. Cuts the member off spec. */
static int split_member(struct podctl *p, char *spec, const char **ret_member)
{
	char *slash = strrchr(spec, '/');
	struct json_object *list = NULL;
	bool member;
	int r;

	*ret_member = NULL;
	if (p->n_args > 1) {
		*ret_member = p->args[1];
		return 0;
	}
	if (!slash)
		return 0;
	member = strchr(spec, '/') != slash;
	if (!member) {
		r = conn_call(p, "pod-list", NULL, &list);
		if (r)
			return r;
		*slash = '\0';
		member = has_pod(list, spec);
		*slash = '/';
		json_object_put(list);
	}
	if (member) {
		*slash = '\0';
		*ret_member = slash + 1;
	}
	return 0;
}

static int open_source(struct podctl *p, struct source *s,
		       struct json_object **ret_status)
{
	const char *member;
	struct json_object *pod = NULL;
	int r = split_member(p, p->args[0], &member);

	if (r)
		return r;
	s->pod = pod_arguments(p->args[0]);
	if (!s->pod)
		return PODCTL_USAGE;
	r = conn_call(p, "pod-status", json_object_get(s->pod), &pod);
	if (r)
		return r;
	*ret_status = json_object_get(get(pod, "status"));
	json_object_put(pod);
	if (member) {
		add_member(s, member);
	} else {
		add_members(s, get(*ret_status, "initContainerStatuses"));
		add_members(s, get(*ret_status, "containerStatuses"));
	}
	return 0;
}

/* The attempt before the latest; *ret_earlier is set when there was one. */
static int take_previous(struct podctl *p, struct source *s, size_t which,
			 struct json_object *status, struct json_object *lines,
			 bool *ret_earlier)
{
	const char *member = s->members[which].name;
	int64_t attempt = attempt_of(status, member) - 1;
	size_t before = list_len(lines);
	int r;

	if (attempt < 0)
		return 0;
	*ret_earlier = true;
	r = take_tail(p, s, which, attempt, lines);
	if (r == 0 && p->lines != 0 && list_len(lines) == before)
		(void)say(0,
			  "%s: nothing is held of attempt %" PRId64 ": it wrote "
			  "nothing, or newer output took the place",
			  member, attempt);
	return r;
}

/* ---- following
 * -------------------------------------------------------------------------- */

static int subscribe_to_logs(struct podctl *p)
{
	struct json_object *args = json_object_new_object(), *result = NULL;
	struct json_object *topics = json_object_new_array();
	int r;

	(void)json_object_array_add(topics, json_object_new_string("log"));
	(void)json_object_array_add(topics, json_object_new_string("pod"));
	(void)json_object_object_add(args, "events", topics);
	(void)json_object_object_add(args, "replay", json_object_new_boolean(0));
	r = conn_call(p, "subscribe", args, &result);
	json_object_put(result);
	return r;
}

static void put_log_event(struct podctl *p, struct source *s, struct json_object *event)
{
	struct json_object *data = get(event, "data");
	const char *member = get_string(data, "member", "");
	char when[TIME_TEXT_SIZE];

	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->members[i].name, member) != 0)
			continue;
		if (get_int(event, "seq", 0) < s->members[i].next_seq)
			return;
		event_time(event, when);
		if (p->json)
			put_compact(event);
		else
			put_log_line(p, s, member, when, get(data, "line"),
				     json_object_get_boolean(get(data, "partial")));
	}
}

static int last_seq(struct podctl *p, struct source *s, int64_t *ret)
{
	struct json_object *none = json_object_new_array();
	int64_t lines = p->lines, before = s->n ? s->members[0].next_seq : 0;
	int r = 0;

	*ret = 0;
	p->lines = 0;
	if (s->n && !p->json)
		r = take_tail(p, s, 0, -1, none);
	if (r == 0 && s->n) {
		*ret = s->members[0].next_seq;
		s->members[0].next_seq = before;
	}
	p->lines = lines;
	json_object_put(none);
	return r;
}

static bool is_end(struct json_object *event, struct source *s)
{
	const char *name = get_string(event, "event", "");
	const char *phase = get_string(get(event, "data"), "phase", "");

	if (!event_is_of(event, s->pod))
		return false;
	return strcmp(name, "POD_DELETED") == 0 || strcmp(phase, "Succeeded") == 0 ||
	       strcmp(phase, "Failed") == 0;
}

/* Events overtake log records, so after the pod's end its last lines are still to come:
 * up to the record that was the newest then. */
static int follow(struct podctl *p, struct source *s)
{
	int64_t end_seq = INT64_MAX, seen = 0, deadline_ns = TIME_NEVER;
	struct json_object *event = NULL;
	int r = 0;

	while (r == 0 && seen + 1 < end_seq) {
		(void)fflush(stdout);
		r = conn_event(p, deadline_ns, &event);
		if (r == PODCTL_TIMEOUT)
			(void)say(r, "the last lines did not come in time");
		if (r)
			break;
		if (strcmp(get_string(event, "event", ""), "LOST") == 0) {
			say_lost(event);
		} else if (strcmp(get_string(event, "event", ""), "LOG") == 0) {
			seen = get_int(event, "seq", 0);
			if (event_is_of(event, s->pod))
				put_log_event(p, s, event);
		} else if (is_end(event, s) && end_seq == INT64_MAX) {
			r = last_seq(p, s, &end_seq);
			/* A deleted pod has no log to ask. */
			if (r == PODCTL_FAILED)
				r = end_seq = 0;
			seen = MAX(seen, s->n ? s->members[0].next_seq - 1 : 0);
			deadline_ns = conn_deadline(p);
		}
		json_object_put(event);
	}
	return r;
}

int podctl_logs(struct podctl *p)
{
	struct source *s = calloc(1, sizeof(*s));
	struct json_object *status = NULL, *lines = json_object_new_array();
	const char *phase;
	bool earlier = false; /* some member was started before */
	int r = p->follow ? subscribe_to_logs(p) : 0;

	if (r == 0)
		r = open_source(p, s, &status);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		if (p->previous)
			r = take_previous(p, s, i, status, lines, &earlier);
		else
			r = take_tail(p, s, i, -1, lines);
	}
	if (r == 0 && !p->json)
		put_tails(p, s, lines);
	if (r == 0 && p->previous && !earlier)
		r = say(PODCTL_FAILED, "there was no earlier attempt");
	phase = get_string(status, "phase", "");
	if (r == 0 && p->follow && strcmp(phase, "Succeeded") && strcmp(phase, "Failed"))
		r = follow(p, s);
	close_line(s);
	json_object_put(s->pod);
	json_object_put(status);
	json_object_put(lines);
	free(s);
	return r;
}

/* ---- events
 * ------------------------------------------------------------------------------ */

int podctl_log(struct podctl *p)
{
	struct json_object *result = NULL, *lines;
	int r = conn_call(p, "podinit-log", NULL, &result);

	lines = get(result, "lines");
	if (r == 0 && p->json) {
		put_json(result);
	} else if (r == 0 && lines) {
		for (size_t i = 0; i < list_len(lines); i++) {
			const char *s = json_object_get_string(
				json_object_array_get_idx(lines, i));

			put_text(s, strlen(s));
			(void)putchar('\n');
		}
	}
	json_object_put(result);
	return r;
}
