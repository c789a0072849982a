// SPDX-License-Identifier: Apache-2.0
/*
 * plan_configure.c - what a pod's link needs to be of use: addresses, routes, a limit.
 *
 * Owns: nothing. Called by: plan_apply.c for new links, plan_repair.c for what is missing
 * of one that is there.
 */
#include <errno.h>
#include <sys/socket.h>

#include "netlink/address.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"
#include "netlink/qdisc.h"
#include "netlink/route.h"

/* That of IPv6 when none is given; the default routes of the second interface and those
 * after it stand behind the first's, in both families. */
#define METRIC_BASE 1024

bool plan_skips(const struct inet *a)
{
	return a->family == AF_INET6 && !nl_has_ipv6();
}

struct route plan_default_route(const struct net_plan *plan, size_t n, int index,
				const struct inet *gw)
{
	return (struct route){ .index = index,
			       .to = { .family = gw->family },
			       .gateway = *gw,
			       .metric = n ? METRIC_BASE + (uint32_t)n : 0,
			       .onlink = !inet_on_link(plan->ifs[n].addrs,
						       plan->ifs[n].n_addrs, gw) };
}

void plan_configure(struct nl_batch *pod, const struct net_plan *plan, size_t n,
		    int index, bool again)
{
	const struct net_if *i = &plan->ifs[n];
	const struct inet *gateways[] = { &i->gateway4, &i->gateway6 };

	for (size_t k = 0; k < i->n_addrs; k++) {
		if (plan_skips(&i->addrs[k]))
			continue;
		address_add(pod, index, i->name, &i->addrs[k]);
		nl_batch_ignore(pod, again ? EEXIST : 0);
	}
	for (size_t k = 0; k < ARRAY_SIZE(gateways); k++) {
		struct route r;

		if (!gateways[k]->family || plan_skips(gateways[k]))
			continue;
		r = plan_default_route(plan, n, index, gateways[k]);
		r.replace = again;
		route_add(pod, i->name, &r);
	}
	if (i->egress_bits) /* it replaces the one that is there */
		qdisc_add_limit(pod, index, i->name, i->egress_bits, i->mtu);
}
