// SPDX-License-Identifier: Apache-2.0
/*
 * pod_spec.c - the life of what manifest_parse() made; see pod_spec.h.
 */
#include "config/pod_spec.h"

#include <string.h>

void pod_spec_free(struct pod_spec *spec)
{
	if (!spec)
		return;
	/* The spec itself is not in its arena: the arena is in it. */
	arena_free(&spec->arena);
	free(spec);
}

void manifest_free(struct manifest *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->n_pods; i++)
		pod_spec_free(m->pods[i].spec);
	for (i = 0; i < m->n_objects; i++)
		object_spec_free(m->objects[i].spec);
	free(m->pods);
	free(m->objects);
	*m = (struct manifest){ .n_pods = 0 };
}
