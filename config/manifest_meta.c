// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_meta.c - a Pod's metadata.
 *
 * Called by: manifest.c. Source: apimachinery pkg/apis/meta/v1 types.go (ObjectMeta),
 * pkg/api/validation/objectmeta.go.
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

/* Keys and values together; TotalAnnotationSizeLimitB of apimachinery. */
#define ANNOTATIONS_BYTES (256 * 1024)

/* labels and annotations differ in their checks and limits only. */
static void read_pairs(struct json_reader *r, const struct json_at *at,
		       const char *(*check_key)(const char *),
		       const char *(*check_value)(const char *), struct spec_pair **pairs,
		       size_t *n_pairs)
{
	*pairs = json_keep_array(r, json_length(at), sizeof(**pairs));
	if (!*pairs)
		return;
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };
		const char *wrong = check_key(key), *text;

		if (wrong)
			json_fault(r, &member, DIAG_VALUE, "\"%.64s\" must be %s", key,
				   wrong);
		text = value ? json_expect_string(r, &member) : NULL;
		if (!text)
			continue;
		wrong = check_value ? check_value(text) : NULL;
		if (wrong)
			json_fault(r, &member, DIAG_VALUE, "\"%.64s\" must be %s", text,
				   wrong);
		(*pairs)[(*n_pairs)++] = (struct spec_pair){ json_keep(r, key),
							     json_keep(r, text) };
	}
}

static void read_labels(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;

	read_pairs(r, at, name_check_key, name_check_label_value, &pod->labels,
		   &pod->n_labels);
}

static void read_annotations(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	size_t total = 0;

	read_pairs(r, at, name_check_annotation_key, NULL, &pod->annotations,
		   &pod->n_annotations);
	json_object_object_foreach(at->value, key, value) {
		total += strlen(key) + (size_t)json_object_get_string_len(value);
	}
	if (total > ANNOTATIONS_BYTES)
		json_fault(r, at, DIAG_LIMIT,
			   "%zu bytes of annotations; at most %d are allowed", total,
			   ANNOTATIONS_BYTES);
}

static void read_uid(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	const char *text = json_text(at), *wrong = name_check_uid(text);

	if (*text && wrong)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text, wrong);
	else if (*text)
		pod->uid = json_keep(r, text);
}

static const struct field metadata_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct pod_spec, name,
		 .check = name_check_subdomain, .required = true),
	FIELD_AT("namespace", FIELD_STRING, struct pod_spec, namespace,
		 .check = name_check_label),
	FIELD_CALL("uid", FIELD_STRING, read_uid),
	FIELD_CALL("labels", FIELD_OBJECT, read_labels),
	FIELD_CALL("annotations", FIELD_OBJECT, read_annotations),
	METADATA_IGNORED,
	FIELD_TABLE_END,
};

void manifest_read_metadata(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, metadata_fields, out);
}
