// SPDX-License-Identifier: Apache-2.0
/*
 * plan_parts.h - what the plan_*.c files share; private to them.
 */
#ifndef NETLINK_PLAN_PARTS_H
#define NETLINK_PLAN_PARTS_H

#include "netlink/plan.h"

struct nl_batch;

/* The bridge whose port an interface is: its parent, but for the pods' own bridge, of
 * which a slot past NET_BRIDGE_PORTS has a further one. Its number (0 = i->parent itself)
 * or -ENAMETOOLONG. */
int plan_bridge_name(const struct net_plan *plan, const struct net_if *i,
		     const struct net_machine *m, char ret[static NET_NAME_BYTES]);

/* Makes the bridge an interface needs when it is not there and may be made. Its index, or
 * -errno with e. */
int plan_bridge(const struct net_plan *plan, const struct net_if *i,
		const struct net_machine *m, struct nl *machine, struct err *e);

/* Appends addresses, default routes and the egress limit of plan->ifs[n], whose link is
 * there and up. again: what is there already is no error, and a default route of somebody
 * else's in that place goes. */
void plan_configure(struct nl_batch *pod, const struct net_plan *plan, size_t n,
		    int index, bool again);

/* The default route of plan->ifs[n] by gw, one of its gateways. */
struct route;
struct route plan_default_route(const struct net_plan *plan, size_t n, int index,
				const struct inet *gw);

/* The kernel has no IPv6: such addresses and routes are left out. */
bool plan_skips(const struct inet *a);

/* plan_apply.c: net_plan_apply() for the interfaces whose bit is set. */
int plan_apply_some(const struct net_plan *plan, unsigned int which,
		    const struct net_machine *m, struct nl *machine, struct nl *pod,
		    int netns_fd, struct err *e);

/* plan_check.c: whether plan->ifs[n] and, with NET_VETH, its host side are there. */
bool plan_if_there(const struct net_plan *plan, size_t n, struct nl *machine,
		   struct nl *pod);
/* The machine's bridge is there, up and has its addresses; as net_plan_check(). */
int plan_check_machine(const struct net_machine *m, struct nl *machine, struct err *e);

/* plan_remove.c: takes away the interfaces whose bit is set, see net_plan_remove(). */
int plan_remove_some(const struct net_plan *plan, unsigned int which, struct nl *machine,
		     struct nl *pod, int machine_fd, struct err *e);

/* plan_device.c: a NIC that goes into a pod and comes back. Its alias carries its name
 * meanwhile, because the kernel gives it back under another one when the namespace dies
 * with it (default_device_exit_net(), net/core/dev.c) and a pod may rename it. */
int plan_device_in(struct nl_batch *machine, struct nl *nl, const struct net_if *i,
		   int netns_fd, struct err *e);
/* from: where it is now, and where its name in the pod is good for finding it when
 * in_pod. 0 also when it is not there. */
int plan_device_out(const struct net_if *i, struct nl *from, bool in_pod, int machine_fd,
		    struct err *e);

#endif
