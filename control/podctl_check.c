// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_check.c - `podctl check`: the parsers of PID 1, on the build host.
 *
 * Owns: nothing. Called by: podctl.c. Needs no machine and no connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/diag.h"
#include "config/machine.h"
#include "config/pod_spec.h"
#include "control/podctl.h"

#define READ_BYTES 65536

ssize_t read_file(const char *path, size_t max, char **ret)
{
	bool is_stdin = strcmp(path, "-") == 0;
	_cleanup_close_ int fd = is_stdin ? dup(STDIN_FILENO) :
					    open(path, O_RDONLY | O_CLOEXEC);
	struct buf b;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	buf_init(&b, max + READ_BYTES);
	while (n > 0 && b.len <= max) {
		char *to = buf_reserve(&b, READ_BYTES);

		if (!to)
			break;
		n = read(fd, to, READ_BYTES);
		if (n < 0 && errno == EINTR) {
			n = 1;
			continue;
		}
		if (n > 0)
			buf_commit(&b, (size_t)n);
	}
	if (n < 0 || b.len > max) {
		n = n < 0 ? -errno : -EFBIG;
		buf_free(&b);
		return n;
	}
	*ret = b.data; /* nothing was consumed: it starts at the text; NULL when empty */
	return (ssize_t)b.len;
}

static void add_json(struct json_object *list, const struct diag *d,
		     const struct diag_item *item)
{
	struct json_object *o = json_object_new_object();

	(void)json_object_object_add(o, "file", json_object_new_string(d->file));
	(void)json_object_object_add(o, "kind",
				     json_object_new_string(diag_kind_name(item->kind)));
	(void)json_object_object_add(o, "pointer", json_object_new_string(item->pointer));
	(void)json_object_object_add(o, "line", json_object_new_int(item->line));
	(void)json_object_object_add(o, "column", json_object_new_int(item->column));
	(void)json_object_object_add(o, "message", json_object_new_string(item->text));
	(void)json_object_object_add(o, "warning",
				     json_object_new_boolean(item->warning));
	(void)json_object_array_add(list, o);
}

static void report(struct podctl *p, const struct diag *d, struct json_object *list)
{
	char text[DIAG_POINTER + DIAG_TEXT + 256];

	for (size_t i = 0; i < d->n; i++) {
		if (p->json) {
			add_json(list, d, &d->items[i]);
			continue;
		}
		(void)diag_format(d, &d->items[i], text, sizeof(text));
		(void)fprintf(stderr, "%s\n", text);
	}
	if (d->dropped && !p->json)
		(void)fprintf(stderr, "%s: %zu more errors\n", d->file, d->dropped);
}

static int parse_machine(const char *text, size_t len, struct diag *d)
{
	struct machine m;
	int r = machine_parse(text, len, d, &m);

	if (r == 0)
		machine_free(&m);
	return r;
}

static int parse_manifest(const char *text, size_t len, struct diag *d, size_t *ret_pods,
			  size_t *ret_objects)
{
	struct manifest m = { 0 };
	int r = manifest_parse(text, len, d, &m);

	*ret_pods = m.n_pods;
	*ret_objects = m.n_objects;
	manifest_free(&m);
	return r;
}

/* The keys of a machine file that no manifest has at its top. */
static bool looks_like_machine(const char *text, size_t len)
{
	static const char *const keys[] = { "hostname",    "modules",   "coldplug",
					    "sysctls",     "control",   "imageDir",
					    "manifestDir", "logs",      "logLevel",
					    "restart",     "onPodsDone" };
	struct json_tokener *tok = json_tokener_new();
	struct json_object *root = json_tokener_parse_ex(tok, text, (int)len);
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		found |= get(root, keys[i]) != NULL;
	found &= !get(root, "kind") && !get(root, "apiVersion");
	json_object_put(root);
	json_tokener_free(tok);
	return found;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The first line that says something is "---" or "key:", and no JSON. */
static bool looks_like_yaml(const char *text, size_t len)
{
	const char *end = text + len, *eol;
	size_t key;

	for (; text < end; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			eol = end;
		key = 0;
		while (text + key < eol && (text[key] == '-' || is_letter(text[key])))
			key++;
		if (key >= 3 && strncmp(text, "---", 3) == 0)
			return true;
		if (key && text + key < eol && text[key] == ':')
			return true;
		if (key || (text < eol && *text != '#' && *text != '\r'))
			return false;
	}
	return false;
}

static void hint(struct podctl *p, const char *path, const char *text, size_t len)
{
	if (looks_like_yaml(text, len))
		(void)say(0, "%s: this looks like YAML; podinit reads JSON", path);
	else if (!p->machine && looks_like_machine(text, len))
		(void)say(0, "%s: looks like a machine file: use check --machine", path);
}

static int check_one(struct podctl *p, const char *path, struct json_object *list)
{
	_cleanup_free_ char *text = NULL;
	size_t max = p->machine ? MACHINE_FILE_BYTES : POD_SPEC_FILE_BYTES, pods = 0,
	       objects = 0;
	ssize_t len = read_file(path, max, &text);
	static struct diag d;
	int r;

	if (len < 0)
		return say(PODCTL_FAILED, "%s: %s", path, strerror((int)-len));
	diag_init(&d, strcmp(path, "-") == 0 ? "stdin" : path);
	if (p->machine)
		r = parse_machine(text ? text : "", (size_t)len, &d);
	else
		r = parse_manifest(text ? text : "", (size_t)len, &d, &pods, &objects);
	report(p, &d, list);
	if (r == -ENOMEM)
		return say(PODCTL_FAILED, "%s: out of memory", path);
	if (r < 0 || d.errors) {
		hint(p, path, text ? text : "", (size_t)len);
		return PODCTL_FAILED;
	}
	if (p->json)
		return PODCTL_OK;
	if (p->machine)
		(void)printf("%s: ok\n", path);
	else if (objects == 0)
		(void)printf("%s: ok, %zu pod%s\n", path, pods, pods == 1 ? "" : "s");
	else
		(void)printf("%s: ok, %zu pod%s, %zu object%s\n", path, pods,
			     pods == 1 ? "" : "s", objects, objects == 1 ? "" : "s");
	return PODCTL_OK;
}

int podctl_check(struct podctl *p)
{
	struct json_object *list = json_object_new_array();
	int worst = PODCTL_OK;

	for (int i = 0; i < p->n_args; i++) {
		int r = check_one(p, p->args[i], list);

		worst = MAX(worst, r);
	}
	if (p->json)
		put_json(list);
	json_object_put(list);
	return worst;
}
