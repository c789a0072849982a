// SPDX-License-Identifier: Apache-2.0
/*
 * log_tail.c - see log_tail.h. A journal with the attempt as each record's head.
 */
#include "pod/log_tail.h"

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

void log_tail_append(struct log_tail *tail, int64_t wall_ns, uint32_t attempt,
		     enum log_stream stream, bool partial, const char *text, size_t len)
{
	size_t max = journal_body_max(&tail->ring, sizeof(attempt));
	uint32_t kind = (uint32_t)stream * 2;

	for (; len > max; text += max, len -= max)
		(void)journal_append(&tail->ring, kind + 1, wall_ns, &attempt,
				     sizeof(attempt), text, max);
	(void)journal_append(&tail->ring, kind + partial, wall_ns, &attempt,
			     sizeof(attempt), text, len);
}

void log_tail_read(const struct log_tail *tail, size_t max_lines, log_line_fn fn,
		   void *arg)
{
	const struct journal *j = &tail->ring;
	uint64_t first = j->next_seq - MIN(max_lines, j->next_seq - j->first_seq);
	struct journal_cursor cursor;
	struct journal_record r;
	uint64_t lost;

	journal_seek_seq(j, &cursor, first);
	while (journal_next(j, &cursor, &r, &lost)) {
		const uint32_t *attempt = r.head;

		fn(arg, r.wall_ns, *attempt, (enum log_stream)(r.kind / 2), r.kind & 1,
		   r.body, r.body_len);
	}
}
