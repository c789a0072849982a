// SPDX-License-Identifier: Apache-2.0
/*
 * request.c - see request.h.
 */
#include "control/request.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "config/diag.h"
#include "config/json_scan.h"
#include "control/grammar.h"

static int fail(char *desc, const char *text)
{
	(void)snprintf(desc, REQUEST_DESC_BYTES, "%s", text);
	return -EINVAL;
}

/* JSON as RFC 8259 has it and stricter: json-c alone would keep the last of two equal
 * members, saturate numbers and take a comma before the end. 0, 1 when it can be parsed
 * but is refused, -EINVAL. *ret_id_intact: json-c will read the id as it was written, so
 * it can be echoed. */
static int scan(const char *text, size_t len, char *desc, bool *ret_id_intact)
{
	static struct diag d; /* 12 KiB: not for the stack; there is one thread */
	size_t start, end;
	int r;

	diag_init(&d, "");
	r = json_scan(text, len, GRAMMAR_DEPTH_MAX, &d, &d, &start, &end);
	if (r == -ENOMEM)
		return fail(desc, "out of memory");
	*ret_id_intact = d.errors == d.n; /* else some flaws are not told */
	for (size_t i = 0; i < d.n; i++)
		if (strcmp(d.items[i].pointer, "/id") == 0 ||
		    strncmp(d.items[i].pointer, "/id/", 4) == 0)
			*ret_id_intact = false;
	if (r == 0 && d.errors == 0)
		return 0;
	(void)snprintf(desc, REQUEST_DESC_BYTES, "%s%s%s%s", r < 0 ? "not JSON: " : "",
		       d.n ? d.items[0].pointer : "",
		       d.n && d.items[0].pointer[0] ? ": " : "",
		       d.n ? d.items[0].text : "refused");
	return r < 0 ? -EINVAL : 1;
}

static struct json_object *parse(const char *text, size_t len, char *desc)
{
	/* json-c counts the leaf values as a level of their own. */
	struct json_tokener *tok = json_tokener_new_ex(GRAMMAR_DEPTH_MAX + 2);
	struct json_object *root;

	if (!tok) {
		(void)fail(desc, "out of memory");
		return NULL;
	}
	root = json_tokener_parse_ex(tok, text, (int)len);
	if (!root)
		(void)snprintf(desc, REQUEST_DESC_BYTES, "not JSON: %s",
			       json_tokener_error_desc(json_tokener_get_error(tok)));
	json_tokener_free(tok);
	return root;
}

static int take_execute(struct request *r, struct json_object *value, char *desc)
{
	if (!json_object_is_type(value, json_type_string))
		return fail(desc, "'execute' must be a string");
	r->execute = json_object_get_string(value);
	return 0;
}

static bool is_answer_member(const char *key)
{
	return strcmp(key, "return") == 0 || strcmp(key, "error") == 0 ||
	       strcmp(key, "event") == 0 || strcmp(key, "QMP") == 0;
}

/* Every error is looked for after the id was taken, so that it can be echoed. */
static int check_members(struct request *r, char *desc)
{
	int err = 0;

	json_object_object_foreach(r->root, key, value) {
		r->answer |= is_answer_member(key);
		if (strcmp(key, "id") == 0 || err < 0)
			continue;
		if (strcmp(key, "execute") == 0) {
			err = take_execute(r, value, desc);
		} else if (strcmp(key, "arguments") == 0) {
			r->arguments = value;
			if (!json_object_is_type(value, json_type_object))
				err = fail(desc, "'arguments' must be an object");
		} else {
			(void)snprintf(desc, REQUEST_DESC_BYTES,
				       "unknown member '%.64s' of the request", key);
			err = -EINVAL;
		}
	}
	return err;
}

int request_parse(const char *text, size_t len, struct request *ret,
		  char desc[static REQUEST_DESC_BYTES])
{
	size_t id_bytes = 0;
	bool id_intact = false;
	int flawed, err;

	*ret = (struct request){ 0 };
	flawed = scan(text, len, desc, &id_intact);
	if (flawed < 0)
		return flawed;
	ret->root = parse(text, len, desc);
	if (!ret->root)
		return -EINVAL;
	if (id_intact && json_object_object_get_ex(ret->root, "id", &ret->id)) {
		(void)json_object_to_json_string_length(ret->id, JSON_C_TO_STRING_PLAIN,
							&id_bytes);
		if (id_bytes > REQUEST_ID_BYTES) {
			ret->id = NULL;
			return fail(desc, "'id' is too long");
		}
		ret->has_id = true;
	}
	if (flawed)
		return -EINVAL;
	err = check_members(ret, desc);
	if (err < 0)
		return err;
	if (!ret->execute)
		return fail(desc, "'execute' is missing");
	return 0;
}

void request_free(struct request *r)
{
	json_object_put(r->root);
	*r = (struct request){ 0 };
}
