// SPDX-License-Identifier: Apache-2.0
/*
 * plan_repair.c - puts back what somebody took from a pod's interfaces, see plan.h.
 *
 * Owns: nothing. Called by: pod's check child. Does everything that a sound interface
 * would need again, and counts what is there already as done: it is run when something is
 * known to be missing, and need not know what.
 */
#include <errno.h>

#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"

/* Of an interface whose links are there. */
static int mend(const struct net_plan *plan, size_t n, const struct net_machine *m,
		struct nl *machine, struct nl *pod, struct nl_batch *inside,
		struct nl_batch *outside, struct err *e)
{
	const struct net_if *i = &plan->ifs[n];
	int index = nl_index(pod, i->name), bridge;
	struct link_info host;

	if (index < 0)
		return err_set(e, STAGE_SANDBOX, -index, "find %s", i->name);
	link_set_up(inside, index, i->name);
	plan_configure(inside, plan, n, index, true);
	if (i->kind != NET_VETH)
		return 0;
	bridge = plan_bridge(plan, i, m, machine, e);
	if (bridge < 0)
		return bridge;
	link_set_up(outside, 0, i->host_name);
	if (link_get(machine, 0, i->host_name, &host) < 0 || host.master != bridge)
		link_set_master(outside, 0, i->host_name, bridge);
	return 0;
}

static int mend_all(const struct net_plan *plan, unsigned int which,
		    const struct net_machine *m, struct nl *machine, struct nl *pod,
		    struct err *e)
{
	struct nl_batch *inside = NULL, *outside = NULL;
	int r = nl_batch_new(pod, &inside);

	if (r == 0)
		r = nl_batch_new(machine, &outside);
	if (r < 0)
		r = err_set(e, STAGE_SANDBOX, -r, "repair interfaces");
	else
		link_set_up(inside, 0, "lo");
	for (size_t n = 0; r == 0 && n < plan->n_ifs; n++)
		if (which & 1U << n)
			r = mend(plan, n, m, machine, pod, inside, outside, e);
	if (r == 0)
		r = nl_batch_send(inside, e);
	if (r == 0)
		r = nl_batch_send(outside, e);
	nl_batch_free(inside);
	nl_batch_free(outside);
	return r;
}

/* Somebody gave the machine's end another name: it gets its own back. What is not that,
 * or cannot be done, is for the rest to find. */
static void give_name_back(const struct net_if *i, struct nl *machine, struct nl *pod)
{
	struct link_info inside, host;
	struct nl_batch *b;

	if (i->kind != NET_VETH || nl_index(machine, i->host_name) != -ENODEV ||
	    link_get(pod, 0, i->name, &inside) < 0 || inside.parent <= 0 ||
	    link_get(machine, inside.parent, NULL, &host) < 0 ||
	    host.parent != inside.index || nl_batch_new(machine, &b) < 0)
		return;
	link_set_down(b, host.index, host.name);
	link_set_name(b, host.index, host.name, i->host_name);
	(void)nl_batch_send(b, NULL); /* mend() sets it up, or says what is wrong */
	nl_batch_free(b);
}

int net_plan_repair(const struct net_plan *plan, const struct net_machine *m,
		    struct nl *machine, struct nl *pod, int netns_fd, struct err *e)
{
	unsigned int there = 0, gone = 0;
	int r = 0;

	if (plan_check_machine(m, machine, NULL) < 0)
		r = net_machine_apply(m, e);
	if (r < 0)
		return r;
	for (size_t n = 0; n < plan->n_ifs; n++)
		give_name_back(&plan->ifs[n], machine, pod);
	for (size_t n = 0; n < plan->n_ifs; n++)
		if (plan_if_there(plan, n, machine, pod))
			there |= 1U << n;
		else
			gone |= 1U << n;
	r = mend_all(plan, there, m, machine, pod, e);
	if (r == 0 && gone)
		r = plan_apply_some(plan, gone, m, machine, pod, netns_fd, e);
	return r;
}
