// SPDX-License-Identifier: Apache-2.0
/*
 * util.h - the handful of macros that every file may use.
 *
 * Owns: nothing. Called by: everybody. Never: calls anything that can block.
 */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_SIZE(a)                   (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define MAX(a, b)                       ((a) > (b) ? (a) : (b))

#define PRINTF_LIKE(fmt, args)          __attribute__((format(printf, fmt, args)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Frees the variable at the end of its scope; hand it over with ptr_steal(). */
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))

#define ptr_steal(pp)                              \
	({                                         \
		__typeof__(*(pp)) stolen_ = *(pp); \
		*(pp) = NULL;                      \
		stolen_;                           \
	})

#endif
