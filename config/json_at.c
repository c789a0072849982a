// SPDX-License-Identifier: Apache-2.0
/*
 * json_at.c - the cursor of json_field.h: a value, the way to it, what is said about it.
 *
 * A pointer's text is built only when there is something to say.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/json_field.h"

/* Room for deep paths with long label keys; diag.c cuts what is longer than it keeps. */
#define AT_POINTER_BYTES 1024

struct json_at json_member(const struct json_at *at, const char *key)
{
	struct json_at member = { .parent = at, .key = key };

	(void)json_object_object_get_ex(at->value, key, &member.value);
	return member;
}

struct json_at json_element(const struct json_at *at, size_t index)
{
	return (struct json_at){ .parent = at,
				 .index = index,
				 .value = json_object_array_get_idx(at->value, index) };
}

size_t json_length(const struct json_at *at)
{
	if (json_object_is_type(at->value, json_type_array))
		return json_object_array_length(at->value);
	if (json_object_is_type(at->value, json_type_object))
		return (size_t)json_object_object_length(at->value);
	return 0;
}

const char *json_text(const struct json_at *at)
{
	/* json-c would print any other type as JSON text. */
	if (!json_object_is_type(at->value, json_type_string))
		return "";
	return json_object_get_string(at->value);
}

char *json_keep(struct json_reader *r, const char *text)
{
	char *copy = arena_strdup(r->arena, text);

	if (!copy)
		r->out_of_memory = true;
	return copy;
}

void *json_keep_array(struct json_reader *r, size_t n, size_t size)
{
	void *array = arena_array(r->arena, n, size);

	if (!array)
		r->out_of_memory = true;
	return array;
}

static size_t json_pointer_append(const struct json_at *at, char *buf, size_t size)
{
	size_t n;
	const char *p;

	if (!at || !at->parent)
		return 0;
	n = json_pointer_append(at->parent, buf, size);
	if (!at->key)
		return MIN(n + (size_t)snprintf(buf + n, size - n, "/%zu", at->index),
			   size - 1);
	if (n + 1 < size)
		buf[n++] = '/';
	for (p = at->key; *p && n + 3 < size; p++) {
		if (*p == '~' || *p == '/')
			buf[n++] = '~';
		buf[n++] = *p == '~' ? '0' : *p == '/' ? '1' : *p;
	}
	return n;
}

void json_at_pointer(const struct json_at *at, char *buf, size_t size)
{
	buf[json_pointer_append(at, buf, size)] = '\0';
}

void json_fault(struct json_reader *r, const struct json_at *at, enum diag_kind kind,
		const char *fmt, ...)
{
	char pointer[AT_POINTER_BYTES], text[DIAG_TEXT];
	va_list ap;

	/* A hostile file has errors by the hundred thousand: past the limit only count.
	 */
	pointer[0] = text[0] = '\0';
	if (r->diag->n < DIAG_MAX) {
		va_start(ap, fmt);
		(void)vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		json_at_pointer(at, pointer, sizeof(pointer));
	}
	diag_add(r->diag, kind, pointer, "%s", text);
}

void json_warn(struct json_reader *r, const struct json_at *at, const char *fmt, ...)
{
	char pointer[AT_POINTER_BYTES], text[DIAG_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_at_pointer(at, pointer, sizeof(pointer));
	diag_warn(r->diag, pointer, "%s", text);
}

bool json_check_range(struct json_reader *r, const struct json_at *at, int64_t value,
		      int64_t min, int64_t max)
{
	if (value >= min && value <= max)
		return true;
	if (max == INT64_MAX)
		json_fault(r, at, DIAG_VALUE, "must be %lld or more", (long long)min);
	else
		json_fault(r, at, DIAG_VALUE, "must be between %lld and %lld",
			   (long long)min, (long long)max);
	return false;
}

void json_join_words(const char *const *words, char *buf, size_t size)
{
	size_t n = 0, i;

	buf[0] = '\0';
	for (i = 0; words[i] && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s\"%s\"",
				      i == 0       ? "" :
				      words[i + 1] ? ", " :
						     " or ",
				      words[i]);
}
