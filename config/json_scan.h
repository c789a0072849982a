// SPDX-License-Identifier: Apache-2.0
/*
 * json_scan.h - the text of a JSON document checked before a tree is made of it.
 *
 * Why not json-c's tokener: of two equal keys it keeps the last, it saturates numbers,
 * cuts keys at an escaped NUL, says little about a syntax error, and a few MiB of
 * "[[],[],..." cost a few hundred MiB.
 * Owns: nothing. Called by: json_doc.c. Never: builds anything that outlives the call.
 */
#ifndef CONFIG_JSON_SCAN_H
#define CONFIG_JSON_SCAN_H

#include "base/util.h"

struct diag;

/* What a tree may consist of. json-c needs about 0.9 KiB for an object and 0.4 KiB for a
 * list, however small, so these bound a tree to some 90 MiB for a hostile 4 MiB file;
 * 1,024 pods as `kubectl get -o json` prints them stay below. */
#define JSON_SCAN_NESTS  65536  /* objects and lists */
#define JSON_SCAN_VALUES 262144 /* with the strings, numbers and literals */

/*
 * Checks text against RFC 8259 (one value, UTF-8, no NUL) and the limits.
 * 0: it can be parsed, the value is text[*ret_start .. *ret_end). Flaws that JSON allows
 * and we do not (a key twice, a number past 64 bits, \u0000, half a surrogate pair) are
 * added to flaws with pointer and position. -EINVAL: a syntax error or a limit, in diag;
 * -ENOMEM. diag and flaws may be the same.
 */
int json_scan(const char *text, size_t len, unsigned int max_depth, struct diag *diag,
	      struct diag *flaws, size_t *ret_start, size_t *ret_end);

/* 1-based line and column (in characters) of a byte of text. */
void json_scan_position(const char *text, size_t offset, int *ret_line, int *ret_column);

/* Offset of the value that an RFC 6901 pointer names, or of its nearest ancestor that is
 * there. The text has passed json_scan(). */
size_t json_scan_locate(const char *text, size_t len, const char *pointer);

#endif
