// SPDX-License-Identifier: Apache-2.0
/*
 * json_field.c - see json_field.h: the table engine. The cursor is in json_at.c.
 */
#include "config/json_field.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* The largest table, PodSpec's, has 43 rows. */
#define FIELD_TABLE_MAX 64

static const char *json_type_word(enum json_type type)
{
	static const char *const words[] = {
		[json_type_null] = "null",        [json_type_boolean] = "a boolean",
		[json_type_double] = "a number",  [json_type_int] = "a number",
		[json_type_object] = "an object", [json_type_array] = "a list",
		[json_type_string] = "a string",
	};

	return (unsigned int)type < ARRAY_SIZE(words) ? words[type] : "?";
}

static bool field_expect(struct json_reader *r, const struct json_at *at,
			 enum json_type type)
{
	enum json_type is = json_object_get_type(at->value);

	if (is == type)
		return true;
	if (type == json_type_int && is == json_type_double)
		json_fault(r, at, DIAG_TYPE,
			   "must be a whole number, written without "
			   "point or exponent");
	else
		json_fault(r, at, DIAG_TYPE, "must be %s, not %s", json_type_word(type),
			   json_type_word(is));
	return false;
}

static bool field_expect_type(struct json_reader *r, const struct json_at *at,
			      enum field_type type)
{
	switch (type) {
	case FIELD_STRING:
	case FIELD_WORD:
		return field_expect(r, at, json_type_string);
	case FIELD_BOOL:
		return field_expect(r, at, json_type_boolean);
	case FIELD_INT:
		return field_expect(r, at, json_type_int);
	case FIELD_STRINGS:
	case FIELD_LIST:
		return field_expect(r, at, json_type_array);
	case FIELD_OBJECT:
		return field_expect(r, at, json_type_object);
	case FIELD_ANY:
		break;
	}
	return true;
}

const char *json_expect_string(struct json_reader *r, const struct json_at *at)
{
	return field_expect(r, at, json_type_string) ? json_object_get_string(at->value) :
						       NULL;
}

bool json_expect_object(struct json_reader *r, const struct json_at *at)
{
	return field_expect(r, at, json_type_object);
}

/* Is the value one of the words of list? "{}" and "[]" stand for empty ones. */
static bool field_is_harmless(const struct json_at *at, const char *list)
{
	char number[24];
	const char *text = "", *p;
	size_t n;

	switch (json_object_get_type(at->value)) {
	case json_type_object:
		text = json_object_object_length(at->value) ? "" : "{}";
		break;
	case json_type_array:
		text = json_object_array_length(at->value) ? "" : "[]";
		break;
	case json_type_string:
		text = json_object_get_string(at->value);
		break;
	case json_type_boolean:
		text = json_object_get_boolean(at->value) ? "true" : "false";
		break;
	case json_type_int:
		(void)snprintf(number, sizeof(number), "%lld",
			       (long long)json_object_get_int64(at->value));
		text = number;
		break;
	case json_type_null:
	case json_type_double:
		return false;
	}
	for (p = list; p && *text && *p; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		if (strlen(text) == n && strncmp(text, p, n) == 0)
			return true;
	}
	return false;
}

/* The index of the value in words, or -1 after an error was added. */
static int field_word(struct json_reader *r, const struct json_at *at,
		      const char *const *words)
{
	const char *text = json_object_get_string(at->value);
	char list[DIAG_TEXT];
	int i;

	for (i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	json_join_words(words, list, sizeof(list));
	json_fault(r, at, DIAG_VALUE, "unsupported value \"%.40s\"; must be %s", text,
		   list);
	return -1;
}

/* The checks that concern what a value is, whether or not it is used. */
static bool field_check_value(struct json_reader *r, const struct json_at *at,
			      const struct field *f)
{
	if (!field_expect_type(r, at, f->type))
		return false;
	if (f->type == FIELD_INT && (f->min || f->max))
		return json_check_range(r, at, json_object_get_int64(at->value), f->min,
					f->max);
	if (f->words)
		return field_word(r, at, f->words) >= 0;
	return true;
}

static bool field_check_text(struct json_reader *r, const struct json_at *at,
			     const struct field *f, const char *text)
{
	const char *wrong = f->check ? f->check(text) : NULL;

	if (wrong && *text)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text, wrong);
	else if (wrong)
		json_fault(r, at, DIAG_VALUE, "must not be empty; must be %s", wrong);
	return !wrong;
}

void json_store_strings(struct json_reader *r, const struct json_at *at,
			const struct field *f, const char ***place)
{
	size_t n = json_length(at), i;
	const char **list = json_keep_array(r, n + 1, sizeof(*list));

	for (i = 0; list && i < n; i++) {
		struct json_at item = json_element(at, i);
		const char *text = json_expect_string(r, &item);

		if (!text)
			list[i] = "";
		else if (field_check_text(r, &item, f, text))
			list[i] = json_keep(r, text);
	}
	if (list)
		*place = list;
}

static void field_store(struct json_reader *r, const struct json_at *at,
			const struct field *f, void *out)
{
	void *place = (char *)out + f->offset;
	const char *text;

	switch (f->type) {
	case FIELD_STRING:
		text = json_object_get_string(at->value);
		if (field_check_text(r, at, f, text))
			*(const char **)place = json_keep(r, text);
		break;
	case FIELD_BOOL:
		*(bool *)place = json_object_get_boolean(at->value);
		break;
	case FIELD_INT:
		*(int64_t *)place = json_object_get_int64(at->value);
		break;
	case FIELD_WORD:
		*(int *)place = field_word(r, at, f->words);
		break;
	case FIELD_STRINGS:
		json_store_strings(r, at, f, place);
		break;
	case FIELD_OBJECT:
	case FIELD_LIST:
	case FIELD_ANY:
		break;
	}
}

void json_refuse(struct json_reader *r, const struct json_at *at)
{
	if (json_object_is_type(at->value, json_type_string))
		json_fault(r, at, DIAG_UNSUPPORTED,
			   "the Kubernetes field \"%s\" (here \"%.64s\") is not "
			   "supported by "
			   "podinit yet",
			   at->key, json_object_get_string(at->value));
	else
		json_fault(r, at, DIAG_UNSUPPORTED,
			   "the Kubernetes field \"%s\" is not supported by podinit yet",
			   at->key);
}

static void field_read(struct json_reader *r, const struct json_at *at,
		       const struct field *f, void *out)
{
	if (!field_check_value(r, at, f))
		return;
	switch (f->status) {
	case FIELD_READ:
		if (f->read)
			f->read(r, at, out);
		else
			field_store(r, at, f, out);
		break;
	case FIELD_IGNORED:
		if (f->note && !field_is_harmless(at, f->harmless))
			json_warn(r, at, "\"%s\" has no effect: %s", f->name, f->note);
		break;
	case FIELD_UNSUPPORTED:
		if (!field_is_harmless(at, f->harmless))
			json_refuse(r, at);
		break;
	}
}

static const struct field *field_find(const struct field *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static const char *field_near_miss(const struct field *table, const char *name)
{
	const char *names[FIELD_TABLE_MAX];
	size_t n = 0;

	for (; table->name && n < FIELD_TABLE_MAX; table++)
		names[n++] = table->name;
	return str_nearest(name, names, n);
}

static void field_unknown(struct json_reader *r, const struct json_at *at,
			  const struct field *table)
{
	const char *near = NULL;

	if (r->diag->n < DIAG_MAX)
		near = field_near_miss(table, at->key);
	if (near)
		json_fault(r, at, DIAG_UNKNOWN,
			   "unknown field \"%.64s\"; did you mean "
			   "\"%s\"?",
			   at->key, near);
	else
		json_fault(r, at, DIAG_UNKNOWN, "unknown field \"%.64s\"", at->key);
}

static bool field_is_absent(const struct json_reader *r, const struct json_at *at,
			    const struct field *f)
{
	if (!at->value)
		return true;
	return r->empty_is_absent && !f->required &&
	       (f->type == FIELD_STRING || f->type == FIELD_WORD) &&
	       json_object_is_type(at->value, json_type_string) && !*json_text(at);
}

void json_fields_read(struct json_reader *r, const struct json_at *at,
		      const struct field *table, void *out)
{
	const struct field *f;

	for (f = table; f->name; f++) {
		struct json_at member = json_member(at, f->name);

		if (!field_is_absent(r, &member, f))
			field_read(r, &member, f, out);
		else if (f->required)
			json_fault(r, &member, DIAG_MISSING,
				   "the required field \"%s\" is missing", f->name);
	}
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };

		if (!field_find(table, key))
			field_unknown(r, &member, table);
	}
}

void json_list_read(struct json_reader *r, const struct json_at *at,
		    void (*read)(struct json_reader *r, const struct json_at *at,
				 void *out),
		    void *out)
{
	size_t n = json_length(at), i;

	for (i = 0; i < n && !r->out_of_memory; i++) {
		struct json_at item = json_element(at, i);

		if (field_expect(r, &item, json_type_object))
			read(r, &item, out);
	}
}
