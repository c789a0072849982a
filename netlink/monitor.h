// SPDX-License-Identifier: Apache-2.0
/*
 * monitor.h - what rtnetlink says of its own accord, of the machine and of every pod.
 *
 * Owns: one socket in RTNLGRP_LINK, _IPV4_IFADDR, _IPV6_IFADDR, _IPV4_ROUTE and
 * _IPV6_ROUTE with NETLINK_LISTEN_ALL_NSID: events of the namespaces that have an nsid in
 * the machine's come with it (include/uapi/linux/netlink.h). Called by: the loop at
 * LOOP_KERNEL, a bounded number of messages a turn. Never blocks, never asks the kernel
 * anything: an event is a hint, and whoever listens re-reads what it cares for.
 * ENOBUFS (the queue overran) is counted and told as lost.
 */
#ifndef NETLINK_MONITOR_H
#define NETLINK_MONITOR_H

#include "base/err.h"
#include "base/inet.h"
#include "base/loop.h"
#include "base/list.h"

#define MONITOR_MACHINE (-1) /* nsid: the machine's own namespace */

enum monitor_what {
	MONITOR_LINK, /* new or changed: flags, mtu, master, name */
	MONITOR_LINK_GONE,
	MONITOR_ADDR,
	MONITOR_ADDR_GONE,
	MONITOR_ROUTE,
	MONITOR_ROUTE_GONE,
	MONITOR_LOST, /* events were lost: everything has to be looked at again */
	MONITOR_WHAT_MAX
};

struct monitor_event {
	enum monitor_what what;
	int32_t nsid;       /* a plan's slot, or MONITOR_MACHINE */
	int index;          /* of the link */
	char name[16];      /* link events only, else "" */
	unsigned int flags; /* IFF_*, link events only */
	uint32_t mtu;       /* link events only */
	int master;         /* index of its bridge or bond, 0 = none; link events only */
	uint8_t mac[MAC_BYTES]; /* link events only */
	struct inet addr;       /* the address, or the route's destination */
	struct inet gateway;    /* of a route; family 0 = none */
};

/* Embedded in who listens; several may. */
struct monitor_listener {
	struct list node;
	void (*fn)(struct monitor_listener *l, const struct monitor_event *ev);
};

struct monitor {
	int fd; /* -1 = not open */
	struct loop *loop;
	struct loop_src src;
	struct list listeners;
	uint64_t received, lost; /* messages; times the queue overran */
};

/* 0 or -errno with e. Opened in PID 1's namespace. */
int monitor_open(struct monitor *m, struct loop *loop, struct err *e);
void monitor_listen(struct monitor *m, struct monitor_listener *l);
void monitor_unlisten(struct monitor_listener *l); /* harmless when it does not listen */

#endif
