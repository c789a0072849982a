// SPDX-License-Identifier: Apache-2.0
/*
 * expand.c - see expand.h. One walk, done twice: the first counts, the second writes.
 */
#include "config/expand.h"

#include <assert.h>
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

int expand_env_init(struct expand_env *e, struct arena *a, size_t room)
{
	*e = (struct expand_env){ .room = room };
	e->vars = arena_array(a, room + 1, sizeof(*e->vars));
	return e->vars ? 0 : -ENOMEM;
}

void expand_env_put(struct expand_env *e, const char *name, const char *value)
{
	size_t k = 0;

	while (k < e->n && strcmp(e->vars[k].name, name) != 0)
		k++;
	if (k < e->n)
		memmove(e->vars + k, e->vars + k + 1, (--e->n - k) * sizeof(*e->vars));
	assert(e->n < e->room);
	e->vars[e->n++] = (struct expand_var){ .name = name, .value = value };
}

int expand_env(struct expand_env *e, struct arena *a, const struct container_spec *spec,
	       expand_source_fn source, void *arg)
{
	for (size_t i = 0; i < spec->n_env; i++) {
		const struct spec_env *env = &spec->env[i];
		const char *text = NULL;
		int r = 0;

		if (env->source == ENV_VALUE) {
			text = expand_text(a, env->value, e->vars, e->n);
		} else {
			r = source(arg, env, &text);
			if (r == -ENOENT)
				continue;
			if (r < 0)
				return r;
			text = arena_strdup(a, text);
		}
		if (!text)
			return -ENOMEM;
		expand_env_put(e, env->name, text);
	}
	return 0;
}
