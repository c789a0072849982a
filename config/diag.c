// SPDX-License-Identifier: Apache-2.0
/*
 * diag.c - see diag.h.
 *
 * The texts quote bytes of the file, and they end on consoles and terminals: whatever
 * could be an escape sequence or is no UTF-8 is replaced here, in one place.
 */
#include "config/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Warnings may not push out errors, so they get half of the room. */
#define DIAG_WARNINGS_UNTIL (DIAG_MAX / 2)

static const char *const kind_names[DIAG_KIND_MAX] = {
	[DIAG_SYNTAX] = "syntax",
	[DIAG_TYPE] = "type",
	[DIAG_VALUE] = "value",
	[DIAG_MISSING] = "missing",
	[DIAG_DUPLICATE] = "duplicate",
	[DIAG_UNKNOWN] = "unknown-field",
	[DIAG_UNSUPPORTED] = "unsupported",
	[DIAG_LIMIT] = "limit",
};

const char *diag_kind_name(enum diag_kind kind)
{
	return (unsigned int)kind < DIAG_KIND_MAX ? kind_names[kind] : "?";
}

void diag_init(struct diag *d, const char *file)
{
	memset(d, 0, sizeof(*d));
	(void)snprintf(d->file, sizeof(d->file), "%s", file ? file : "");
}

static void diag_clean(char *text)
{
	char *end = text + strlen(text);

	while (text < end) {
		size_t n = str_utf8_len(text, (size_t)(end - text));

		if (!n || str_is_control(text, n)) {
			*text = '?';
			n = 1;
		}
		text += n;
	}
}

/* Start and end of a pointer tell most: the middle goes. */
static void diag_copy_pointer(char *to, const char *pointer)
{
	size_t len = strlen(pointer), half = (DIAG_POINTER - 4) / 2;

	if (len < DIAG_POINTER) {
		memcpy(to, pointer, len + 1);
	} else {
		memcpy(to, pointer, half);
		memcpy(to + half, "...", 3);
		memcpy(to + half + 3, pointer + len - half, half + 1);
	}
	diag_clean(to);
}

static void diag_put(struct diag *d, enum diag_kind kind, bool warning,
		     const char *pointer, const char *fmt, va_list ap)
{
	struct diag_item *item;

	if (!warning)
		d->errors++;
	if (d->n >= (warning ? DIAG_WARNINGS_UNTIL : DIAG_MAX)) {
		d->dropped += warning ? 0 : 1;
		return;
	}
	item = &d->items[d->n++];
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	item->warning = warning;
	diag_copy_pointer(item->pointer, pointer ? pointer : "");
	(void)vsnprintf(item->text, sizeof(item->text), fmt, ap);
	diag_clean(item->text);
}

void diag_add(struct diag *d, enum diag_kind kind, const char *pointer, const char *fmt,
	      ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_put(d, kind, false, pointer, fmt, ap);
	va_end(ap);
}

void diag_warn(struct diag *d, const char *pointer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_put(d, DIAG_UNSUPPORTED, true, pointer, fmt, ap);
	va_end(ap);
}

int diag_format(const struct diag *d, const struct diag_item *item, char *buf,
		size_t size)
{
	char place[32] = "";
	const char *file = d->file;

	if (item->line > 0)
		(void)snprintf(place, sizeof(place), "%s%d:%d", *file ? ":" : "",
			       item->line, item->column);
	return snprintf(buf, size, "%s%s%s%s%s%s%s", file, place,
			*file || *place ? ": " : "", item->pointer,
			*item->pointer ? ": " : "", item->warning ? "warning: " : "",
			item->text);
}
