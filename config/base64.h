// SPDX-License-Identifier: Apache-2.0
/*
 * base64.h - base64 text to bytes, by libc's own decoder (RFC 4648, section 4; white
 * space between is allowed).
 *
 * Owns: nothing. Called by: manifest_object.c.
 */
#ifndef CONFIG_BASE64_H
#define CONFIG_BASE64_H

#include <stddef.h>

/* Room that the bytes of a text of so many characters need. */
#define BASE64_ROOM(len) ((len) / 4 * 3 + 4)

/* The number of bytes, or -1: no base64, or more than size. */
int base64_decode(const char *text, unsigned char *bytes, size_t size);

#endif
