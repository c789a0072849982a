// SPDX-License-Identifier: Apache-2.0
/*
 * log_split.c - see log_split.h. A line that lies whole in the bytes just read is handed
 * out from there; only one that began in an earlier read is put together in `rest`.
 */
#include "pod/log_split.h"

#include "base/time.h"

static void line_end(const struct log_split *s, const char *text, size_t len,
		     log_split_fn fn, void *arg)
{
	if (s->drop_cr && len && text[len - 1] == '\r')
		len--;
	fn(arg, text, len, false);
}

/* Completes the line that an earlier read began. Returns the bytes of data it took. */
static size_t rest_fill(struct log_split *s, const char *data, size_t len,
			log_split_fn fn, void *arg)
{
	size_t room = LOG_LINE_MAX - s->rest_len;
	size_t look = MIN(len, room + 1); /* the newline may come right after the limit */
	const char *newline = memchr(data, '\n', look);
	size_t n = newline ? (size_t)(newline - data) : MIN(look, room);

	memcpy(s->rest + s->rest_len, data, n);
	s->rest_len += n;
	if (newline) {
		line_end(s, s->rest, s->rest_len, fn, arg);
		s->rest_len = 0;
		return n + 1;
	}
	if (look > room) {
		fn(arg, s->rest, s->rest_len, true);
		s->rest_len = 0;
	}
	return n;
}

void log_split_feed(struct log_split *s, const char *data, size_t len, log_split_fn fn,
		    void *arg)
{
	const char *at = data, *end = data + len;

	while (at < end && s->rest_len)
		at += rest_fill(s, at, (size_t)(end - at), fn, arg);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		for (; stop - at > LOG_LINE_MAX; at += LOG_LINE_MAX)
			fn(arg, at, LOG_LINE_MAX, true);
		if (!newline)
			break;
		line_end(s, at, (size_t)(newline - at), fn, arg);
		at = newline + 1;
	}
	if (at < end) {
		memcpy(s->rest, at, (size_t)(end - at));
		s->rest_len = (size_t)(end - at);
	}
}

void log_split_end(struct log_split *s, log_split_fn fn, void *arg)
{
	if (s->rest_len)
		fn(arg, s->rest, s->rest_len, true);
	s->rest_len = 0;
}

void log_head_make(char head[static LOG_HEAD_BYTES], int64_t wall_ns,
		   enum log_stream stream)
{
	char text[TIME_TEXT_SIZE];

	time_text_nano(wall_ns, text);
	memcpy(head, text, TIME_TEXT_SIZE - 1);
	memcpy(head + TIME_TEXT_SIZE - 1,
	       stream == LOG_STDERR ? " stderr F " : " stdout F ",
	       LOG_HEAD_BYTES - (TIME_TEXT_SIZE - 1));
}
