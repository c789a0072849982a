// SPDX-License-Identifier: Apache-2.0
/*
 * plan_remove.c - takes a pod's interfaces away, all or those of a failed start.
 *
 * Owns: nothing. Called by: pod's clean-up child; plan_apply.c. Everything is tried,
 * whatever fails; the first failure is told. The kernel has done it when it answers.
 */
#include <errno.h>

#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"

static int delete_link(struct nl *nl, const char *name, struct err *e)
{
	struct nl_batch *b = NULL;
	int r = nl_batch_new(nl, &b);

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "delete link %s", name);
	link_delete(b, 0, name);
	nl_batch_ignore(b, ENODEV);
	r = nl_batch_send(b, e);
	nl_batch_free(b);
	return r;
}

static int remove_one(const struct net_if *i, struct nl *machine, struct nl *pod,
		      int machine_fd, struct err *e)
{
	switch (i->kind) {
	case NET_VETH: /* the other end goes with it */
		return delete_link(machine, i->host_name, e);
	case NET_DEVICE:
		if (pod)
			return plan_device_out(i, pod, true, machine_fd, e);
		return plan_device_out(i, machine, false, -1, e);
	case NET_MACVLAN:
	case NET_IPVLAN:
		return pod ? delete_link(pod, i->name, e) : 0;
	case NET_KIND_MAX:
		break;
	}
	return 0;
}

int plan_remove_some(const struct net_plan *plan, unsigned int which, struct nl *machine,
		     struct nl *pod, int machine_fd, struct err *e)
{
	int r = 0;

	for (size_t n = 0; n < plan->n_ifs; n++) {
		int s;

		if (!(which & 1U << n))
			continue;
		s = remove_one(&plan->ifs[n], machine, pod, machine_fd,
			       r == 0 ? e : NULL);
		r = r < 0 ? r : s;
	}
	return r;
}

int net_plan_remove(const struct net_plan *plan, struct nl *machine, struct nl *pod,
		    int machine_fd, struct err *e)
{
	return plan_remove_some(plan, ~0U, machine, pod, machine_fd, e);
}
