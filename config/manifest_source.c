// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_source.c - where a value comes from: a field of the pod, a resource of a
 * container, a key of a ConfigMap or Secret.
 *
 * Called by: manifest_env.c and manifest_projected.c. Source: core/v1 types.go
 * (ObjectFieldSelector, ResourceFieldSelector, ConfigMapKeySelector), core/validation
 * (validEnvDownwardAPIFieldPathExpressions, validVolumeDownwardAPIFieldPathExpressions,
 * validContainerResourceDivisorForCPU).
 */
#include <string.h>

#include "base/str.h"
#include "config/manifest_parts.h"
#include "config/name_check.h"
#include "config/quantity.h"

/* ---- fieldRef ---- */

struct field_path {
	const char *path;
	enum env_source source;
	bool in_volumes, in_env;
};

struct field_read {
	struct spec_env *env;
	bool volume;
};

static const struct field_path plain_paths[] = {
	{ "metadata.name", ENV_POD_NAME, true, true },
	{ "metadata.namespace", ENV_POD_NAMESPACE, true, true },
	{ "metadata.uid", ENV_POD_UID, true, true },
	{ "metadata.labels", ENV_POD_LABELS, true, false },
	{ "metadata.annotations", ENV_POD_ANNOTATIONS, true, false },
	{ "spec.nodeName", ENV_NODE_NAME, false, true },
	{ "spec.serviceAccountName", ENV_SERVICE_ACCOUNT, false, true },
	{ "status.hostIP", ENV_HOST_IP, false, true },
	{ "status.hostIPs", ENV_HOST_IPS, false, true },
	{ "status.podIP", ENV_POD_IP, false, true },
	{ "status.podIPs", ENV_POD_IPS, false, true },
};

static const struct field_path keyed_paths[] = {
	{ "metadata.labels['", ENV_POD_LABEL, true, true },
	{ "metadata.annotations['", ENV_POD_ANNOTATION, true, true },
};

static bool path_fits(const struct field_path *p, bool volume)
{
	return volume ? p->in_volumes : p->in_env;
}

static void fault_path(struct json_reader *r, const struct json_at *at, const char *text,
		       bool volume)
{
	const char *known[ARRAY_SIZE(plain_paths)], *near;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(plain_paths); i++)
		if (path_fits(&plain_paths[i], volume))
			known[n++] = plain_paths[i].path;
	near = str_nearest(text, known, n);
	if (near)
		json_fault(r, at, DIAG_VALUE,
			   "unsupported fieldPath \"%.64s\"; did you mean \"%s\"?", text,
			   near);
	else
		json_fault(r, at, DIAG_VALUE, "unsupported fieldPath \"%.64s\"%s", text,
			   volume ? " of a volume" : "");
}

/* metadata.labels['KEY']: the key goes to value. */
static bool read_keyed(struct json_reader *r, const struct json_at *at, const char *text,
		       struct spec_env *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(keyed_paths); i++) {
		size_t head = strlen(keyed_paths[i].path), len = strlen(text);
		const char *wrong;
		char *key;

		if (strncmp(text, keyed_paths[i].path, head) != 0 || len < head + 2 ||
		    strcmp(text + len - 2, "']") != 0)
			continue;
		key = json_keep(r, text + head);
		if (!key)
			return true;
		key[len - head - 2] = '\0';
		wrong = keyed_paths[i].source == ENV_POD_LABEL ?
				name_check_key(key) :
				name_check_annotation_key(key);
		if (wrong)
			json_fault(r, at, DIAG_VALUE,
				   "the key \"%.64s\" of the fieldPath must be %s", key,
				   wrong);
		env->source = keyed_paths[i].source;
		env->value = key;
		return true;
	}
	return false;
}

static void read_path(struct json_reader *r, const struct json_at *at, void *out)
{
	struct field_read *read = out;
	const char *text = json_text(at);

	for (size_t i = 0; i < ARRAY_SIZE(plain_paths); i++)
		if (!strcmp(text, plain_paths[i].path) &&
		    path_fits(&plain_paths[i], read->volume)) {
			read->env->source = plain_paths[i].source;
			return;
		}
	if (!read_keyed(r, at, text, read->env))
		fault_path(r, at, text, read->volume);
}

static void check_version(struct json_reader *r, const struct json_at *at, void *out)
{
	const char *text = json_text(at);

	(void)out;
	if (*text && strcmp(text, "v1") != 0)
		json_fault(r, at, DIAG_VALUE,
			   "unsupported apiVersion \"%.64s\"; must be \"v1\"", text);
}

static const struct field field_ref_fields[] = {
	FIELD_CALL("fieldPath", FIELD_STRING, read_path, .required = true),
	FIELD_CALL("apiVersion", FIELD_STRING, check_version),
	FIELD_TABLE_END,
};

void manifest_read_field_ref(struct json_reader *r, const struct json_at *at, bool volume,
			     struct spec_env *env)
{
	struct field_read read = { .env = env, .volume = volume };

	json_fields_read(r, at, field_ref_fields, &read);
}

/* ---- resourceFieldRef ---- */

static const struct resource_name {
	const char *name;
	bool limit, memory;
} resource_names[] = {
	{ "limits.cpu", true, false },
	{ "limits.memory", true, true },
	{ "requests.cpu", false, false },
	{ "requests.memory", false, true },
};

static void read_resource(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_env *env = out;
	const char *text = json_text(at);

	for (size_t i = 0; i < ARRAY_SIZE(resource_names); i++)
		if (!strcmp(text, resource_names[i].name)) {
			env->resource.limit = resource_names[i].limit;
			env->resource.memory = resource_names[i].memory;
			return;
		}
	if (strstr(text, ".ephemeral-storage") || strstr(text, ".hugepages-"))
		json_refuse(r, at);
	else
		json_fault(r, at, DIAG_VALUE,
			   "unsupported resource \"%.64s\"; there are limits.cpu, "
			   "limits.memory, requests.cpu and requests.memory",
			   text);
}

/* After resource: 1 and 1m for cpus, a power of 1000 or 1024 for bytes. */
static void read_divisor(struct json_reader *r, const struct json_at *at, void *out)
{
	static const char *const cpu[] = { "1", "1m", NULL };
	static const char *const memory[] = { "1",   "1k",  "1M",  "1G",  "1T",
					      "1P",  "1E",  "1Ki", "1Mi", "1Gi",
					      "1Ti", "1Pi", "1Ei", NULL };
	struct spec_env *env = out;
	const char *text = manifest_number_text(at);
	const char *const *words = env->resource.memory ? memory : cpu;
	char list[DIAG_TEXT];

	if (!strcmp(text, "0")) /* as the API server has it: not said */
		return;
	for (const char *const *w = words; *w; w++)
		if (!strcmp(text, *w)) {
			(void)quantity_parse(text, env->resource.memory ? 0 : 3,
					     INT64_MAX, &env->resource.divisor);
			return;
		}
	json_join_words(words, list, sizeof(list));
	json_fault(r, at, DIAG_VALUE, "\"%.40s\" must be %s", text, list);
}

static const struct field resource_ref_fields[] = {
	FIELD_AT("containerName", FIELD_STRING, struct spec_env, value),
	FIELD_CALL("resource", FIELD_STRING, read_resource, .required = true),
	FIELD_CALL("divisor", FIELD_ANY, read_divisor),
	FIELD_TABLE_END,
};

void manifest_read_resource_ref(struct json_reader *r, const struct json_at *at,
				struct spec_env *env)
{
	struct json_at resource = json_member(at, "resource");

	env->source = ENV_RESOURCE;
	env->value = "";
	json_fields_read(r, at, resource_ref_fields, env);
	if (!env->resource.divisor)
		env->resource.divisor = strstr(json_text(&resource), ".cpu") ? 1000 : 1;
}

/* ---- ConfigMaps and Secrets ---- */

static const struct field ref_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_object_ref, name,
		 .check = name_check_subdomain, .required = true),
	FIELD_AT("optional", FIELD_BOOL, struct spec_object_ref, optional),
	FIELD_TABLE_END,
};

void manifest_read_object_ref(struct json_reader *r, const struct json_at *at,
			      enum object_kind kind, struct spec_object_ref *ref)
{
	ref->kind = kind;
	json_fields_read(r, at, ref_fields, ref);
}

static const struct field key_ref_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_env, object.name,
		 .check = name_check_subdomain, .required = true),
	FIELD_AT("key", FIELD_STRING, struct spec_env, value,
		 .check = name_check_data_key, .required = true),
	FIELD_AT("optional", FIELD_BOOL, struct spec_env, object.optional),
	FIELD_TABLE_END,
};

void manifest_read_key_ref(struct json_reader *r, const struct json_at *at,
			   enum object_kind kind, struct spec_env *env)
{
	env->source = ENV_OBJECT;
	env->object.kind = kind;
	json_fields_read(r, at, key_ref_fields, env);
}
