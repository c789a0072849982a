// SPDX-License-Identifier: Apache-2.0
/*
 * log_tail.c - see log_tail.h. A journal of runs, with the attempt as each record's head;
 * lines are told apart again when somebody reads.
 */
#include "pod/log_tail.h"

#include <string.h>

#define TAIL_MIN_BYTES 4096
#define TAIL_MAX_BYTES (64LL << 20)

int log_tail_init(struct log_tail *tail, int64_t size_bytes)
{
	size_t size = TAIL_MIN_BYTES;

	while ((int64_t)size < MIN(size_bytes, TAIL_MAX_BYTES))
		size *= 2;
	return journal_init(&tail->ring, size);
}

void log_tail_free(struct log_tail *tail)
{
	journal_free(&tail->ring);
}

/* The longest piece of a run for one record: whole lines, or a part of one. */
static size_t piece_len(const char *run, size_t len, size_t max, bool *ret_cut)
{
	const char *newline;

	*ret_cut = false;
	if (len <= max)
		return len;
	newline = memrchr(run, '\n', max);
	*ret_cut = !newline;
	return newline ? (size_t)(newline - run) : max;
}

void log_tail_append(struct log_tail *tail, int64_t wall_ns, uint32_t attempt,
		     enum log_stream stream, bool partial, const char *run, size_t len)
{
	size_t max = journal_body_max(&tail->ring, sizeof(attempt));
	uint32_t kind = (uint32_t)stream * 2;

	for (;;) {
		bool cut;
		size_t n = piece_len(run, len, max, &cut);
		bool last = n == len;

		(void)journal_append(&tail->ring, kind + (last ? partial : cut), wall_ns,
				     &attempt, sizeof(attempt), run, n);
		if (last)
			return;
		n += !cut; /* the newline between */
		run += n;
		len -= n;
	}
}

/* ---- reading ---------------------------------------------------------------------- */

static size_t run_lines(const struct journal_record *r)
{
	const char *at = r->body, *end = at + r->body_len;
	size_t n = 1;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		n++;
		at++;
	}
	return n;
}

static size_t tail_lines(const struct log_tail *tail)
{
	struct journal_cursor cursor;
	struct journal_record r;
	size_t n = 0;
	uint64_t lost;

	journal_seek_start(&tail->ring, &cursor);
	while (journal_next(&tail->ring, &cursor, &r, &lost))
		n += run_lines(&r);
	return n;
}

/* Calls fn for the run's lines but the first *skip, which it counts down. */
static void run_read(const struct journal_record *r, size_t *skip, log_line_fn fn,
		     void *arg)
{
	const char *at = r->body, *end = at + r->body_len;
	uint32_t attempt;

	memcpy(&attempt, r->head, sizeof(attempt));
	for (;;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		if (*skip)
			--*skip;
		else
			fn(arg, r->wall_ns, attempt, (enum log_stream)(r->kind / 2),
			   !newline && (r->kind & 1), at, (size_t)(stop - at));
		if (!newline)
			return;
		at = newline + 1;
	}
}

void log_tail_read(const struct log_tail *tail, size_t max_lines, log_line_fn fn,
		   void *arg)
{
	size_t lines = tail_lines(tail);
	size_t skip = lines - MIN(lines, max_lines);
	struct journal_cursor cursor;
	struct journal_record r;
	uint64_t lost;

	journal_seek_start(&tail->ring, &cursor);
	while (journal_next(&tail->ring, &cursor, &r, &lost))
		run_read(&r, &skip, fn, arg);
}
