// SPDX-License-Identifier: Apache-2.0
/*
 * utf8.h - a code point to UTF-8; the other way is in base/str.h.
 *
 * Owns: nothing. Called by: json_scan.c, for \\u escapes in keys.
 */
#ifndef CONFIG_UTF8_H
#define CONFIG_UTF8_H

#include <stddef.h>

/* Writes at most 4 bytes to to, returns how many. c is a scalar value. */
size_t utf8_encode(unsigned int c, char *to);

#endif
