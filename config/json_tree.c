// SPDX-License-Identifier: Apache-2.0
/*
 * json_tree.c - see json_tree.h. Recursion is bounded by the depth that json_scan() took.
 */
#include "config/json_tree.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "config/json_string.h"

struct tree {
	const char *text;
	size_t len, pos;
	char *scratch; /* one decoded string or number with its NUL */
};

static char tree_peek(const struct tree *t)
{
	return t->pos < t->len ? t->text[t->pos] : '\0';
}

/* Over white space, and over the ',' or ':' that is due. */
static char tree_next(struct tree *t)
{
	while (tree_peek(t) && strchr(" \t\r\n,:", tree_peek(t)))
		t->pos++;
	return tree_peek(t);
}

/* Into scratch; returns the length. */
static size_t tree_string(struct tree *t)
{
	size_t start = ++t->pos, n;

	for (; tree_peek(t) != '"' && t->pos < t->len; t->pos++)
		if (tree_peek(t) == '\\')
			t->pos++;
	n = json_string_decode(t->text + start, t->pos - start, t->scratch);
	t->scratch[n] = '\0';
	t->pos++;
	return n;
}

/* Of scratch. What does not fit into 64 bits is a flaw that json_scan() has told of. */
static struct json_object *tree_number(const struct tree *t)
{
	if (t->scratch[strspn(t->scratch, "-0123456789")] == '\0')
		return json_object_new_int64(strtoll(t->scratch, NULL, 10));
	return json_object_new_double(strtod(t->scratch, NULL));
}

/* A number or a literal. A NULL that is no JSON null is a lack of memory. */
static int tree_scalar(struct tree *t, struct json_object **ret)
{
	size_t n = 0;

	while (tree_peek(t) && !strchr(" \t\r\n,:]}", tree_peek(t)))
		t->scratch[n++] = t->text[t->pos++];
	t->scratch[n] = '\0';
	*ret = NULL;
	if (t->scratch[0] == 'n')
		return 0;
	if (t->scratch[0] == 't' || t->scratch[0] == 'f')
		*ret = json_object_new_boolean(t->scratch[0] == 't');
	else
		*ret = tree_number(t);
	return *ret ? 0 : -ENOMEM;
}

static int tree_value(struct tree *t, struct json_object **ret);

static int tree_object(struct tree *t, struct json_object *object)
{
	struct json_object *value;
	char *key;
	int r = 0;

	for (t->pos++; r == 0 && tree_next(t) == '"';) {
		(void)tree_string(t);
		key = strdup(t->scratch);
		if (!key)
			return -ENOMEM;
		(void)tree_next(t);
		r = tree_value(t, &value);
		if (r == 0 && json_object_object_add(object, key, value) < 0) {
			json_object_put(value);
			r = -ENOMEM;
		}
		free(key);
	}
	t->pos++;
	return r;
}

static int tree_list(struct tree *t, struct json_object *list)
{
	struct json_object *value;
	int r = 0;

	for (t->pos++; r == 0 && tree_next(t) != ']' && t->pos < t->len;) {
		r = tree_value(t, &value);
		if (r == 0 && json_object_array_add(list, value) < 0) {
			json_object_put(value);
			r = -ENOMEM;
		}
	}
	t->pos++;
	return r;
}

static int tree_nest(struct tree *t, bool object, struct json_object **ret)
{
	struct json_object *nest = object ? json_object_new_object() :
					    json_object_new_array();
	int r;

	if (!nest)
		return -ENOMEM;
	r = object ? tree_object(t, nest) : tree_list(t, nest);
	if (r < 0)
		json_object_put(nest);
	else
		*ret = nest;
	return r;
}

static int tree_value(struct tree *t, struct json_object **ret)
{
	size_t n;

	switch (tree_peek(t)) {
	case '{':
		return tree_nest(t, true, ret);
	case '[':
		return tree_nest(t, false, ret);
	case '"':
		n = tree_string(t);
		*ret = json_object_new_string_len(t->scratch, (int)n);
		return *ret ? 0 : -ENOMEM;
	default:
		return tree_scalar(t, ret);
	}
}

int json_tree_build(const char *text, size_t len, struct json_object **ret)
{
	struct tree t = { .text = text, .len = len, .scratch = malloc(len + 1) };
	struct json_object *root = NULL;
	int r = t.scratch ? tree_value(&t, &root) : -ENOMEM;

	free(t.scratch);
	if (r == 0)
		*ret = root;
	return r;
}
