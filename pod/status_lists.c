// SPDX-License-Identifier: Apache-2.0
/*
 * status_lists.c - what concerns all pods, in short: the list, the outcome, the first
 * starts; and the last lines of a member.
 *
 * Owns: nothing; every function returns a new reference. Called by: control, init.
 */
#include <errno.h>
#include <string.h>

#include "pod/json_put.h"
#include "pod/member_log.h"
#include "pod/pod.h"

/* What a person looks for first: the reason of the member that is worst off. */
static const char *summary_reason(const struct pod *pod)
{
	if (pod->reason)
		return pod->reason;
	for (size_t i = 0; i < pod->n_members; i++) {
		const struct member *m = &pod->members[i];

		if (m->state == MEMBER_STUCK)
			return "Stuck";
		if (m->state == MEMBER_BACKOFF)
			return m->wait_reason;
		if (m->state == MEMBER_ENDED && m->ran && m->now.exit_code)
			return m->now.reason;
	}
	return NULL;
}

json *pods_list_json(const struct pods *pods)
{
	json *list = json_object_new_array();

	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);
		size_t n_init = pod->spec ? pod->spec->n_init : 0;
		int64_t ready = 0, restarts = 0;
		json *o = json_object_new_object();

		for (size_t i = 0; i < pod->n_members; i++) {
			restarts += pod->members[i].restarts;
			ready += i >= n_init && pod->members[i].state == MEMBER_RUNNING;
		}
		put_string(o, "namespace", pod->namespace);
		put_string(o, "name", pod->name);
		put_string(o, "uid", pod->uid);
		put_string(o, "phase", pod->phase);
		put_string(o, "lifecycle", pod_lifecycle_name(pod));
		put_string(o, "reason", summary_reason(pod));
		put_int(o, "containers", (int64_t)(pod->n_members - n_init));
		put_int(o, "ready", ready);
		put_int(o, "restarts", restarts);
		put_time(o, "startTime", pod->created_wall_ns);
		(void)json_object_array_add(list, o);
	}
	return list;
}

static json *outcome_members(const struct pod *pod)
{
	json *list = json_object_new_array();

	for (size_t i = 0; i < pod->n_members; i++) {
		const struct member *m = &pod->members[i];
		json *o = json_object_new_object();

		put_string(o, "name", m->spec->name);
		if (m->ran && !member_alive(m)) {
			put_int(o, "exitCode", m->now.exit_code);
			put_int(o, "signal",
				m->now.exit.by_signal ? m->now.exit.status : 0);
			put_string(o, "reason", m->now.reason);
		} else {
			put_string(o, "reason",
				   member_alive(m) ? "Running" : m->wait_reason);
		}
		put_int(o, "restartCount", m->restarts);
		(void)json_object_array_add(list, o);
	}
	return list;
}

json *pods_outcome_json(const struct pods *pods)
{
	json *list = json_object_new_array();

	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);
		json *o = json_object_new_object();

		put_string(o, "namespace", pod->namespace);
		put_string(o, "name", pod->name);
		put_string(o, "phase", pod->phase);
		put_string(o, "reason", pod->reason);
		put(o, "members", outcome_members(pod));
		(void)json_object_array_add(list, o);
	}
	return list;
}

int pods_exit_code(const struct pods *pods)
{
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (!strcmp(pod->phase, "Succeeded"))
			continue;
		for (size_t i = 0; i < pod->n_members; i++) {
			const struct member *m = &pod->members[i];

			if (m->ran && !member_alive(m) && m->now.exit_code)
				return m->now.exit_code;
		}
		return 1;
	}
	return 0;
}

json *pods_timeline_json(const struct pods *pods)
{
	json *list = json_object_new_array();

	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		for (size_t i = 0; i < pod->n_members; i++) {
			json *o;

			if (!pod->members[i].first_exec_ns)
				continue;
			o = json_object_new_object();
			put_string(o, "namespace", pod->namespace);
			put_string(o, "pod", pod->name);
			put_string(o, "member", pod->members[i].spec->name);
			put_int(o, "execNs", pod->members[i].first_exec_ns);
			(void)json_object_array_add(list, o);
		}
	}
	return list;
}

/* ---- log lines ---- */

struct line_list {
	json *list;
	int64_t attempt; /* < 0 = all */
};

static void line_add(void *arg, int64_t wall_ns, uint32_t attempt, enum log_stream stream,
		     bool partial, const char *text, size_t len)
{
	struct line_list *to = arg;
	char when[TIME_TEXT_SIZE];
	json *o;

	if (to->attempt >= 0 && to->attempt != (int64_t)attempt)
		return;
	o = json_object_new_object();
	time_text_nano(wall_ns, when);
	put_string(o, "time", when);
	put_string(o, "stream", stream == LOG_STDERR ? "stderr" : "stdout");
	put_bool(o, "partial", partial);
	put(o, "text", json_object_new_string_len(text, (int)len));
	put_int(o, "attempt", attempt);
	(void)json_object_array_add(to->list, o);
}

int member_log_json(struct pod *pod, const char *member, size_t max_lines,
		    int64_t attempt, json **ret)
{
	for (size_t i = 0; i < pod->n_members; i++) {
		struct member *m = &pod->members[i];
		struct line_list lines = { NULL, attempt };
		struct log_stats stats;
		json *o;

		if (strcmp(m->spec->name, member))
			continue;
		o = json_object_new_object();
		lines.list = json_object_new_array();
		member_log_tail(m->log, max_lines, line_add, &lines);
		member_log_stats(m->log, &stats);
		put(o, "lines", lines.list);
		put_int(o, "lostBytes", (int64_t)stats.lost_bytes);
		*ret = o;
		return 0;
	}
	return -ENOENT;
}
