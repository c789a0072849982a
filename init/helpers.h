// SPDX-License-Identifier: Apache-2.0
/*
 * helpers.h - what the boot does beside itself: modules, coldplug, the look at BPF.
 *
 * Owns: three helper children and their results. Called by: boot.
 * Two children for modules, because members may need a named one (overlay) and must not
 * wait for hardware that they do not use.
 */
#ifndef INIT_HELPERS_H
#define INIT_HELPERS_H

#include "base/child.h"
#include "rootfs/modules.h"

struct json_object;
struct machine;

struct helpers {
	struct loop *loop;
	struct child named, coldplug, features;
	struct modules_job named_job, coldplug_job;
	/* Called once each, from the loop; also when there was nothing to do or it
	 * failed. */
	void (*named_done)(void *arg);
	void (*coldplug_done)(void *arg);
	void *arg;
	struct loop_timer no_named, no_coldplug;  /* for a child that was not needed */
	const char *named_state, *coldplug_state; /* literals for describe */
	struct json_object *features_json;        /* NULL = not known yet; owned */
};

/* Starts both module children. Failures are logged and count as done. Callbacks and arg
 * are set before by the caller; 0 or -ENOMEM: no callback will come. */
int helpers_start(struct helpers *h, struct loop *loop, const struct machine *machine);

/* Starts the look at BPF's features; its answer is in helpers_describe() later. */
void helpers_probe(struct helpers *h);

/* Adds "modules" and "features" to info. */
void helpers_describe(const struct helpers *h, struct json_object *info);

#endif
