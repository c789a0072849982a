// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_env.c - .env and .envFrom of a container.
 *
 * Source: core/v1 types.go (EnvVar, EnvVarSource, EnvFromSource), core/validation
 * (validateEnv, ValidateEnvFrom).
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

static void read_field_ref(struct json_reader *r, const struct json_at *at, void *out)
{
	manifest_read_field_ref(r, at, false, out);
}

static void read_resource_ref(struct json_reader *r, const struct json_at *at, void *out)
{
	manifest_read_resource_ref(r, at, out);
}

static void read_config_map_key(struct json_reader *r, const struct json_at *at,
				void *out)
{
	manifest_read_key_ref(r, at, OBJECT_CONFIG_MAP, out);
}

static void read_secret_key(struct json_reader *r, const struct json_at *at, void *out)
{
	manifest_read_key_ref(r, at, OBJECT_SECRET, out);
}

static const struct field source_fields[] = {
	FIELD_CALL("fieldRef", FIELD_OBJECT, read_field_ref),
	FIELD_CALL("resourceFieldRef", FIELD_OBJECT, read_resource_ref),
	FIELD_CALL("configMapKeyRef", FIELD_OBJECT, read_config_map_key),
	FIELD_CALL("secretKeyRef", FIELD_OBJECT, read_secret_key),
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

/* ---- envFrom ---- */

static void read_config_map(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_env_from *from = out;

	manifest_read_object_ref(r, at, OBJECT_CONFIG_MAP, &from->object);
}

static void read_secret(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_env_from *from = out;

	manifest_read_object_ref(r, at, OBJECT_SECRET, &from->object);
}

static const struct field env_from_fields[] = {
	FIELD_AT("prefix", FIELD_STRING, struct spec_env_from, prefix,
		 .check = name_check_env),
	FIELD_CALL("configMapRef", FIELD_OBJECT, read_config_map),
	FIELD_CALL("secretRef", FIELD_OBJECT, read_secret),
	FIELD_TABLE_END,
};

static void read_env_from_entry(struct json_reader *r, const struct json_at *at,
				void *out)
{
	struct container_spec *c = out;
	struct spec_env_from from = { .prefix = "" };
	struct json_at config_map = json_member(at, "configMapRef");
	struct json_at secret = json_member(at, "secretRef");

	if (!config_map.value == !secret.value)
		json_fault(r, at, DIAG_VALUE,
			   "must have one of configMapRef and secretRef");
	json_fields_read(r, at, env_from_fields, &from);
	c->env_from[c->n_env_from++] = from;
}

void manifest_read_env_from(struct json_reader *r, const struct json_at *at,
			    struct container_spec *c)
{
	if (!manifest_check_length(r, at, MANIFEST_ENV))
		return;
	c->env_from = json_keep_array(r, json_length(at), sizeof(*c->env_from));
	if (c->env_from)
		json_list_read(r, at, read_env_from_entry, c);
}
