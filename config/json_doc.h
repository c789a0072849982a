// SPDX-License-Identifier: Apache-2.0
/*
 * json_doc.h - a JSON text of bounded size and depth -> a json-c tree.
 *
 * Owns: nothing; the tree is the caller's. Called by: manifest.c, machine.c,
 * image_config.c.
 */
#ifndef CONFIG_JSON_DOC_H
#define CONFIG_JSON_DOC_H

#include "base/util.h"

struct diag;
struct json_object;

#define JSON_DOC_DEPTH 32

/*
 * 0 and an object (json_object_put() it). Flaws that are no syntax errors (see
 * json_scan.h) are added to flaws, and the tree is made all the same, so that the other
 * errors of the file can be told too. -EINVAL with the reason in diag; -ENOMEM.
 */
int json_doc_parse(const char *text, size_t len, size_t max_bytes, struct diag *diag,
		   struct diag *flaws, struct json_object **ret);

/* Gives the items from first on their line and column, by their pointers. */
void json_doc_locate(const char *text, size_t len, struct diag *diag, size_t first);

#endif
