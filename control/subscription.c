// SPDX-License-Identifier: Apache-2.0
/*
 * subscription.c - a client's place in the journals, and records as lines of JSON.
 *
 * Owns: nothing but the two cursors in struct client. Called by: client.c, the commands.
 * Nothing is queued per client: a slow one falls behind in the ring that all share, and
 * is told with LOST how many records it missed. Events go before log lines, so a flood
 * of output never delays an exit record.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "control/client.h"
#include "control/json_text.h"
#include "control/state.h"
#include "pod/event.h"
#include "pod/member_log.h"
#include "pod/pods.h"

void subscription_seek(const struct journal *j, struct journal_cursor *c, uint64_t since)
{
	/* A cursor at a number that is gone makes journal_next() count what is missed. */
	if (since && since < j->first_seq)
		*c = (struct journal_cursor){ .seq = since };
	else
		journal_seek_seq(j, c, since);
}

void subscription_start(struct client *cl, unsigned int topics, bool replay,
			bool has_since, uint64_t since)
{
	struct pods *pods = cl->control->pods;

	cl->topics = topics;
	if (has_since)
		subscription_seek(&pods->events, &cl->events, since);
	else if (replay)
		journal_seek_start(&pods->events, &cl->events);
	else
		journal_seek_end(&pods->events, &cl->events);
	if (replay && !has_since)
		journal_seek_start(&pods->lines, &cl->lines);
	else
		journal_seek_end(&pods->lines, &cl->lines);
	list_remove(&cl->idle);
}

void subscription_stop(struct client *cl)
{
	cl->topics = 0;
	list_remove(&cl->idle);
}

bool subscription_behind(const struct client *cl)
{
	const struct pods *pods = cl->control->pods;

	if ((cl->topics & (TOPIC_POD | TOPIC_MEMBER)) &&
	    cl->events.seq < pods->events.next_seq)
		return true;
	return (cl->topics & TOPIC_LOG) && cl->lines.seq < pods->lines.next_seq;
}

static int put_head(struct buf *out, const char *event, int64_t wall_ns)
{
	return buf_printf(out,
			  "{\"event\":\"%s\",\"timestamp\":{\"seconds\":%lld,"
			  "\"microseconds\":%lld},",
			  event, (long long)(wall_ns / NSEC_PER_SEC),
			  (long long)(wall_ns % NSEC_PER_SEC / 1000));
}

static int put_lost(struct buf *out, const char *of, uint64_t count)
{
	int r = put_head(out, "LOST", time_wall_ns());

	if (r < 0)
		return r;
	return buf_printf(out, "\"data\":{\"count\":%llu,\"of\":\"%s\"}}\n",
			  (unsigned long long)count, of);
}

static int put_event(struct buf *out, const struct journal_record *rec)
{
	int r = put_head(out, pod_event_name((enum pod_event)rec->kind), rec->wall_ns);

	if (r == 0)
		r = buf_printf(out,
			       "\"seq\":%llu,\"data\":", (unsigned long long)rec->seq);
	if (r == 0)
		r = json_text_append_json(out, rec->body, rec->body_len);
	if (r == 0)
		r = buf_append(out, "}\n", 2);
	return r;
}

/* Appends ',"NAME":"..."' with the next of the three NUL-terminated names. */
static int put_name(struct buf *out, const char *key, const char **at, const char *end)
{
	size_t len = strnlen(*at, (size_t)(end - *at));
	int r = buf_printf(out, "\"%s\":", key);

	if (r == 0)
		r = json_text_append_string(out, *at, len);
	if (r == 0)
		r = buf_append(out, ",", 1);
	*at += MIN(len + 1, (size_t)(end - *at));
	return r;
}

static int put_line(struct buf *out, const struct journal_record *rec)
{
	static const char *const streams[LOG_STREAM_MAX] = { "stdout", "stderr" };
	const struct log_record_head *head = rec->head;
	size_t room = rec->head_len - MIN(rec->head_len, sizeof(*head));
	const char *name = head->names;
	const char *end = name + MIN(room, head->name_bytes);
	int r = put_head(out, "LOG", rec->wall_ns);

	if (r == 0)
		r = buf_printf(out, "\"seq\":%llu,\"data\":{",
			       (unsigned long long)rec->seq);
	if (r == 0)
		r = put_name(out, "namespace", &name, end);
	if (r == 0)
		r = put_name(out, "pod", &name, end);
	if (r == 0)
		r = put_name(out, "member", &name, end);
	if (r == 0)
		r = buf_printf(out,
			       "\"attempt\":%u,\"stream\":\"%s\",\"partial\":%s,"
			       "\"line\":",
			       head->attempt, streams[rec->kind / 2 % LOG_STREAM_MAX],
			       rec->kind & 1 ? "true" : "false");
	if (r == 0)
		r = json_text_append_string(out, rec->body, rec->body_len);
	if (r == 0)
		r = buf_append(out, "}}\n", 3);
	return r;
}

static unsigned int topic_of(uint32_t kind)
{
	return kind == POD_EVENT_POD_CHANGED || kind == POD_EVENT_POD_DELETED ?
		       TOPIC_POD :
		       TOPIC_MEMBER;
}

/* One record of one journal. A line that cannot be completed is taken back, so that the
 * stream stays whole, and is told as lost. */
static bool step(struct client *cl, bool log)
{
	struct pods *pods = cl->control->pods;
	struct journal_record rec;
	uint64_t lost = 0;
	size_t before;
	bool more;
	int r = 0;

	more = journal_next(log ? &pods->lines : &pods->events,
			    log ? &cl->lines : &cl->events, &rec, &lost);
	if (more) {
		if (lost)
			r = put_lost(&cl->out, log ? "log" : "event", lost);
		before = cl->out.len;
		if (r == 0 && log)
			r = put_line(&cl->out, &rec);
		else if (r == 0 && (topic_of(rec.kind) & cl->topics))
			r = put_event(&cl->out, &rec);
		if (r < 0) {
			cl->out.len = before;
			(void)put_lost(&cl->out, log ? "log" : "event", 1); /* best */
		}
	}
	return more;
}

bool subscription_fill(struct client *cl)
{
	unsigned int events = cl->topics & (TOPIC_POD | TOPIC_MEMBER);
	unsigned int lines = cl->topics & TOPIC_LOG;

	for (int i = 0; i < CLIENT_TURN_EVENTS; i++) {
		if (cl->out.len >= CLIENT_OUT_LOW)
			break;
		if (events && step(cl, false))
			continue;
		if (!lines || !step(cl, true))
			return false;
	}
	return subscription_behind(cl);
}
