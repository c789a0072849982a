// SPDX-License-Identifier: Apache-2.0
/*
 * plan_parts.h - what plan_apply.c, plan_machine.c and plan_check.c share; private to
 * them.
 */
#ifndef NETLINK_PLAN_PARTS_H
#define NETLINK_PLAN_PARTS_H

#include "netlink/plan.h"

struct nl_batch;

/* The bridge whose port an interface is: its parent, but for the pods' own bridge, of
 * which a slot past NET_BRIDGE_PORTS has a further one. True: it is such a further one.
 */
bool plan_bridge_name(const struct net_plan *plan, const struct net_if *i,
		      const struct net_machine *m, char ret[static NET_NAME_BYTES]);

/* Makes the bridge an interface needs when it is not there and may be made. Its index, or
 * -errno with e. */
int plan_bridge(const struct net_plan *plan, const struct net_if *i,
		const struct net_machine *m, struct nl *machine, struct err *e);

/* Appends addresses, default routes and the egress limit of a link that is there. */
void plan_configure(struct nl_batch *pod, const struct net_if *i, int index);

/* The kernel has no IPv6: such addresses and routes are left out. */
bool plan_skips(const struct inet *a);

/* An address of the pod's that the interface has: its link's prefix holds gw. */
bool plan_reaches(const struct net_if *i, const struct inet *gw);

#endif
