// SPDX-License-Identifier: Apache-2.0
/*
 * image_config.c - see image_config.h. Unknown fields pass: other tools write the file.
 */
#include "config/image_config.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "config/json_doc.h"
#include "config/json_field.h"
#include "config/signal_name.h"

/* All strings of a file of IMAGE_CONFIG_BYTES with their arrays. */
#define IMAGE_ARENA_BYTES (8u << 20)

static const char *image_read_string(struct json_reader *r, const struct json_at *config,
				     const char *key)
{
	struct json_at at = json_member(config, key);
	const char *text = at.value ? json_expect_string(r, &at) : NULL;

	text = text ? json_keep(r, text) : NULL;
	return text ? text : "";
}

/* NULL when absent. Docker writes null for an empty list. */
static const char **image_read_strings(struct json_reader *r,
				       const struct json_at *config, const char *key)
{
	struct json_at at = json_member(config, key);
	const char **list;
	size_t n, i;

	if (!at.value)
		return NULL;
	if (!json_object_is_type(at.value, json_type_array)) {
		json_fault(r, &at, DIAG_TYPE, "must be a list of strings");
		return NULL;
	}
	n = json_length(&at);
	list = json_keep_array(r, n + 1, sizeof(*list));
	for (i = 0; list && i < n; i++) {
		struct json_at item = json_element(&at, i);
		const char *text = json_expect_string(r, &item);

		list[i] = text ? json_keep(r, text) : "";
	}
	return list;
}

/* Entries without a name or '=' are of no use to a program: warned about and dropped. */
static const char **image_read_env(struct json_reader *r, const struct json_at *config)
{
	struct json_at at = json_member(config, "Env");
	const char **env = image_read_strings(r, config, "Env");
	size_t n = 0, i;

	if (!env)
		return json_keep_array(r, 1, sizeof(*env));
	for (i = 0; env[i]; i++) {
		struct json_at item = json_element(&at, i);

		if (env[i][0] != '=' && strchr(env[i], '='))
			env[n++] = env[i];
		else
			json_warn(r, &item, "\"%.64s\" is no NAME=value and is left out",
				  env[i]);
	}
	env[n] = NULL;
	return env;
}

static void image_read_config(struct json_reader *r, const struct json_at *at,
			      struct image_config *c)
{
	struct json_at work = json_member(at, "WorkingDir");
	struct json_at stop = json_member(at, "StopSignal");
	const char *name;

	c->entrypoint = image_read_strings(r, at, "Entrypoint");
	c->cmd = image_read_strings(r, at, "Cmd");
	c->env = image_read_env(r, at);
	c->user = image_read_string(r, at, "User");
	c->working_dir = image_read_string(r, at, "WorkingDir");
	if (*c->working_dir && *c->working_dir != '/')
		json_fault(r, &work, DIAG_VALUE, "\"%.64s\" must be an absolute path",
			   c->working_dir);
	name = image_read_string(r, at, "StopSignal");
	if (!*name)
		return;
	c->stop_signal = signal_parse(name);
	if (c->stop_signal < 0)
		json_fault(r, &stop, DIAG_VALUE, "\"%.64s\" is no signal", name);
}

int image_config_parse(const char *text, size_t len, struct diag *diag,
		       struct image_config *ret)
{
	static const char *const none[] = { NULL };
	struct image_config c = { .user = "", .working_dir = "" };
	struct json_reader reader = { .diag = diag, .arena = &c.arena };
	struct json_at root = { .parent = NULL }, config;
	size_t first = diag->n, errors = diag->errors;
	int r;

	r = json_doc_parse(text, len, IMAGE_CONFIG_BYTES, diag, diag, &root.value);
	if (r < 0)
		return r;
	arena_init(&c.arena, IMAGE_ARENA_BYTES);
	c.env = (const char **)none;
	config = json_member(&root, "config");
	if (config.value && !json_object_is_type(config.value, json_type_object))
		json_fault(&reader, &config, DIAG_TYPE, "must be an object");
	else if (config.value)
		image_read_config(&reader, &config, &c);
	json_doc_locate(text, len, diag, first);
	json_object_put(root.value);
	r = reader.out_of_memory ? -ENOMEM : diag->errors > errors ? -EINVAL : 0;
	if (r < 0) {
		arena_free(&c.arena);
		return r;
	}
	*ret = c;
	return 0;
}

void image_config_free(struct image_config *c)
{
	if (c)
		arena_free(&c->arena);
}
