// SPDX-License-Identifier: Apache-2.0
/*
 * event.c - see event.h: writes what happened into the event journal.
 *
 * No heap: texts are built in a buffer on the stack; names are DNS labels and need no
 * escaping, messages do.
 */
#include "pod/event.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "pod/pod.h"

#define EVENT_BYTES 6144 /* three texts in the worst escaping, and the fixed parts */

static const char *const event_names[] = {
	[POD_EVENT_POD_CHANGED] = "POD_CHANGED",
	[POD_EVENT_POD_DELETED] = "POD_DELETED",
	[POD_EVENT_MEMBER_STARTED] = "MEMBER_STARTED",
	[POD_EVENT_MEMBER_FAILED] = "MEMBER_FAILED",
	[POD_EVENT_MEMBER_EXITED] = "MEMBER_EXITED",
	[POD_EVENT_MEMBER_BACKOFF] = "MEMBER_BACKOFF",
	[POD_EVENT_MEMBER_STUCK] = "MEMBER_STUCK",
};
static_assert(ARRAY_SIZE(event_names) == POD_EVENT_MAX, "an event without a name");

const char *pod_event_name(enum pod_event event)
{
	return (unsigned int)event < POD_EVENT_MAX ? event_names[event] : "?";
}

struct text {
	size_t len;
	char bytes[EVENT_BYTES];
};

static void text_add(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, fmt, ap);
	va_end(ap);
	/* Everything that goes in is bounded far below the buffer's size. */
	if (n > 0)
		t->len = MIN(t->len + (size_t)n, sizeof(t->bytes) - 1);
}

static void text_add_string(struct text *t, const char *key, const char *value)
{
	char quoted[6 * sizeof(((struct err *)0)->text) + 3]; /* all of it escaped */

	if (str_json_escape(quoted, sizeof(quoted), value ? value : "") < 0)
		(void)snprintf(quoted, sizeof(quoted), "\"\"");
	text_add(t, ",\"%s\":%s", key, quoted);
}

static void text_open(struct text *t, const struct pod *pod)
{
	t->len = 0;
	text_add(t, "{\"uid\":\"%s\"", pod->uid);
	text_add_string(t, "namespace",
			pod->namespace); /* a refused one's was never checked */
	text_add_string(t, "pod", pod->name);
}

static void text_publish(struct text *t, struct pods *pods, enum pod_event event)
{
	text_add(t, "}");
	(void)journal_append(&pods->events, event, time_wall_ns(), NULL, 0, t->bytes,
			     t->len);
	if (pods->hooks.journal_grew)
		pods->hooks.journal_grew(pods->hooks.arg);
}

void pod_publish(struct pod *pod, enum pod_event event)
{
	struct text t;

	text_open(&t, pod);
	if (event == POD_EVENT_POD_CHANGED) {
		text_add_string(&t, "phase", pod->phase);
		text_add_string(&t, "reason", pod->reason);
		text_add_string(&t, "lifecycle", pod_lifecycle_name(pod));
		text_add(&t, ",\"ready\":%s",
			 pod->conditions[CONDITION_READY].is_true ? "true" : "false");
		if (pod->net.watch.wrong)
			text_add_string(&t, "network", pod->net.watch.wrong);
	}
	text_publish(&t, pod->pods, event);
}

static void add_exit(struct text *t, const struct member *m)
{
	const struct attempt *a = &m->now;
	char when[TIME_TEXT_SIZE];

	time_text_nano(a->finished_wall_ns, when);
	text_add(t, ",\"exitCode\":%d,\"signal\":%d", a->exit_code,
		 a->exit.by_signal ? a->exit.status : 0);
	text_add_string(t, "reason", a->reason);
	text_add_string(t, "message", a->message);
	text_add_string(t, "finishedAt", when);
	log_info("member %s/%s/%s: %s, exit code %d", m->pod->namespace, m->pod->name,
		 m->spec->name, a->reason, a->exit_code);
}

void member_publish(struct member *m, enum pod_event event)
{
	const struct attempt *a = m->committed ? &m->now : &m->starting;
	struct text t;

	text_open(&t, m->pod);
	text_add(&t, ",\"member\":\"%s\",\"attempt\":%u", m->spec->name, a->number);
	switch (event) {
	case POD_EVENT_MEMBER_STARTED:
		text_add(&t, ",\"pid\":%d", (int)a->pid);
		break;
	case POD_EVENT_MEMBER_EXITED:
		add_exit(&t, m);
		break;
	case POD_EVENT_MEMBER_FAILED:
		text_add(&t, ",\"stage\":\"%s\",\"errno\":%d",
			 err_stage_name(m->start_error.stage), m->start_error.code);
		text_add_string(&t, "message", m->start_error.text);
		break;
	case POD_EVENT_MEMBER_BACKOFF:
		text_add(&t, ",\"delayMs\":%lld,\"restartCount\":%u",
			 (long long)(m->backoff_ns / NSEC_PER_MSEC), m->restarts);
		text_add_string(&t, "message", m->wait_message);
		break;
	case POD_EVENT_MEMBER_STUCK:
		text_add_string(&t, "message", "killed, but still there");
		break;
	case POD_EVENT_POD_CHANGED:
	case POD_EVENT_POD_DELETED:
	case POD_EVENT_MAX:
		break;
	}
	text_publish(&t, m->pod->pods, event);
}
