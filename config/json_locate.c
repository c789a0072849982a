// SPDX-License-Identifier: Apache-2.0
/*
 * json_locate.c - places in a JSON text: where a pointer's value stands, which line.
 *
 * Called by: json_doc.c, for errors only, on text that json_scan() has accepted; so it
 * needs no checks of the grammar, but it never reads past the end.
 */
#include <string.h>

#include "config/json_scan.h"

/* A key of a file is compared escape by escape, so this bounds nothing but a pointer's
 * part; longer parts are simply not found. */
#define LOCATE_PART_BYTES 512

struct locate {
	const char *text;
	size_t len, pos;
};

void json_scan_position(const char *text, size_t offset, int *ret_line, int *ret_column)
{
	int line = 1, column = 1;
	size_t i;

	for (i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

static char locate_peek(const struct locate *l)
{
	return l->pos < l->len ? l->text[l->pos] : '\0';
}

/* Over white space, and over the ',' or ':' that is due. */
static void locate_next(struct locate *l)
{
	while (l->pos < l->len && strchr(" \t\r\n,:", l->text[l->pos]))
		l->pos++;
}

static void locate_skip_string(struct locate *l)
{
	for (l->pos++; l->pos < l->len && l->text[l->pos] != '"'; l->pos++)
		if (l->text[l->pos] == '\\')
			l->pos++;
	l->pos++;
}

static void locate_skip_value(struct locate *l)
{
	unsigned int depth = 0;

	do {
		char c = locate_peek(l);

		if (c == '"') {
			locate_skip_string(l);
		} else if (c == '{' || c == '[') {
			depth++;
			l->pos++;
		} else if (c == '}' || c == ']') {
			depth--;
			l->pos++;
		} else {
			while (l->pos < l->len && !strchr(" \t\r\n,:]}", l->text[l->pos]))
				l->pos++;
		}
		if (depth)
			locate_next(l);
	} while (depth && l->pos < l->len);
}

/* Moves to the value of the key or to the element; false when there is none. Keys with
 * escapes in the file are not found: their errors are shown at the object. */
static bool locate_enter(struct locate *l, const char *part, size_t part_len)
{
	bool object = locate_peek(l) == '{';
	size_t wanted = 0, i;

	if (!object && locate_peek(l) != '[')
		return false;
	for (i = 0; !object && i < part_len; i++) {
		if (part[i] < '0' || part[i] > '9' || wanted > JSON_SCAN_VALUES)
			return false;
		wanted = wanted * 10 + (size_t)(part[i] - '0');
	}
	l->pos++;
	for (i = 0;; i++) {
		size_t start;

		locate_next(l);
		start = l->pos + 1;
		if (l->pos >= l->len || locate_peek(l) == '}' || locate_peek(l) == ']')
			return false;
		if (!object && i == wanted)
			return true;
		if (object) {
			locate_skip_string(l);
			if (l->pos <= l->len && l->pos - 1 - start == part_len &&
			    memcmp(l->text + start, part, part_len) == 0) {
				locate_next(l);
				return true;
			}
			locate_next(l);
		}
		locate_skip_value(l);
	}
}

size_t json_scan_locate(const char *text, size_t len, const char *pointer)
{
	struct locate l = { .text = text, .len = len };
	char part[LOCATE_PART_BYTES];
	size_t found, n;

	locate_next(&l);
	found = l.pos;
	while (*pointer == '/') {
		for (n = 0, pointer++; *pointer && *pointer != '/'; pointer++) {
			char c = *pointer;

			if (c == '~' && pointer[1])
				c = *++pointer == '0' ? '~' : '/';
			if (n == sizeof(part))
				return found;
			part[n++] = c;
		}
		if (!locate_enter(&l, part, n))
			return found;
		found = l.pos;
	}
	return found;
}
