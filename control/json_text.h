// SPDX-License-Identifier: Apache-2.0
/*
 * json_text.h - bytes of unknown origin as JSON text.
 *
 * Owns: nothing. Called by: the channel (what a member wrote, names from the kernel) and
 * podctl. What leaves PID 1 is valid UTF-8 whatever a member prints: a byte that is part
 * of no valid sequence becomes U+FFFD (RFC 3629 section 3, RFC 8259 section 8.1).
 */
#ifndef CONTROL_JSON_TEXT_H
#define CONTROL_JSON_TEXT_H

#include "base/buf.h"

/* Appends text as a quoted JSON string. 0, -ENOBUFS, -ENOMEM (a part may be in out). */
int json_text_append_string(struct buf *out, const char *text, size_t len);

/* Appends JSON text that was serialised by someone who does not check UTF-8. */
int json_text_append_json(struct buf *out, const char *json, size_t len);

#endif
