// SPDX-License-Identifier: Apache-2.0
/*
 * buf.c - see buf.h. The memory is one byte larger than cap, so that printing, which
 * ends in a NUL, may fill the buffer to the last byte.
 */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BUF_FIRST_BYTES 256
/* An empty buffer larger than this is freed: a client that once got a long answer must
 * not hold its memory while idle. */
#define BUF_KEEP_BYTES  4096

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->start = b->len = b->cap = 0;
}

static int buf_grow(struct buf *b, size_t need)
{
	/* Doubling, so that appending byte by byte costs a constant each. */
	size_t cap = b->cap > b->max / 2 ? b->max : b->cap * 2;
	char *data;

	cap = MIN(MAX(MAX(cap, need), (size_t)BUF_FIRST_BYTES), b->max);
	data = malloc(cap + 1);
	if (!data)
		return -ENOMEM;
	if (b->len)
		memcpy(data, buf_head(b), b->len);
	free(b->data);
	b->data = data;
	b->start = 0;
	b->cap = cap;
	return 0;
}

static int buf_make_room(struct buf *b, size_t len)
{
	if (len > b->max || b->len > b->max - len)
		return -ENOBUFS;
	if (b->data && len <= b->cap - b->start - b->len)
		return 0;
	if (!b->data || len > b->cap - b->len)
		return buf_grow(b, b->len + len);
	memmove(b->data, buf_head(b), b->len);
	b->start = 0;
	return 0;
}

char *buf_reserve(struct buf *b, size_t len)
{
	return buf_make_room(b, len) < 0 ? NULL : buf_head(b) + b->len;
}

void buf_commit(struct buf *b, size_t len)
{
	assert(len <= b->cap - b->start - b->len);
	b->len += len;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	int r = buf_make_room(b, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(buf_head(b) + b->len, data, len);
	b->len += len;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -errno;
	r = buf_make_room(b, (size_t)n);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	(void)vsnprintf(buf_head(b) + b->len, (size_t)n + 1, fmt, ap); /* as measured */
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void buf_consume(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->start += len;
	b->len -= len;
	if (b->len)
		return;
	b->start = 0;
	if (b->cap > BUF_KEEP_BYTES)
		buf_free(b);
}
