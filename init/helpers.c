// SPDX-License-Identifier: Apache-2.0
/*
 * helpers.c - see helpers.h.
 */
#include "init/helpers.h"

#include <json-c/json.h>

#include "base/log.h"
#include "base/time.h"
#include "bpf/feature.h"
#include "config/machine.h"

/* A module's init function may wait for its hardware; after that the pods start anyway,
 * and a member that needs the module says what it misses. */
#define NAMED_TIMEOUT_NS    (30 * NSEC_PER_SEC)
#define COLDPLUG_TIMEOUT_NS (60 * NSEC_PER_SEC)
#define FEATURES_TIMEOUT_NS (10 * NSEC_PER_SEC)

static const char *const no_names[] = { NULL };

static const char *report(const struct child *child)
{
	if (child->output_len)
		log_warn("%s: %s", child->name, child->output);
	if (child_ok(child))
		return "done";
	if (child->timed_out) {
		log_error("%s: took too long, going on without", child->name);
		return "timed-out";
	}
	log_error("%s: exit code %d", child->name, proc_exit_code(&child->exit));
	return "failed";
}

static void named_ended(struct child *child)
{
	struct helpers *h = container_of(child, struct helpers, named);

	h->named_state = report(child);
	h->named_done(h->arg);
}

static void coldplug_ended(struct child *child)
{
	struct helpers *h = container_of(child, struct helpers, coldplug);

	h->coldplug_state = report(child);
	h->coldplug_done(h->arg);
}

static void no_named(struct loop_timer *timer)
{
	struct helpers *h = container_of(timer, struct helpers, no_named);

	h->named_done(h->arg);
}

static void no_coldplug(struct loop_timer *timer)
{
	struct helpers *h = container_of(timer, struct helpers, no_coldplug);

	h->coldplug_done(h->arg);
}

static void features_ended(struct child *child)
{
	struct helpers *h = container_of(child, struct helpers, features);
	struct json_object *o = NULL;

	if (child_ok(child))
		o = json_tokener_parse(child->output);
	if (!json_object_is_type(o, json_type_object)) {
		log_warn("bpf features: not known: %s", child->output);
		json_object_put(o);
		return;
	}
	h->features_json = o;
}

static void prepare(struct child *child, const char *name, int (*run)(void *arg),
		    void *arg, int64_t timeout_ns, void (*done)(struct child *child))
{
	child_init(child);
	child->name = name;
	child->run = run;
	child->arg = arg;
	child->timeout_ns = timeout_ns;
	child->done = done;
}

/* Starts the child, or sees to it that its callback comes without. */
static int start(struct helpers *h, struct child *child, bool needed,
		 struct loop_timer *instead, const char **state)
{
	int r = 0;

	*state = "none";
	if (needed) {
		r = child_start(h->loop, child);
		*state = r < 0 ? "failed" : "running";
		if (r == 0)
			return 0;
		log_error("%s: no process (errno %d)", child->name, -r);
	}
	return loop_timer_set(h->loop, instead, loop_now(h->loop));
}

int helpers_start(struct helpers *h, struct loop *loop, const struct machine *machine)
{
	int r;

	h->loop = loop;
	h->named_job = (struct modules_job){ .names = machine->modules };
	h->coldplug_job = (struct modules_job){ .names = no_names, .coldplug = true };
	h->no_named.fn = no_named;
	h->no_coldplug.fn = no_coldplug;
	prepare(&h->named, "modules", modules_run, &h->named_job, NAMED_TIMEOUT_NS,
		named_ended);
	prepare(&h->coldplug, "coldplug", modules_run, &h->coldplug_job,
		COLDPLUG_TIMEOUT_NS, coldplug_ended);
	prepare(&h->features, "bpf features", bpf_feature_run, NULL, FEATURES_TIMEOUT_NS,
		features_ended);
	r = start(h, &h->named, machine->modules[0] != NULL, &h->no_named,
		  &h->named_state);
	if (r == 0)
		r = start(h, &h->coldplug, machine->coldplug, &h->no_coldplug,
			  &h->coldplug_state);
	return r;
}

void helpers_probe(struct helpers *h)
{
	int r = child_start(h->loop, &h->features);

	if (r < 0)
		log_warn("bpf features: no process (errno %d)", -r);
}

void helpers_describe(const struct helpers *h, struct json_object *info)
{
	struct json_object *modules = json_object_new_object();

	/* Out of memory leaves a key out: it is detail. */
	if (modules && h->named_state && h->coldplug_state) {
		(void)json_object_object_add(modules, "named",
					     json_object_new_string(h->named_state));
		(void)json_object_object_add(modules, "coldplug",
					     json_object_new_string(h->coldplug_state));
	}
	if (modules && json_object_object_add(info, "modules", modules) < 0)
		json_object_put(modules);
	if (h->features_json)
		(void)json_object_object_add(info, "features",
					     json_object_get(h->features_json));
}
