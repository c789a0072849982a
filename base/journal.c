// SPDX-License-Identifier: Apache-2.0
/*
 * journal.c - see journal.h. Records lie one after another at growing byte positions,
 * each on a multiple of RECORD_ALIGN. A record never wraps: what is left before the end
 * of the mapping is filled by a pad, which has a position but no number.
 *
 * Never: trusts a cursor's position unless its number is still held (a held record has
 * not moved).
 */
#include "base/journal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* At least sizeof(struct pad), so that a pad always fits before the end. */
#define RECORD_ALIGN 8

/* How many records a body may crowd out at most: a reader always sees the last few. */
#define RECORDS_MIN  4

#define SIZE_MIN     4096

/* The head_len of a pad; no record can have it. */
#define PAD          UINT32_MAX

struct pad {
	uint32_t total; /* bytes to the next record, this header included */
	uint32_t head_len;
};

struct record {
	uint32_t total;
	uint32_t head_len;
	int64_t wall_ns;
	uint32_t kind;
	uint32_t body_len;
	char bytes[]; /* head, then body */
};

_Static_assert(sizeof(struct pad) <= RECORD_ALIGN, "a pad fits into the smallest gap");
_Static_assert(offsetof(struct record, head_len) == offsetof(struct pad, head_len),
	       "a record and a pad are told apart by the same field");

static struct record *record_at(const struct journal *j, uint64_t pos)
{
	return (struct record *)(j->map + (pos & (j->size - 1)));
}

/* Past the pad at pos, if one is there. head itself may be where a pad will come. */
static uint64_t skip_pad(const struct journal *j, uint64_t pos)
{
	const struct record *r;

	if (pos == j->head)
		return pos;
	r = record_at(j, pos);
	return r->head_len == PAD ? pos + r->total : pos;
}

int journal_init(struct journal *j, size_t size_bytes)
{
	void *map;

	if (size_bytes < SIZE_MIN || size_bytes > UINT32_MAX / 2 ||
	    (size_bytes & (size_bytes - 1)))
		return -EINVAL;
	/* NORESERVE: most members never fill their ring. */
	map = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	*j = (struct journal){
		.map = map,
		.size = size_bytes,
		.first_seq = 1,
		.next_seq = 1,
	};
	return 0;
}

void journal_free(struct journal *j)
{
	if (j->map)
		(void)munmap(j->map, j->size); /* fails only for a bad address */
	*j = (struct journal){ 0 };
}

/* Drops the oldest records until len more bytes fit. */
static void make_room(struct journal *j, size_t len)
{
	while (j->head + len - j->tail > j->size) {
		struct record *r = record_at(j, j->tail);

		j->tail += r->total;
		if (r->head_len != PAD)
			j->first_seq++;
	}
}

size_t journal_body_max(const struct journal *j, size_t head_len)
{
	return j->size / RECORDS_MIN - sizeof(struct record) - head_len;
}

uint64_t journal_append(struct journal *j, uint32_t kind, int64_t wall_ns,
			const void *head, size_t head_len, const void *body,
			size_t body_len)
{
	size_t gap = j->size - (j->head & (j->size - 1));
	struct record *r;
	size_t total;

	assert(head_len <= journal_body_max(j, 0));
	body_len = MIN(body_len, journal_body_max(j, head_len));
	total = sizeof(*r) + head_len + body_len;
	total = (total + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);

	if (total > gap) {
		struct pad pad = { .total = (uint32_t)gap, .head_len = PAD };

		make_room(j, gap);
		memcpy(record_at(j, j->head), &pad, sizeof(pad));
		j->head += gap;
	}
	make_room(j, total);
	r = record_at(j, j->head);
	r->total = (uint32_t)total;
	r->head_len = (uint32_t)head_len;
	r->wall_ns = wall_ns;
	r->kind = kind;
	r->body_len = (uint32_t)body_len;
	if (head_len)
		memcpy(r->bytes, head, head_len);
	if (body_len)
		memcpy(r->bytes + head_len, body, body_len);
	j->head += total;
	return j->next_seq++;
}

void journal_seek_start(const struct journal *j, struct journal_cursor *c)
{
	*c = (struct journal_cursor){ .seq = j->first_seq, .pos = j->tail };
}

void journal_seek_end(const struct journal *j, struct journal_cursor *c)
{
	*c = (struct journal_cursor){ .seq = j->next_seq, .pos = j->head };
}

void journal_seek_seq(const struct journal *j, struct journal_cursor *c, uint64_t seq)
{
	if (seq >= j->next_seq) {
		journal_seek_end(j, c);
		return;
	}
	journal_seek_start(j, c);
	while (c->seq < seq) {
		c->pos = skip_pad(j, c->pos);
		c->pos += record_at(j, c->pos)->total;
		c->seq++;
	}
}

bool journal_next(const struct journal *j, struct journal_cursor *c,
		  struct journal_record *ret, uint64_t *ret_lost)
{
	const struct record *r;

	*ret_lost = 0;
	if (c->seq < j->first_seq) {
		/* A fresh cursor has missed nothing: it starts at the oldest. */
		if (c->seq)
			*ret_lost = j->first_seq - c->seq;
		journal_seek_start(j, c);
	}
	if (c->seq >= j->next_seq)
		return false;

	/* The cursor may stand on the pad before the oldest record, and a pad goes
	 * without its number being missed. */
	c->pos = skip_pad(j, MAX(c->pos, j->tail));
	r = record_at(j, c->pos);
	*ret = (struct journal_record){
		.seq = c->seq,
		.wall_ns = r->wall_ns,
		.kind = r->kind,
		.head = r->bytes,
		.head_len = r->head_len,
		.body = r->bytes + r->head_len,
		.body_len = r->body_len,
	};
	c->pos += r->total;
	c->seq++;
	return true;
}
