// SPDX-License-Identifier: Apache-2.0
/*
 * json_tree.h - a checked JSON text -> a json-c tree.
 *
 * Owns: nothing; the tree is the caller's. Called by: json_doc.c.
 */
#ifndef CONFIG_JSON_TREE_H
#define CONFIG_JSON_TREE_H

#include "base/util.h"

struct json_object;

/*
 * text[0 .. len) is one value that json_scan() has let pass, so that only memory can be
 * lacking: 0 or -ENOMEM. JSON null is a NULL tree. A number of digits only is an
 * int64 (the nearest, if it is none), any other a double.
 *
 * json-c's own tokener is not used: it (0.16) uses the copy of a key without a look at
 * whether strdup() gave one, and it takes a string that could not grow for a shorter one.
 */
int json_tree_build(const char *text, size_t len, struct json_object **ret);

#endif
