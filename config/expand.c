// SPDX-License-Identifier: Apache-2.0
/*
 * expand.c - see expand.h. One walk, done twice: the first counts, the second writes.
 */
#include "config/expand.h"

#include <errno.h>
#include <string.h>

#include "config/pod_spec.h"

struct expand_out {
	char *to; /* NULL: only count */
	size_t len;
};

static void expand_put(struct expand_out *out, const char *s, size_t n)
{
	if (out->to)
		memcpy(out->to + out->len, s, n);
	out->len += n;
}

static const char *expand_find(const struct expand_var *vars, size_t n_vars,
			       const char *name, size_t len)
{
	/* From the end: of two variables with one name the later counts. */
	while (n_vars-- > 0)
		if (strncmp(vars[n_vars].name, name, len) == 0 && !vars[n_vars].name[len])
			return vars[n_vars].value;
	return NULL;
}

static void expand_walk(struct expand_out *out, const char *text,
			const struct expand_var *vars, size_t n_vars)
{
	bool closed = true; /* false: no ')' follows, so do not look for one again */

	while (*text) {
		size_t plain = strcspn(text, "$");
		const char *end, *value;

		expand_put(out, text, plain);
		text += plain;
		if (!*text)
			return;
		end = text[1] == '(' && closed ? strchr(text, ')') : NULL;
		if (text[1] == '(' && !end)
			closed = false;
		if (text[1] == '$') {
			expand_put(out, "$", 1);
			text += 2;
		} else if (end) {
			value = expand_find(vars, n_vars, text + 2,
					    (size_t)(end - text) - 2);
			if (value)
				expand_put(out, value, strlen(value));
			else
				expand_put(out, text, (size_t)(end - text) + 1);
			text = end + 1;
		} else {
			expand_put(out, text++, 1);
		}
	}
}

char *expand_text(struct arena *a, const char *text, const struct expand_var *vars,
		  size_t n_vars)
{
	struct expand_out out = { .to = NULL };

	expand_walk(&out, text, vars, n_vars);
	out.to = arena_alloc(a, out.len + 1);
	if (!out.to)
		return NULL;
	out.len = 0;
	expand_walk(&out, text, vars, n_vars);
	return out.to;
}

int expand_env(struct arena *a, const struct container_spec *spec,
	       expand_source_fn source, void *arg, struct expand_var **ret, size_t *ret_n)
{
	struct expand_var *vars = arena_array(a, spec->n_env, sizeof(*vars));
	size_t n = 0, i, k;

	if (!vars)
		return -ENOMEM;
	for (i = 0; i < spec->n_env; i++) {
		const struct spec_env *env = &spec->env[i];
		char *value = env->source == ENV_VALUE ?
				      expand_text(a, env->value, vars, n) :
				      arena_strdup(a, source(arg, env));

		if (!value)
			return -ENOMEM;
		for (k = 0; k < n && strcmp(vars[k].name, env->name) != 0; k++)
			;
		if (k < n)
			memmove(vars + k, vars + k + 1, (--n - k) * sizeof(*vars));
		vars[n++] = (struct expand_var){ .name = env->name, .value = value };
	}
	*ret = vars;
	*ret_n = n;
	return 0;
}
