// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_create.c - podctl's commands about manifests, and the ConfigMaps and Secrets
 * that come in them.
 *
 * Owns: nothing. Called by: podctl.c.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "config/pod_spec.h"
#include "control/podctl.h"

#define NAMES_SHOWN 6 /* of a list in a table */

static void put_created(struct json_object *result)
{
	struct json_object *list = get(result, "created");

	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *pod = json_object_array_get_idx(list, i);

		(void)printf("pod %s/%s created\n", get_string(pod, "namespace", "?"),
			     get_string(pod, "name", "?"));
	}
}

/* As kubectl says it. */
static void put_applied(struct json_object *result)
{
	struct json_object *list = get(result, "applied");

	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		(void)printf("%s %s/%s %s\n", get_string(o, "kind", "?"),
			     get_string(o, "namespace", "?"), get_string(o, "name", "?"),
			     get_string(o, "change", "?"));
	}
}

static int say_refused(struct json_object *result)
{
	struct json_object *list = get(result, "refused"), *pod, *errors, *e;
	int r = PODCTL_OK;

	for (size_t i = 0; i < list_len(list); i++) {
		pod = json_object_array_get_idx(list, i);
		errors = get(pod, "errors");
		r = PODCTL_FAILED;
		for (size_t k = 0; k < list_len(errors); k++) {
			e = json_object_array_get_idx(errors, k);
			(void)say(0, "%s %s/%s: %s: %s", get_string(pod, "kind", "pod"),
				  get_string(pod, "namespace", "?"),
				  get_string(pod, "name", "?"),
				  get_string(e, "pointer", ""),
				  get_string(e, "message", "?"));
		}
	}
	return r;
}

static int create_one(struct podctl *p, const char *path)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = read_file(path, POD_SPEC_FILE_BYTES, &text);
	struct json_object *args, *result = NULL;
	int r;

	if (len < 0)
		return say(PODCTL_FAILED, "%s: %s", path, strerror((int)-len));
	args = json_object_new_object();
	(void)json_object_object_add(args, "text",
				     json_object_new_string_len(text, (int)len));
	r = conn_call(p, "pod-create", args, &result);
	if (r == 0 && p->json)
		put_json(result);
	if (r == 0 && !p->json) {
		put_applied(result);
		put_created(result);
	}
	if (r == 0)
		r = say_refused(result);
	json_object_put(result);
	return r;
}

int podctl_create(struct podctl *p)
{
	int worst = PODCTL_OK;

	for (int i = 0; i < p->n_args; i++) {
		int r = create_one(p, p->args[i]);

		if (r > PODCTL_USAGE)
			return r;
		worst = MAX(worst, r);
	}
	return worst;
}

/* ---- ConfigMaps and Secrets ----------------------------------------------------------
 */

/* "a, b and 3 more" */
static void join_names(struct json_object *list, char *buf, size_t size)
{
	size_t n = list_len(list), len = 0;

	(void)snprintf(buf, size, "-");
	for (size_t i = 0; i < n && len < size; i++) {
		if (i == NAMES_SHOWN && n > NAMES_SHOWN + 1) {
			(void)snprintf(buf + len, size - len, " and %zu more", n - i);
			return;
		}
		len += (size_t)snprintf(
			buf + len, size - len, "%s%s", i ? "," : "",
			json_object_get_string(json_object_array_get_idx(list, i)));
	}
}

static void put_objects(struct json_object *list)
{
	static const char *const titles[] = { "NAMESPACE", "KIND", "NAME",
					      "BYTES",     "KEYS", "USED BY" };
	struct table t;

	table_begin(&t, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < list_len(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		char bytes[24], keys[512], users[512];
		const char *const cells[] = {
			get_string(o, "namespace", "?"),
			get_string(o, "kind", "?"),
			get_string(o, "name", "?"),
			bytes,
			keys,
			users,
		};

		(void)snprintf(bytes, sizeof(bytes), "%" PRId64, get_int(o, "bytes", 0));
		join_names(get(o, "keys"), keys, sizeof(keys));
		join_names(get(o, "usedBy"), users, sizeof(users));
		table_row(&t, cells);
	}
	table_end(&t);
}

int podctl_objects(struct podctl *p)
{
	struct json_object *args = json_object_new_object(), *list = NULL;
	int r;

	if (p->namespace)
		(void)json_object_object_add(args, "namespace",
					     json_object_new_string(p->namespace));
	r = conn_call(p, "object-list", args, &list);
	if (r == 0 && p->json)
		put_json(list);
	else if (r == 0)
		put_objects(list);
	json_object_put(list);
	return r;
}

int podctl_delete_object(struct podctl *p)
{
	struct json_object *args = pod_arguments(p->args[1]);

	if (!args)
		return PODCTL_USAGE;
	(void)json_object_object_add(args, "kind", json_object_new_string(p->args[0]));
	return pod_call(p, "object-delete", args, "deleted");
}
