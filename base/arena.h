// SPDX-License-Identifier: Apache-2.0
/*
 * arena.h - memory that is freed together: one manifest, one image config.
 *
 * Owns: every block handed out until arena_free(). Called by: config, pod creation.
 * Bounded: an arena made with a limit returns NULL past it, so that input cannot grow
 * PID 1 at will. Never used on exit, kill, log and status paths.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/util.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used_bytes;  /* handed out, with alignment */
	size_t limit_bytes; /* arena_alloc() fails past this */
};

void arena_init(struct arena *a, size_t limit_bytes);
void arena_free(struct arena *a); /* a zeroed or freed arena is fine */

/* Zeroed, aligned for any type. NULL when out of memory or past the limit. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t n, size_t size); /* NULL on overflow too */

/* Copies; strndup ends at a NUL before len, too. NULL as above. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
