// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_text.c - everything that podctl prints.
 *
 * Owns: nothing. Called by: all of podctl. A member's output may hold anything, so what
 * goes to a terminal is made harmless; what goes to a file or pipe stays as it is.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "control/podctl.h"

#define CELLS_MAX (16u << 20)

int say(int code, const char *fmt, ...)
{
	va_list ap;

	/* What was printed so far comes first where both go to one terminal. */
	(void)fflush(stdout);
	(void)fputs("podctl: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return code;
}

static bool on_terminal(void)
{
	static int known = -1;

	if (known < 0)
		known = isatty(STDOUT_FILENO);
	return known == 1;
}

/* "^[" for ESC, as cat -v has it; what is no UTF-8 or a C1 control is a question mark. */
static void put_control(const char *s, size_t len)
{
	if (len == 1 && (unsigned char)*s < 0x80)
		(void)printf("^%c", *s ^ 0x40);
	else
		(void)putchar('?');
}

void put_text(const char *text, size_t len)
{
	size_t i = 0;

	if (!on_terminal()) {
		(void)fwrite(text, 1, len, stdout);
		return;
	}
	while (i < len) {
		size_t n = str_utf8_len(text + i, len - i);

		if (n == 0 || (text[i] != '\t' && str_is_control(text + i, n)))
			put_control(text + i, MAX(n, (size_t)1));
		else
			(void)fwrite(text + i, 1, n, stdout);
		i += MAX(n, (size_t)1);
	}
}

void put_json(struct json_object *value)
{
	(void)printf("%s\n",
		     json_object_to_json_string_ext(
			     value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* ---- tables --------------------------------------------------------------------------
 */

/* Characters, not bytes: close enough for names and sentences. */
static size_t text_width(const char *s)
{
	size_t width = 0;

	for (; *s; s++)
		width += ((unsigned char)*s & 0xC0) != 0x80;
	return width;
}

void table_begin(struct table *t, size_t columns, const char *const *titles)
{
	*t = (struct table){ .columns = columns };
	buf_init(&t->cells, CELLS_MAX);
	table_row(t, titles);
}

void table_row(struct table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->columns; i++) {
		const char *cell = cells[i] && cells[i][0] ? cells[i] : "-";

		if (buf_append(&t->cells, cell, strlen(cell) + 1) < 0)
			exit(say(PODCTL_FAILED, "the table is too large"));
		t->width[i] = MAX(t->width[i], text_width(cell));
	}
}

void table_end(struct table *t)
{
	const char *cell = t->cells.len ? buf_head(&t->cells) : NULL;
	const char *end = cell ? cell + t->cells.len : NULL;

	for (size_t i = 0; cell < end; i = (i + 1) % t->columns) {
		size_t pad = t->width[i] - text_width(cell);

		put_text(cell, strlen(cell));
		if (i + 1 < t->columns)
			(void)printf("%*s", (int)pad + 3, "");
		else
			(void)putchar('\n');
		cell += strlen(cell) + 1;
	}
	buf_free(&t->cells);
}

void text_duration(int64_t seconds, char *buf, size_t size)
{
	long long s = seconds;

	if (s < 120)
		(void)snprintf(buf, size, "%llds", s);
	else if (s < 600)
		(void)snprintf(buf, size, "%lldm%llds", s / 60, s % 60);
	else if (s < 10800)
		(void)snprintf(buf, size, "%lldm", s / 60);
	else if (s < 86400)
		(void)snprintf(buf, size, "%lldh%lldm", s / 3600, s / 60 % 60);
	else
		(void)snprintf(buf, size, "%lldd%lldh", s / 86400, s / 3600 % 24);
}

void text_age(const char *stamp, char *buf, size_t size)
{
	struct tm tm = { 0 };

	(void)snprintf(buf, size, "-");
	if (!stamp || !strptime(stamp, "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	/* Two machines' clocks may differ: nothing is younger than now. */
	text_duration(MAX((int64_t)(time(NULL) - timegm(&tm)), (int64_t)0), buf, size);
}

/* ---- members of objects ---------------------------------------------------------------
 */

struct json_object *get(struct json_object *obj, const char *key)
{
	struct json_object *value = NULL;

	/* json-c aborts on other types; an answer may be anything. */
	if (json_object_is_type(obj, json_type_object))
		(void)json_object_object_get_ex(obj, key, &value);
	return value;
}

const char *get_string(struct json_object *obj, const char *key, const char *absent)
{
	struct json_object *value = get(obj, key);

	return json_object_is_type(value, json_type_string) ?
		       json_object_get_string(value) :
		       absent;
}

int64_t get_int(struct json_object *obj, const char *key, int64_t absent)
{
	struct json_object *value = get(obj, key);

	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) :
							   absent;
}

size_t list_len(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ?
		       json_object_array_length(list) :
		       0;
}
