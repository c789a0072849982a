// SPDX-License-Identifier: Apache-2.0
/*
 * object_spec.c - see object_spec.h.
 */
#include "config/object_spec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct kind_name {
	const char *name, *word, *plural, *abbreviation;
} kinds[OBJECT_KIND_MAX] = {
	[OBJECT_CONFIG_MAP] = { "ConfigMap", "configmap", "configmaps", "cm" },
	[OBJECT_SECRET] = { "Secret", "secret", "secrets", NULL },
};

void object_spec_free(struct object_spec *spec)
{
	if (!spec)
		return;
	arena_free(&spec->arena);
	free(spec);
}

const char *object_kind_name(enum object_kind kind)
{
	return kinds[kind].name;
}

const char *object_kind_word(enum object_kind kind)
{
	return kinds[kind].word;
}

bool object_kind_parse(const char *text, enum object_kind *ret)
{
	for (int i = 0; i < OBJECT_KIND_MAX; i++) {
		const struct kind_name *k = &kinds[i];

		if (strcasecmp(text, k->name) != 0 && strcasecmp(text, k->plural) != 0 &&
		    (!k->abbreviation || strcasecmp(text, k->abbreviation) != 0))
			continue;
		*ret = (enum object_kind)i;
		return true;
	}
	return false;
}

static int entry_compare(const void *key, const void *element)
{
	const struct object_entry *entry = element;

	return strcmp(key, entry->key);
}

const struct object_entry *object_find(const struct object_spec *spec, const char *key)
{
	if (!spec->n_entries)
		return NULL;
	return bsearch(key, spec->entries, spec->n_entries, sizeof(*spec->entries),
		       entry_compare);
}

bool object_same_data(const struct object_spec *a, const struct object_spec *b)
{
	if (a->n_entries != b->n_entries)
		return false;
	for (size_t i = 0; i < a->n_entries; i++) {
		const struct object_entry *x = &a->entries[i], *y = &b->entries[i];

		if (strcmp(x->key, y->key) != 0 || x->binary != y->binary ||
		    x->len != y->len || memcmp(x->data, y->data, x->len) != 0)
			return false;
	}
	return true;
}
