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

/* Gives the text of a value whose source is not ENV_VALUE; borrowed until the call of
 * expand_env() is over, "" when there is none. It is not expanded further. */
typedef const char *(*expand_source_fn)(void *arg, const struct spec_env *env);

/* The container's env list resolved in order, a later entry of the same name winning
 * (the earlier one disappears, as in the kubelet). *ret has *ret_n entries. 0 or -ENOMEM.
 */
int expand_env(struct arena *a, const struct container_spec *spec,
	       expand_source_fn source, void *arg, struct expand_var **ret,
	       size_t *ret_n);

#endif
