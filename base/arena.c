// SPDX-License-Identifier: Apache-2.0
/*
 * arena.c - see arena.h. Blocks double up to 64 KiB; a larger request gets its own.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define ARENA_FIRST_BYTES 2048
#define ARENA_BLOCK_BYTES 65536

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
	*a = (struct arena){ .limit_bytes = limit_bytes };
}

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
	a->used_bytes = 0;
}

/* The new block becomes the one that small requests are served from, unless it was made
 * for a single large one: then what is left of the current block stays in use. */
static struct arena_block *arena_grow(struct arena *a, size_t need)
{
	size_t size = a->blocks ? MIN(a->blocks->size * 2, (size_t)ARENA_BLOCK_BYTES) :
				  (size_t)ARENA_FIRST_BYTES;
	struct arena_block *b;

	size = MAX(size, need);
	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->used = 0;
	b->size = size;
	if (a->blocks && size == need) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	const size_t align = alignof(max_align_t);
	void *p;

	if (__builtin_add_overflow(MAX(size, (size_t)1), align - 1, &size))
		return NULL;
	size -= size % align;
	if (size > a->limit_bytes || a->used_bytes > a->limit_bytes - size)
		return NULL;
	if (!b || b->size - b->used < size)
		b = arena_grow(a, size);
	if (!b)
		return NULL;
	p = b->data + b->used;
	b->used += size;
	a->used_bytes += size;
	return memset(p, 0, size);
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p;

	len = strnlen(s, len);
	p = arena_alloc(a, len + 1);
	return p ? memcpy(p, s, len) : NULL;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
