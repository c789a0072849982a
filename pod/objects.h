// SPDX-License-Identifier: Apache-2.0
/*
 * objects.h - the ConfigMaps and Secrets of the machine, for the room pod/.
 *
 * Owns: every object given, until it is replaced, deleted, or the machine ends. Called
 * by: pods.c's callers through pods.h; launch_env.c and volumes.c look things up, the
 * latter also in the children that write volumes (a fork has the objects as they were).
 * Never blocks. Bounded: OBJECTS_MAX of them, OBJECTS_BYTES of keys and values.
 */
#ifndef POD_OBJECTS_H
#define POD_OBJECTS_H

#include "config/pod_spec.h"
#include "pod/pods.h"

#define OBJECTS_MAX   4096
#define OBJECTS_BYTES (64u << 20)

/* NULL when there is none. */
const struct object_spec *objects_find(const struct pods *pods, enum object_kind kind,
				       const char *namespace, const char *name);

/* The object that ref means to a pod of this namespace. 0 with *ret; 0 and NULL: there is
 * none, and it is optional; -ENOENT with e as the kubelet says it. */
int objects_resolve(const struct pods *pods, const char *namespace,
		    const struct spec_object_ref *ref, const struct object_spec **ret,
		    struct err *e);

/* A key of it, the same way. object may be NULL: then *ret is. */
int objects_resolve_key(const char *namespace, const struct spec_object_ref *ref,
			const struct object_spec *object, const char *key,
			const struct object_entry **ret, struct err *e);

#endif
