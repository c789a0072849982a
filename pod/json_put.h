// SPDX-License-Identifier: Apache-2.0
/*
 * json_put.h - members of JSON objects, for status_json.c and status_lists.c.
 *
 * A NULL from json-c (memory) becomes a null in the text, never a crash: json-c's add
 * functions take NULL values.
 */
#ifndef POD_JSON_PUT_H
#define POD_JSON_PUT_H

#include <json-c/json.h>

#include "base/time.h"
#include "base/util.h"

typedef struct json_object json;

static inline void put(json *o, const char *key, json *value)
{
	(void)json_object_object_add(o, key,
				     value); /* out of memory: the key is absent */
}

static inline void put_string(json *o, const char *key, const char *value)
{
	if (value)
		put(o, key, json_object_new_string(value));
}

static inline void put_int(json *o, const char *key, int64_t value)
{
	put(o, key, json_object_new_int64(value));
}

static inline void put_bool(json *o, const char *key, bool value)
{
	put(o, key, json_object_new_boolean(value));
}

static inline void put_time(json *o, const char *key, int64_t wall_ns)
{
	char text[TIME_TEXT_SIZE];

	if (!wall_ns)
		return;
	time_text_sec(wall_ns, text);
	put_string(o, key, text);
}

#endif
