// SPDX-License-Identifier: Apache-2.0
/*
 * cmdline.c - see cmdline.h.
 */
#include "init/cmdline.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define PREFIX    "podinit."
#define KEY_BYTES 32

enum key { KEY_LOG, KEY_MACHINE, KEY_MANIFESTS, KEY_PODS_DONE, KEY_BOOT_FAILED, KEY_MAX };

static const char *const key_names[KEY_MAX] = {
	[KEY_LOG] = "log",
	[KEY_MACHINE] = "machine",
	[KEY_MANIFESTS] = "manifests",
	[KEY_PODS_DONE] = "on_pods_done",
	[KEY_BOOT_FAILED] = "on_boot_failed",
};

void cmdline_init(struct cmdline *c)
{
	*c = (struct cmdline){
		.log_level = LOG_LEVEL_MAX,
		.on_pods_done = END_MAX,
		.on_boot_failed = END_MAX,
	};
}

/* KEY_MAX when there is no such key; the reason is logged. */
static enum key find_key(const char *name, size_t len)
{
	char key[KEY_BYTES];
	const char *near;

	if (len >= sizeof(key))
		len = sizeof(key) - 1;
	for (size_t i = 0; i < len; i++)
		key[i] = name[i] == '-' ? '_' : name[i];
	key[len] = '\0';
	for (size_t i = 0; i < KEY_MAX; i++)
		if (strcmp(key, key_names[i]) == 0)
			return (enum key)i;
	near = str_nearest(key, key_names, KEY_MAX);
	if (near)
		log_warn("kernel command line: no option " PREFIX
			 "%s, did you mean " PREFIX "%s?",
			 key, near);
	else
		log_warn("kernel command line: no option " PREFIX "%s", key);
	return KEY_MAX;
}

static bool set_path(char *dst, const char *value)
{
	if (value[0] != '/' || strlen(value) >= CMDLINE_PATH_BYTES)
		return false;
	(void)snprintf(dst, CMDLINE_PATH_BYTES, "%s", value);
	return true;
}

static bool set_end(enum machine_end *dst, const char *value)
{
	int end = machine_end_parse(value);

	if (end < 0)
		return false;
	*dst = (enum machine_end)end;
	return true;
}

static bool set_key(struct cmdline *c, enum key key, const char *value)
{
	switch (key) {
	case KEY_LOG:
		return log_level_parse(value, &c->log_level);
	case KEY_MACHINE:
		return set_path(c->machine, value);
	case KEY_MANIFESTS:
		return set_path(c->manifests, value);
	case KEY_PODS_DONE:
		return set_end(&c->on_pods_done, value);
	case KEY_BOOT_FAILED:
		return set_end(&c->on_boot_failed, value);
	case KEY_MAX:
		break;
	}
	return false;
}

void cmdline_word(struct cmdline *c, const char *word)
{
	const char *name = word + strlen(PREFIX), *equals;
	enum key key;

	if (strncmp(word, "ip=", 3) == 0 && strlen(word + 3) < sizeof(c->ip))
		(void)strcpy(c->ip, word + 3);
	if (strncmp(word, PREFIX, strlen(PREFIX)) != 0)
		return;
	equals = strchrnul(name, '=');
	key = find_key(name, (size_t)(equals - name));
	if (key == KEY_MAX)
		return;
	if (!*equals)
		log_warn("kernel command line: " PREFIX "%s needs a value",
			 key_names[key]);
	else if (!set_key(c, key, equals + 1))
		log_warn("kernel command line: " PREFIX "%s: bad value \"%.64s\"",
			 key_names[key], equals + 1);
}

void cmdline_parse(struct cmdline *c, char *text)
{
	while (*text) {
		bool quoted = false;
		char *word, *out;

		while (isspace((unsigned char)*text))
			text++;
		/* Quotes group, wherever they stand, and are no part of the word. */
		for (word = out = text;
		     *text && (quoted || !isspace((unsigned char)*text)); text++) {
			if (*text == '"')
				quoted = !quoted;
			else
				*out++ = *text;
		}
		if (*text)
			text++;
		*out = '\0';
		cmdline_word(c, word);
	}
}

void cmdline_apply(const struct cmdline *c, struct machine *machine)
{
	if (c->manifests[0])
		machine->manifest_dir = c->manifests;
	if (c->log_level != LOG_LEVEL_MAX)
		machine->log_level = c->log_level;
	if (c->on_pods_done != END_MAX)
		machine->on_pods_done = c->on_pods_done;
	if (c->on_boot_failed != END_MAX)
		machine->on_boot_failed = c->on_boot_failed;
}
