// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_env.c - .env of a container: a value, or the field it comes from.
 *
 * Source: core/v1 types.go (EnvVar, EnvVarSource, ObjectFieldSelector), core/validation
 * (validateEnv, validEnvDownwardAPIFieldPathExpressions).
 */
#include <json-c/json.h>
#include <string.h>

#include "base/str.h"
#include "config/manifest_parts.h"
#include "config/name_check.h"

struct field_path {
	const char *path;
	enum env_source source;
};

static const struct field_path plain_paths[] = {
	{ "metadata.name", ENV_POD_NAME },
	{ "metadata.namespace", ENV_POD_NAMESPACE },
	{ "metadata.uid", ENV_POD_UID },
	{ "spec.nodeName", ENV_NODE_NAME },
	{ "spec.serviceAccountName", ENV_SERVICE_ACCOUNT },
	{ "status.hostIP", ENV_HOST_IP },
	{ "status.hostIPs", ENV_HOST_IPS },
	{ "status.podIP", ENV_POD_IP },
	{ "status.podIPs", ENV_POD_IPS },
};

static const struct field_path keyed_paths[] = {
	{ "metadata.labels['", ENV_POD_LABEL },
	{ "metadata.annotations['", ENV_POD_ANNOTATION },
};

static void fault_path(struct json_reader *r, const struct json_at *at, const char *text)
{
	const char *known[ARRAY_SIZE(plain_paths)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(plain_paths); i++)
		known[i] = plain_paths[i].path;
	near = str_nearest(text, known, ARRAY_SIZE(known));
	if (near)
		json_fault(r, at, DIAG_VALUE,
			   "unsupported fieldPath \"%.64s\"; did you mean \"%s\"?", text,
			   near);
	else
		json_fault(r, at, DIAG_VALUE, "unsupported fieldPath \"%.64s\"", text);
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
	struct spec_env *env = out;
	const char *text = json_text(at);

	for (size_t i = 0; i < ARRAY_SIZE(plain_paths); i++)
		if (!strcmp(text, plain_paths[i].path)) {
			env->source = plain_paths[i].source;
			return;
		}
	if (!read_keyed(r, at, text, env))
		fault_path(r, at, text);
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

static void read_field_ref(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, field_ref_fields, out);
}

static const struct field source_fields[] = {
	FIELD_CALL("fieldRef", FIELD_OBJECT, read_field_ref),
	FIELD_REFUSE("resourceFieldRef", FIELD_OBJECT, NULL),
	FIELD_REFUSE("configMapKeyRef", FIELD_OBJECT, NULL),
	FIELD_REFUSE("secretKeyRef", FIELD_OBJECT, NULL),
	FIELD_REFUSE("fileKeyRef", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

static void read_source(struct json_reader *r, const struct json_at *at, void *out)
{
	struct json_at value = json_member(at->parent, "value");

	if (*json_text(&value))
		json_fault(r, at, DIAG_VALUE,
			   "valueFrom may not be given together with a value");
	if (json_length(at) != 1)
		json_fault(r, at, json_length(at) ? DIAG_VALUE : DIAG_MISSING,
			   "valueFrom must have exactly one source");
	json_fields_read(r, at, source_fields, out);
}

static const struct field env_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_env, name, .check = name_check_env,
		 .required = true),
	FIELD_AT("value", FIELD_STRING, struct spec_env, value,
		 .check = name_check_argument),
	FIELD_CALL("valueFrom", FIELD_OBJECT, read_source),
	FIELD_TABLE_END,
};

static void read_env_entry(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_spec *c = out;
	struct spec_env env = { .value = "" };

	json_fields_read(r, at, env_fields, &env);
	c->env[c->n_env++] = env;
}

void manifest_read_env(struct json_reader *r, const struct json_at *at,
		       struct container_spec *c)
{
	if (!manifest_check_length(r, at, MANIFEST_ENV))
		return;
	c->env = json_keep_array(r, json_length(at), sizeof(*c->env));
	if (c->env)
		json_list_read(r, at, read_env_entry, c);
}
