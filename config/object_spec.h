// SPDX-License-Identifier: Apache-2.0
/*
 * object_spec.h - a ConfigMap or a Secret as it was given: checked, decoded, immutable.
 *
 * Owns: everything below it, in one arena. Called by: pod/objects.c, which keeps them;
 * control and init hand them over. Values may be secret: they go into members and their
 * volumes, never into a log, an error or a status.
 */
#ifndef CONFIG_OBJECT_SPEC_H
#define CONFIG_OBJECT_SPEC_H

#include "base/arena.h"
#include "base/util.h"

enum object_kind { OBJECT_CONFIG_MAP, OBJECT_SECRET, OBJECT_KIND_MAX };

/* MaxSecretSize of core/v1; the same number bounds a ConfigMap (core/validation). */
#define OBJECT_DATA_BYTES (1u << 20)

struct object_entry {
	const char *key;
	const char *data; /* followed by a NUL that does not count */
	size_t len;
	bool binary; /* binaryData of a ConfigMap: never in an environment */
};

struct object_spec {
	struct arena arena;
	enum object_kind kind;
	const char *name, *namespace;
	bool immutable;
	size_t n_entries;
	struct object_entry *entries; /* sorted by key */
	size_t data_bytes;            /* of all entries */
};

void object_spec_free(struct object_spec *spec); /* NULL allowed */

const char *object_kind_name(enum object_kind kind); /* "ConfigMap", "Secret" */
/* "configmap" as messages of the kubelet have it. */
const char *object_kind_word(enum object_kind kind);
/* Any case; "configmaps" and "cm" too, as with kubectl. False: no such kind. */
bool object_kind_parse(const char *text, enum object_kind *ret);

/* NULL when there is none. */
const struct object_entry *object_find(const struct object_spec *spec, const char *key);

bool object_same_data(const struct object_spec *a, const struct object_spec *b);

#endif
