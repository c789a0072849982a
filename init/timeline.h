// SPDX-License-Identifier: Apache-2.0
/*
 * timeline.h - when each stage of the boot was over.
 *
 * Owns: an array of stamps; names are borrowed and must be literals. Called by: main and
 * boot (stamps), control's describe hook (`podctl boot`). The first stamp is taken first
 * thing in main: CLOCK_BOOTTIME at that moment is the kernel's own share of the boot.
 */
#ifndef INIT_TIMELINE_H
#define INIT_TIMELINE_H

#include "base/util.h"

struct json_object;

#define TIMELINE_MAX 32

struct timeline {
	size_t n;
	struct {
		const char *stage;
		int64_t at_ns;
	} stamps[TIMELINE_MAX];
};

/* Past TIMELINE_MAX nothing is kept. */
void timeline_stamp(struct timeline *t, const char *stage);

/* [{"stage":"handoff","atNs":N}, ...], a new reference; NULL when memory is out. */
struct json_object *timeline_json(const struct timeline *t);

#endif
