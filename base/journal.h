// SPDX-License-Identifier: Apache-2.0
/*
 * journal.h - a bounded ring of numbered records that any number of readers follow.
 *
 * Owns: one anonymous mapping; pages that were never written cost nothing.
 * Called by: pod (appends events and log lines), control (follows with one cursor a
 * client). A reader that is too slow finds the gap by the numbers: nothing is lost
 * without a count. Appending never allocates, blocks or fails but for a record larger
 * than the limit, which is cut.
 * Numbers start at 1 and grow by 1.
 */
#ifndef BASE_JOURNAL_H
#define BASE_JOURNAL_H

#include "base/util.h"

struct journal {
	char *map;
	size_t size;         /* bytes of the mapping, a power of two >= 4096 */
	uint64_t head, tail; /* byte positions, growing; head - tail <= size */
	uint64_t first_seq;  /* of the oldest record held */
	uint64_t next_seq;   /* of the next record to come */
};

/* A record as a reader sees it. The bytes are borrowed, contiguous, and valid until the
 * next append. */
struct journal_record {
	uint64_t seq;
	int64_t wall_ns;
	uint32_t kind; /* the appender's business */
	const void *head;
	size_t head_len;
	const void *body;
	size_t body_len;
};

int journal_init(struct journal *j, size_t size_bytes); /* 0, -EINVAL, -ENOMEM */
void journal_free(struct journal *j);

/* Appends head (fixed part) and body; the oldest records make room. Returns the number.
 * The body is cut when the record would be larger than a quarter of the ring. */
uint64_t journal_append(struct journal *j, uint32_t kind, int64_t wall_ns,
			const void *head, size_t head_len, const void *body,
			size_t body_len);

/* The longest body that journal_append() does not cut beside a head of that length. */
size_t journal_body_max(const struct journal *j, size_t head_len);

/* A cursor remembers the byte position too, so that following is O(1). Zero = from the
 * oldest record. */
struct journal_cursor {
	uint64_t seq; /* next record wanted */
	uint64_t pos; /* its byte position, meaningful while seq is still held */
};

void journal_seek_start(const struct journal *j, struct journal_cursor *c); /* oldest */
void journal_seek_end(const struct journal *j,
		      struct journal_cursor *c); /* only new ones */
/* To the record seq, or the oldest held when it is gone, or the end when still to come.
 */
void journal_seek_seq(const struct journal *j, struct journal_cursor *c, uint64_t seq);

/* Next record and advances. false at the end. *ret_lost = records overwritten since the
 * last call of this cursor (0 normally). */
bool journal_next(const struct journal *j, struct journal_cursor *c,
		  struct journal_record *ret, uint64_t *ret_lost);

#endif
