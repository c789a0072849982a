// SPDX-License-Identifier: Apache-2.0
/*
 * timeline.c - see timeline.h.
 */
#include "init/timeline.h"

#include <json-c/json.h>

#include "base/time.h"

void timeline_stamp(struct timeline *t, const char *stage)
{
	if (t->n == TIMELINE_MAX)
		return;
	t->stamps[t->n].stage = stage;
	t->stamps[t->n].at_ns = time_boot_ns();
	t->n++;
}

static struct json_object *stamp_json(const char *stage, int64_t at_ns)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	if (json_object_object_add(o, "stage", json_object_new_string(stage)) < 0 ||
	    json_object_object_add(o, "atNs", json_object_new_int64(at_ns)) < 0) {
		json_object_put(o);
		return NULL;
	}
	return o;
}

struct json_object *timeline_json(const struct timeline *t)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; list && i < t->n; i++) {
		struct json_object *o = stamp_json(t->stamps[i].stage,
						   t->stamps[i].at_ns);

		if (!o || json_object_array_add(list, o) < 0) {
			json_object_put(o);
			json_object_put(list);
			return NULL;
		}
	}
	return list;
}
