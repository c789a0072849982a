// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_projected.c - volumes whose files podinit writes: configMap, secret,
 * downwardAPI, and projected, which is several of them in one tree.
 *
 * Called by: manifest_volume.c. Source: core/v1 types.go (ConfigMapVolumeSource,
 * ProjectedVolumeSource and what they hold), core/validation (validateKeyToPath,
 * validateProjectedVolumeSource).
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

#define MODE_DEFAULT 0644
#define MODE_MAX     0777

struct projection_read {
	struct spec_projection *projection;
	struct spec_volume *volume;
};

static const char *check_path(const char *s)
{
	if (strncmp(s, "..", 2) == 0)
		return "a path that does not begin with \"..\"";
	return name_check_relative(s);
}

/* ---- items ---- */

static void read_field(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_item *item = out;

	manifest_read_field_ref(r, at, true, &item->value);
}

static void read_resource(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_item *item = out;
	struct json_at container = json_member(at, "containerName");

	manifest_read_resource_ref(r, at, &item->value);
	if (!*json_text(&container))
		json_fault(r, &container, DIAG_MISSING,
			   "the required field \"containerName\" is missing");
}

static const struct field key_fields[] = {
	FIELD_AT("key", FIELD_STRING, struct spec_item, key, .check = name_check_data_key,
		 .required = true),
	FIELD_AT("path", FIELD_STRING, struct spec_item, path, .check = check_path,
		 .required = true),
	FIELD_AT("mode", FIELD_INT, struct spec_item, mode, .max = MODE_MAX),
	FIELD_TABLE_END,
};

static const struct field downward_fields[] = {
	FIELD_AT("path", FIELD_STRING, struct spec_item, path, .check = check_path,
		 .required = true),
	FIELD_CALL("fieldRef", FIELD_OBJECT, read_field),
	FIELD_CALL("resourceFieldRef", FIELD_OBJECT, read_resource),
	FIELD_AT("mode", FIELD_INT, struct spec_item, mode, .max = MODE_MAX),
	FIELD_TABLE_END,
};

static void read_key_item(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_projection *p = out;
	struct spec_item item = { .mode = -1 };

	json_fields_read(r, at, key_fields, &item);
	p->items[p->n_items++] = item;
}

static void read_downward_item(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_projection *p = out;
	struct json_at field = json_member(at, "fieldRef");
	struct json_at resource = json_member(at, "resourceFieldRef");
	struct spec_item item = { .mode = -1, .value.value = "" };

	if (!field.value == !resource.value)
		json_fault(r, at, DIAG_VALUE,
			   "must have one of fieldRef and resourceFieldRef");
	json_fields_read(r, at, downward_fields, &item);
	p->items[p->n_items++] = item;
}

static void read_items(struct json_reader *r, const struct json_at *at, void *out)
{
	struct projection_read *read = out;
	struct spec_projection *p = read->projection;

	if (!manifest_check_length(r, at, MANIFEST_ITEMS))
		return;
	p->items = json_keep_array(r, json_length(at), sizeof(*p->items));
	if (p->items)
		json_list_read(r, at, p->downward ? read_downward_item : read_key_item,
			       p);
}

/* ---- sources ---- */

static void read_default_mode(struct json_reader *r, const struct json_at *at, void *out)
{
	struct projection_read *read = out;

	(void)r;
	read->volume->default_mode = json_object_get_int64(at->value);
}

static void read_name(struct json_reader *r, const struct json_at *at, void *out)
{
	struct projection_read *read = out;
	const char *text = json_text(at), *wrong = name_check_subdomain(text);

	if (wrong)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text, wrong);
	else
		read->projection->object.name = json_keep(r, text);
}

static void read_optional(struct json_reader *r, const struct json_at *at, void *out)
{
	struct projection_read *read = out;

	(void)r;
	read->projection->object.optional = json_object_get_boolean(at->value);
}

/* As a volume of its own; in a projected one without defaultMode, and a secret has a
 * name there, too. */
static const struct field config_map_fields[] = {
	FIELD_CALL("name", FIELD_STRING, read_name, .required = true),
	FIELD_CALL("items", FIELD_LIST, read_items),
	FIELD_CALL("defaultMode", FIELD_INT, read_default_mode, .max = MODE_MAX),
	FIELD_CALL("optional", FIELD_BOOL, read_optional),
	FIELD_TABLE_END,
};

static const struct field secret_fields[] = {
	FIELD_CALL("secretName", FIELD_STRING, read_name, .required = true),
	FIELD_CALL("items", FIELD_LIST, read_items),
	FIELD_CALL("defaultMode", FIELD_INT, read_default_mode, .max = MODE_MAX),
	FIELD_CALL("optional", FIELD_BOOL, read_optional),
	FIELD_TABLE_END,
};

static const struct field downward_volume_fields[] = {
	FIELD_CALL("items", FIELD_LIST, read_items),
	FIELD_CALL("defaultMode", FIELD_INT, read_default_mode, .max = MODE_MAX),
	FIELD_TABLE_END,
};

static const struct field projected_object_fields[] = {
	FIELD_CALL("name", FIELD_STRING, read_name, .required = true),
	FIELD_CALL("items", FIELD_LIST, read_items),
	FIELD_CALL("optional", FIELD_BOOL, read_optional),
	FIELD_TABLE_END,
};

static const struct field projected_downward_fields[] = {
	FIELD_CALL("items", FIELD_LIST, read_items),
	FIELD_TABLE_END,
};

static void read_source(struct json_reader *r, const struct json_at *at,
			struct spec_volume *v, const struct spec_projection *start,
			const struct field *fields)
{
	struct projection_read read = { .projection = &v->sources[v->n_sources],
					.volume = v };

	*read.projection = *start;
	v->n_sources++;
	json_fields_read(r, at, fields, &read);
}

static void read_only_source(struct json_reader *r, const struct json_at *at,
			     struct spec_volume *v, const struct spec_projection *start,
			     const struct field *fields)
{
	v->kind = VOLUME_PROJECTED;
	v->default_mode = MODE_DEFAULT;
	v->sources = json_keep_array(r, 1, sizeof(*v->sources));
	if (v->sources)
		read_source(r, at, v, start, fields);
}

static const struct spec_projection config_map = { .object.kind = OBJECT_CONFIG_MAP };
static const struct spec_projection secret = { .object.kind = OBJECT_SECRET };
static const struct spec_projection downward = { .downward = true };

void manifest_read_config_map_volume(struct json_reader *r, const struct json_at *at,
				     struct spec_volume *v)
{
	read_only_source(r, at, v, &config_map, config_map_fields);
}

void manifest_read_secret_volume(struct json_reader *r, const struct json_at *at,
				 struct spec_volume *v)
{
	read_only_source(r, at, v, &secret, secret_fields);
}

void manifest_read_downward_volume(struct json_reader *r, const struct json_at *at,
				   struct spec_volume *v)
{
	read_only_source(r, at, v, &downward, downward_volume_fields);
}

/* ---- projected ---- */

static void read_config_map(struct json_reader *r, const struct json_at *at, void *out)
{
	read_source(r, at, out, &config_map, projected_object_fields);
}

static void read_secret(struct json_reader *r, const struct json_at *at, void *out)
{
	read_source(r, at, out, &secret, projected_object_fields);
}

static void read_downward(struct json_reader *r, const struct json_at *at, void *out)
{
	read_source(r, at, out, &downward, projected_downward_fields);
}

static const struct field source_fields[] = {
	FIELD_CALL("configMap", FIELD_OBJECT, read_config_map),
	FIELD_CALL("secret", FIELD_OBJECT, read_secret),
	FIELD_CALL("downwardAPI", FIELD_OBJECT, read_downward),
	/* Made by an API server. */
	FIELD_REFUSE("serviceAccountToken", FIELD_OBJECT, NULL),
	FIELD_REFUSE("clusterTrustBundle", FIELD_OBJECT, NULL),
	FIELD_REFUSE("podCertificate", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

static void read_source_entry(struct json_reader *r, const struct json_at *at, void *out)
{
	if (json_length(at) == 1)
		json_fields_read(r, at, source_fields, out);
	else
		json_fault(r, at, DIAG_VALUE, "must have exactly one source");
}

static void read_sources(struct json_reader *r, const struct json_at *at, void *out)
{
	struct projection_read *read = out;
	struct spec_volume *v = read->volume;

	if (!manifest_check_length(r, at, MANIFEST_SOURCES))
		return;
	v->sources = json_keep_array(r, json_length(at), sizeof(*v->sources));
	if (v->sources)
		json_list_read(r, at, read_source_entry, v);
}

static const struct field projected_fields[] = {
	FIELD_CALL("sources", FIELD_LIST, read_sources),
	FIELD_CALL("defaultMode", FIELD_INT, read_default_mode, .max = MODE_MAX),
	FIELD_TABLE_END,
};

/* Of the paths that the manifest gives; keys of a whole object are not known yet. */
static void check_paths(struct json_reader *r, const struct json_at *at,
			const struct spec_volume *v)
{
	size_t n = 0;
	const char **paths;

	for (size_t i = 0; i < v->n_sources; i++)
		n += v->sources[i].n_items;
	paths = json_keep_array(r, n, sizeof(*paths));
	n = 0;
	for (size_t i = 0; paths && i < v->n_sources; i++)
		for (size_t k = 0; k < v->sources[i].n_items; k++) {
			const char *path = v->sources[i].items[k].path;

			for (size_t j = 0; path && j < n; j++)
				if (strcmp(paths[j], path) == 0)
					json_fault(r, at, DIAG_DUPLICATE,
						   "conflicting path \"%.64s\" in the "
						   "volume",
						   path);
			if (path)
				paths[n++] = path;
		}
}

void manifest_read_projected_volume(struct json_reader *r, const struct json_at *at,
				    struct spec_volume *v)
{
	struct projection_read read = { .volume = v };

	v->kind = VOLUME_PROJECTED;
	v->default_mode = MODE_DEFAULT;
	json_fields_read(r, at, projected_fields, &read);
	check_paths(r, at, v);
}
