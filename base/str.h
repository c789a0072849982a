// SPDX-License-Identifier: Apache-2.0
/*
 * str.h - text helpers on fixed memory: near misses, paths, JSON strings.
 *
 * Owns: nothing. Called by: config (suggestions), everybody who joins paths, the final
 * status. Never: allocates.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/util.h"

/* The length of the valid UTF-8 character at s (RFC 3629), 0 when there is none in len.
 */
size_t str_utf8_len(const char *s, size_t len);

/* Is this character of len bytes one that steers a terminal: U+0000..1F, U+007F..9F? */
bool str_is_control(const char *s, size_t len);

/* Edits that turn a into b: a byte inserted, deleted or replaced, or two neighbours
 * swapped (no byte is edited twice). More than max, or longer than 64 bytes: max + 1. */
size_t str_distance(const char *a, const char *b, size_t max);

/* The name of the list nearest to name, for "did you mean": at most 2 edits away, fewer
 * for short names; a difference in case only is always near. NULL when none is. */
const char *str_nearest(const char *name, const char *const *list, size_t n);

/* "dir/name" with one slash between. Returns the length, or -ENAMETOOLONG and buf is an
 * empty string. An empty dir gives the name alone. */
int path_join(char *buf, size_t size, const char *dir, const char *name);

/* s as a JSON string with its quotes (RFC 8259, section 7). What is not UTF-8 becomes
 * U+FFFD, as the result has to be. Returns the length; when it does not fit -ENOBUFS, and
 * buf is an empty string. */
int str_json_escape(char *buf, size_t size, const char *s);

#endif
