// SPDX-License-Identifier: Apache-2.0
/*
 * expand.h - $(VAR) expansion exactly as Kubernetes does it.
 *
 * $(NAME) -> value of an earlier variable; $$ -> $ and what follows is no reference;
 * unknown names, "$(" without ")", "$x" and a lone "$" stay as they are; the result is
 * not scanned again. (k8s third_party/forked/golang/expansion; kubernetes-pod.md 3)
 */
#ifndef CONFIG_EXPAND_H
#define CONFIG_EXPAND_H

#include "base/arena.h"

struct container_spec;
struct spec_env;

struct expand_var {
	const char *name, *value;
};

/* Result in the arena; NULL only when memory or the arena's limit ends. */
char *expand_text(struct arena *a, const char *text, const struct expand_var *vars,
		  size_t n_vars);

/* Gives the text of a value whose source is not ENV_VALUE: 0 with *ret, which is borrowed
 * until expand_env() is over and not expanded further; -ENOENT: there is none, the
 * variable is not set; another -errno ends the expansion. */
typedef int (*expand_source_fn)(void *arg, const struct spec_env *env, const char **ret);

/* What expand_env() works on. */
struct expand_env {
	struct expand_var *vars; /* in the order in which they were set */
	size_t n, room;
};

/* Room for this many variables; 0 or -ENOMEM. */
int expand_env_init(struct expand_env *e, struct arena *a, size_t room);

/* A later one of the same name takes the place of the earlier. Both texts must be in the
 * arena, or outlive it. */
void expand_env_put(struct expand_env *e, const char *name, const char *value);

/* The container's env list resolved in order on top of what is in e already; a later
 * entry of the same name wins (the earlier one disappears, as in the kubelet). 0,
 * -ENOMEM, or what source returned. */
int expand_env(struct expand_env *e, struct arena *a, const struct container_spec *spec,
	       expand_source_fn source, void *arg);

#endif
