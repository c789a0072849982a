// SPDX-License-Identifier: Apache-2.0
/*
 * json_doc.c - see json_doc.h: first the checks, then the tree, which only memory can
 * still prevent.
 */
#include "config/json_doc.h"

#include <errno.h>

#include "config/diag.h"
#include "config/json_scan.h"
#include "config/json_tree.h"

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
	r = json_tree_build(text + start, end - start, &root);
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
