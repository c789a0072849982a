// SPDX-License-Identifier: Apache-2.0
/*
 * json_doc.c - see json_doc.h. Two readers must agree on a text: json_scan() with its
 * stricter rules and clear words, then json-c, which makes the tree.
 */
#include "config/json_doc.h"

#include <errno.h>
#include <json-c/json.h>

#include "config/diag.h"
#include "config/json_scan.h"

static int json_doc_tree(const char *text, size_t start, size_t end, struct diag *diag,
			 struct json_object **ret)
{
	/* json-c counts a scalar as a level of its own. */
	struct json_tokener *tok = json_tokener_new_ex(JSON_DOC_DEPTH + 1);
	struct json_object *root;
	enum json_tokener_error error;
	size_t before = diag->n;

	if (!tok)
		return -ENOMEM;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tok, text + start, (int)(end - start));
	error = json_tokener_get_error(tok);
	start += json_tokener_get_parse_end(tok);
	json_tokener_free(tok);
	if (error == json_tokener_success && start == end) {
		*ret = root;
		return 0;
	}
	json_object_put(root);
	diag_add(diag, DIAG_SYNTAX, "", "%s", json_tokener_error_desc(error));
	if (diag->n > before)
		json_scan_position(text, start, &diag->items[before].line,
				   &diag->items[before].column);
	return -EINVAL;
}

int json_doc_parse(const char *text, size_t len, size_t max_bytes, struct diag *diag,
		   struct diag *flaws, struct json_object **ret)
{
	struct json_object *root;
	size_t start, end;
	int r;

	if (len > max_bytes) {
		diag_add(diag, DIAG_LIMIT, "", "%zu bytes; at most %zu are read", len,
			 max_bytes);
		return -EINVAL;
	}
	r = json_scan(text, len, JSON_DOC_DEPTH, diag, flaws, &start, &end);
	if (r < 0)
		return r;
	if (text[start] != '{') {
		diag_add(diag, DIAG_TYPE, "", "the document must be an object");
		return -EINVAL;
	}
	r = json_doc_tree(text, start, end, diag, &root);
	if (r < 0)
		return r;
	*ret = root;
	return 0;
}

void json_doc_locate(const char *text, size_t len, struct diag *diag, size_t first)
{
	size_t i;

	for (i = first; i < diag->n; i++) {
		struct diag_item *item = &diag->items[i];

		if (item->line == 0)
			json_scan_position(text,
					   json_scan_locate(text, len, item->pointer),
					   &item->line, &item->column);
	}
}
