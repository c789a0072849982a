// SPDX-License-Identifier: Apache-2.0
/*
 * network_watch.h - struct network_watch, for network_watch.c and network_doubt.c only.
 */
#ifndef POD_NETWORK_WATCH_H
#define POD_NETWORK_WATCH_H

#include "base/child.h"
#include "netlink/monitor.h"
#include "pod/pod.h"

#define WATCH_BATCH 64 /* pods that one child looks at */

struct network_watch {
	struct network *net;
	struct monitor_listener listener;
	struct pod *by_slot[PODS_MAX]; /* those whose interfaces stand, or are made */
	int bridge_index;              /* as last heard of; 0 = never */
	unsigned int bridge_lost;      /* what of the bridge; see network_doubt.c */
	struct list suspects;          /* pod_watch.node */
	struct loop_timer timer;
	int64_t not_before_ns; /* CLOCK_BOOTTIME */

	/* The child that looks, and at whom. */
	struct child child;
	int findings_fd; /* memfd */
	int64_t began_ns;
	size_t n;
	struct pod *pods[WATCH_BATCH]; /* NULL: it has ended meanwhile */
	int netns[WATCH_BATCH];        /* their namespaces, borrowed */
	bool repair[WATCH_BATCH];
	bool cancelled; /* for the end of one of them */
};

/* ---- network_doubt.c ---- */

/* The monitor's: casts a doubt on the pods that an event is about, or takes it back. */
void watch_on_event(struct monitor_listener *l, const struct monitor_event *ev);
/* Has to be looked at. */
void watch_suspect(struct network_watch *w, struct pod *pod);
/* Nothing is held against it. */
void watch_clear(struct pod *pod);

/* ---- network_watch.c ---- */

/* There are suspects: the look is a matter of time. */
void watch_arm(struct network_watch *w);

#endif
