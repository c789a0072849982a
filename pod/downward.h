// SPDX-License-Identifier: Apache-2.0
/*
 * downward.h - what a pod may know of itself, as text: fieldRef and resourceFieldRef.
 *
 * Owns: nothing. Called by: launch_env.c in PID 1, volume_files.c in the children that
 * write volumes. Does not block. Source: kubernetes pkg/fieldpath, pkg/api/v1/resource.
 */
#ifndef POD_DOWNWARD_H
#define POD_DOWNWARD_H

#include "base/buf.h"
#include "base/err.h"
#include "config/pod_spec.h"

struct pod;

/* Appends to out. own: the container that a resourceFieldRef without a name means; NULL
 * in a volume. 0; -ENOENT with e: there is no such container; -ENOMEM or -E2BIG from out.
 * Addresses are not its business: see launch_env.c. */
int downward_text(const struct pod *pod, const struct container_spec *own,
		  const struct spec_env *value, struct buf *out, struct err *e);

/* A whole map: KEY="VALUE" a line, sorted, the value escaped as Go's %q does; no newline
 * at the end. 0 or the error of out. */
int downward_map(const struct spec_pair *pairs, size_t n, struct buf *out);

#endif
