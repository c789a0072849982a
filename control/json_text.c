// SPDX-License-Identifier: Apache-2.0
/*
 * json_text.c - see json_text.h. Both functions copy runs of good bytes at once: almost
 * every line of a log is plain ASCII.
 */
#include "control/json_text.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD in UTF-8 */

/* What stands for s[0] in a JSON string; NULL when it stands for itself. */
static const char *escape(unsigned char c, char hex[static 8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		break;
	}
	/* DEL is legal JSON, but nobody wants it on a terminal. */
	if (c >= 0x20 && c != 0x7F)
		return NULL;
	(void)snprintf(hex, 8, "\\u%04x", c);
	return hex;
}

static int append_runs(struct buf *out, const char *text, size_t len, bool escaping)
{
	size_t run = 0, i = 0;

	while (i < len) {
		size_t n = str_utf8_len(text + i, len - i);
		const char *instead = n ? NULL : REPLACEMENT;
		char hex[8];
		int r;

		if (n == 1 && escaping)
			instead = escape((unsigned char)text[i], hex);
		if (!instead) {
			i += n;
			continue;
		}
		r = buf_append(out, text + run, i - run);
		if (r == 0)
			r = buf_append(out, instead, strlen(instead));
		if (r < 0)
			return r;
		run = ++i;
	}
	return buf_append(out, text + run, len - run);
}

int json_text_append_string(struct buf *out, const char *text, size_t len)
{
	int r = buf_append(out, "\"", 1);

	if (r == 0)
		r = append_runs(out, text, len, true);
	if (r == 0)
		r = buf_append(out, "\"", 1);
	return r;
}

int json_text_append_json(struct buf *out, const char *json, size_t len)
{
	return append_runs(out, json, len, false);
}
