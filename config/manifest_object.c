// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_object.c - a v1 ConfigMap or Secret.
 *
 * Called by: manifest.c. Source: core/v1 types.go (ConfigMap, Secret), core/validation
 * (ValidateConfigMap, ValidateSecret), apimachinery IsConfigMapKey. The values are never
 * part of a message.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "config/base64.h"
#include "config/manifest_parts.h"
#include "config/name_check.h"

struct object_read {
	struct object_spec *spec;
	size_t room; /* entries that there is place for */
};

/* The bytes, with a NUL behind. */
static const char *decode(struct json_reader *r, const struct json_at *at,
			  const char *text, size_t *ret_len)
{
	size_t room = BASE64_ROOM(strlen(text)) + 1;
	unsigned char *bytes = json_keep_array(r, room, 1);
	int n;

	if (!bytes)
		return NULL;
	n = base64_decode(text, bytes, room - 1);
	if (n < 0) {
		json_fault(r, at, DIAG_VALUE, "must be base64");
		return NULL;
	}
	bytes[n] = '\0';
	*ret_len = (size_t)n;
	return (const char *)bytes;
}

static struct object_entry *entry_of(struct object_spec *spec, const char *key)
{
	for (size_t i = 0; i < spec->n_entries; i++)
		if (strcmp(spec->entries[i].key, key) == 0)
			return &spec->entries[i];
	return NULL;
}

/* The text of a value, or what it is decoded to. A key may come twice only where the
 * second list is there to override the first (stringData). */
static void read_entry(struct json_reader *r, const struct json_at *at,
		       struct object_read *read, bool encoded, bool binary,
		       bool overrides)
{
	struct object_entry *entry = entry_of(read->spec, at->key);
	const char *wrong = name_check_data_key(at->key);
	const char *text = at->value ? json_expect_string(r, at) : NULL;
	size_t len = 0;

	if (wrong)
		json_fault(r, at, DIAG_VALUE, "the key \"%.64s\" must be %s", at->key,
			   wrong);
	if (!text) {
		if (!at->value)
			json_fault(r, at, DIAG_TYPE, "must be a string");
		return;
	}
	if (entry && !overrides) {
		json_fault(r, at, DIAG_DUPLICATE, "the key \"%.64s\" is in data, too",
			   at->key);
		return;
	}
	if (encoded) {
		text = decode(r, at, text, &len);
	} else {
		len = (size_t)json_object_get_string_len(at->value);
		text = arena_strndup(r->arena, text, len);
		r->out_of_memory = r->out_of_memory || !text;
	}
	if (!text)
		return;
	if (!entry)
		entry = &read->spec->entries[read->spec->n_entries++];
	*entry = (struct object_entry){ json_keep(r, at->key), text, len, binary };
	if (!entry->key)
		read->spec->n_entries = 0; /* out of memory: nobody looks at it */
}

static void read_entries(struct json_reader *r, const struct json_at *at,
			 struct object_read *read, bool encoded, bool binary,
			 bool overrides)
{
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };

		read_entry(r, &member, read, encoded, binary, overrides);
	}
}

static void read_plain(struct json_reader *r, const struct json_at *at, void *out)
{
	read_entries(r, at, out, false, false, false);
}

static void read_binary(struct json_reader *r, const struct json_at *at, void *out)
{
	read_entries(r, at, out, true, true, false);
}

static void read_secret(struct json_reader *r, const struct json_at *at, void *out)
{
	read_entries(r, at, out, true, false, false);
}

static void read_string_data(struct json_reader *r, const struct json_at *at, void *out)
{
	read_entries(r, at, out, false, false, true);
}

static const struct field metadata_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct object_spec, name,
		 .check = name_check_subdomain, .required = true),
	FIELD_AT("namespace", FIELD_STRING, struct object_spec, namespace,
		 .check = name_check_label),
	FIELD_IGNORE("uid", FIELD_STRING),
	FIELD_IGNORE("labels", FIELD_OBJECT),
	FIELD_IGNORE("annotations", FIELD_OBJECT),
	METADATA_IGNORED,
	FIELD_TABLE_END,
};

static void read_metadata(struct json_reader *r, const struct json_at *at, void *out)
{
	struct object_read *read = out;

	json_fields_read(r, at, metadata_fields, read->spec);
}

static void read_immutable(struct json_reader *r, const struct json_at *at, void *out)
{
	struct object_read *read = out;

	(void)r;
	read->spec->immutable = json_object_get_boolean(at->value);
}

static const struct field config_map_fields[] = {
	FIELD_IGNORE("apiVersion", FIELD_STRING), /* read by manifest.c, as kind is */
	FIELD_IGNORE("kind", FIELD_STRING),
	FIELD_CALL("metadata", FIELD_OBJECT, read_metadata, .required = true),
	FIELD_CALL("immutable", FIELD_BOOL, read_immutable),
	FIELD_CALL("data", FIELD_OBJECT, read_plain),
	FIELD_CALL("binaryData", FIELD_OBJECT, read_binary),
	FIELD_TABLE_END,
};

static const struct field secret_fields[] = {
	FIELD_IGNORE("apiVersion", FIELD_STRING),
	FIELD_IGNORE("kind", FIELD_STRING),
	FIELD_CALL("metadata", FIELD_OBJECT, read_metadata, .required = true),
	FIELD_CALL("immutable", FIELD_BOOL, read_immutable),
	FIELD_CALL("data", FIELD_OBJECT, read_secret),
	FIELD_CALL("stringData", FIELD_OBJECT, read_string_data),
	FIELD_IGNORE("type", FIELD_STRING),
	FIELD_TABLE_END,
};

static int entry_compare(const void *a, const void *b)
{
	const struct object_entry *x = a, *y = b;

	return strcmp(x->key, y->key);
}

void manifest_read_object(struct json_reader *r, const struct json_at *at, void *out)
{
	struct object_spec *spec = out;
	struct object_read read = { .spec = spec };
	bool secret = spec->kind == OBJECT_SECRET;
	struct json_at data = json_member(at, "data");
	struct json_at more = json_member(at, secret ? "stringData" : "binaryData");

	read.room = json_length(&data) + json_length(&more);
	if (read.room > OBJECT_KEYS) {
		json_fault(r, at, DIAG_LIMIT, "%zu keys; at most %d are read", read.room,
			   OBJECT_KEYS);
		return;
	}
	spec->entries = json_keep_array(r, read.room, sizeof(*spec->entries));
	if (!spec->entries)
		return;
	json_fields_read(r, at, secret ? secret_fields : config_map_fields, &read);
	for (size_t i = 0; i < spec->n_entries; i++)
		spec->data_bytes += spec->entries[i].len + strlen(spec->entries[i].key);
	if (spec->data_bytes > OBJECT_DATA_BYTES)
		json_fault(r, at, DIAG_LIMIT,
			   "%zu bytes of keys and values; at most %u are allowed",
			   spec->data_bytes, OBJECT_DATA_BYTES);
	qsort(spec->entries, spec->n_entries, sizeof(*spec->entries), entry_compare);
}
