// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_machine.c - podctl's commands about the machine.
 *
 * Owns: nothing. Called by: podctl.c.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "base/time.h"
#include "control/podctl.h"

/* "loop.wakeups: 12": one fact a line, however the object is nested. */
static void put_facts(const char *prefix, struct json_object *obj)
{
	json_object_object_foreach(obj, key, value) {
		char name[256], uptime[24];
		const char *text;

		(void)snprintf(name, sizeof(name), "%s%s%s", prefix, prefix[0] ? "." : "",
			       key);
		if (json_object_is_type(value, json_type_object)) {
			put_facts(name, value);
			continue;
		}
		text = json_object_get_string(value);
		if (text && !text[0])
			continue;
		if (!prefix[0] && strcmp(key, "uptimeMs") == 0) {
			text_duration(json_object_get_int64(value) / 1000, uptime,
				      sizeof(uptime));
			(void)snprintf(name, sizeof(name), "uptime");
			text = uptime;
		}
		(void)printf("%-26s ", name);
		put_text(text ? text : "-", strlen(text ? text : "-"));
		(void)putchar('\n');
	}
}

int podctl_info(struct podctl *p)
{
	struct json_object *info = NULL;
	int r = conn_call(p, "podinit-info", NULL, &info);

	if (r == 0 && p->json) {
		put_json(info);
	} else if (r == 0 && json_object_is_type(info, json_type_object)) {
		(void)json_object_object_del(info, "boot"); /* has its own command */
		put_facts("", info);
	}
	json_object_put(info);
	return r;
}

/* ---- boot ----------------------------------------------------------------------------
 */

struct stamp {
	int64_t at_ns;
	char what[400];
};

static int by_time(const void *a, const void *b)
{
	const struct stamp *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void put_timeline(struct json_object *stages, struct json_object *members)
{
	static const char *const titles[] = { "AT", "DELTA", "WHAT" };
	size_t a = list_len(stages);
	size_t n = a + (list_len(members));
	struct stamp *stamps = calloc(n + 1, sizeof(*stamps));
	int64_t before = 0;
	struct table t;

	for (size_t i = 0; i < n; i++) {
		struct json_object *o = i < a ? json_object_array_get_idx(stages, i) :
						json_object_array_get_idx(members, i - a);

		stamps[i].at_ns = get_int(o, i < a ? "atNs" : "execNs", 0);
		if (i < a)
			(void)snprintf(stamps[i].what, sizeof(stamps[i].what), "%s",
				       get_string(o, "stage", "?"));
		else
			(void)snprintf(
				stamps[i].what, sizeof(stamps[i].what), "exec %s/%s/%s",
				get_string(o, "namespace", "default"),
				get_string(o, "pod", "?"), get_string(o, "member", "?"));
	}
	qsort(stamps, n, sizeof(*stamps), by_time);
	table_begin(&t, 3, titles);
	for (size_t i = 0; i < n; i++) {
		char at[32], delta[32];
		const char *cells[] = { at, delta, stamps[i].what };

		(void)snprintf(at, sizeof(at), "%.3f ms", (double)stamps[i].at_ns / 1e6);
		(void)snprintf(delta, sizeof(delta), "+%.3f",
			       (double)(stamps[i].at_ns - before) / 1e6);
		before = stamps[i].at_ns;
		table_row(&t, cells);
	}
	table_end(&t);
	free(stamps);
}

int podctl_boot(struct podctl *p)
{
	struct json_object *result = NULL;
	int r = conn_call(p, "boot", NULL, &result);

	if (r == 0 && p->json)
		put_json(result);
	else if (r == 0)
		put_timeline(get(result, "stages"), get(result, "members"));
	json_object_put(result);
	return r;
}

/* ---- going down
 * ------------------------------------------------------------------------ */

static int go_down(struct podctl *p, const char *mode)
{
	struct json_object *args = json_object_new_object(), *result = NULL;
	int r;

	(void)json_object_object_add(args, "mode", json_object_new_string(mode));
	if (p->grace_s >= 0)
		(void)json_object_object_add(args, "graceSeconds",
					     json_object_new_int64(p->grace_s));
	p->conn.ends = true;
	r = conn_call(p, "shutdown", args, &result);
	if (p->conn.gone)
		r = say(PODCTL_OK, "the machine went away");
	else if (r == 0 && p->json)
		put_json(result);
	else if (r == 0)
		(void)printf("%s begins\n", mode);
	json_object_put(result);
	return r;
}

int podctl_shutdown(struct podctl *p)
{
	return go_down(p, "power-off");
}

int podctl_reboot(struct podctl *p)
{
	return go_down(p, "reboot");
}

int podctl_halt(struct podctl *p)
{
	return go_down(p, "halt");
}
