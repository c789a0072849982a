// SPDX-License-Identifier: Apache-2.0
/*
 * json_string.h - what a JSON string means.
 *
 * Owns: nothing. Called by: json_scan.c for keys, json_tree.c.
 */
#ifndef CONFIG_JSON_STRING_H
#define CONFIG_JSON_STRING_H

#include <stddef.h>

/* Decodes what stands between the quotes of a string that json_scan() has let pass; half
 * a surrogate pair becomes U+FFFD. Returns the length, which is never more than len; no
 * NUL is added. */
size_t json_string_decode(const char *s, size_t len, char *to);

/* The value of four hexadecimal digits, -1 when they are not four of len. */
int json_string_hex4(const char *s, size_t len);

#endif
