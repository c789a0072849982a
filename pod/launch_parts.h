// SPDX-License-Identifier: Apache-2.0
/*
 * launch_parts.h - what launch*.c share, for these alone.
 */
#ifndef POD_LAUNCH_PARTS_H
#define POD_LAUNCH_PARTS_H

#include "pod/launch.h"

struct expand_env;
struct expand_var;
struct image;

/* The manifest's variables, expanded, with all that they come from looked up. 0 or -errno
 * with e; what is not there (yet) is of STAGE_CONFIG. */
int launch_env_expand(struct launch_plan *p, const struct member *m,
		      struct expand_env *ret, struct err *e);
/* p->envp; after p->root.hostname and p->user. 0 or -ENOMEM. */
int launch_env_build(struct launch_plan *p, const struct member *m,
		     const struct image *image, const struct expand_var *vars,
		     size_t n_vars);

/* p->root.mounts. 0 or -errno; with e unless memory is out. */
int launch_mounts_build(struct launch_plan *p, const struct member *m,
			const struct expand_env *env, const char **ret_reason,
			struct err *e);

/* What image_open() failed with, as Kubernetes names it. */
const char *launch_image_reason(enum pull_policy pull, int r);

size_t launch_strv_len(const char *const *v); /* v may be NULL */
/* The value of NAME in a list of "NAME=value", NULL without. */
const char *launch_env_find(const char *const *envp, const char *name);

#endif
