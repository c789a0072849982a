// SPDX-License-Identifier: Apache-2.0
/*
 * buf.h - a byte buffer that grows up to a limit: a client's input, a client's answers.
 *
 * Owns: its memory. Never grows past max; an append that does not fit changes nothing.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/util.h"

struct buf {
	char *data;
	size_t start; /* consumed bytes at the front */
	size_t len;   /* live bytes from start */
	size_t cap;
	size_t max;
};

void buf_init(struct buf *b, size_t max);
void buf_free(struct buf *b);

/* -ENOBUFS past max, -ENOMEM. */
int buf_append(struct buf *b, const void *data, size_t len);
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Room of at least len bytes at the end, or NULL; follow with buf_commit(). */
char *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);

static inline char *buf_head(const struct buf *b)
{
	return b->data + b->start;
}

/* Drops len bytes from the front; memory is given back when it is empty and large. */
void buf_consume(struct buf *b, size_t len);

#endif
