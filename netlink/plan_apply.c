// SPDX-License-Identifier: Apache-2.0
/*
 * plan_apply.c - the interfaces of one pod made and taken away, see plan.h.
 *
 * Owns: nothing. Two batches make a pod: one in the machine's namespace (links), one in
 * the pod's (lo, addresses, routes, limits).
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netlink/address.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"
#include "netlink/qdisc.h"
#include "netlink/route.h"

/* The first device of every network namespace (include/net/flow.h, since 2.6.30). */
#define LOOPBACK_INDEX 1

/* ---- one interface ---- */

static uint32_t macvlan_mode(enum net_mode mode)
{
	switch ((int)mode) {
	case NET_MODE_PRIVATE:
		return MACVLAN_MODE_PRIVATE;
	case NET_MODE_VEPA:
		return MACVLAN_MODE_VEPA;
	case NET_MODE_PASSTHRU:
		return MACVLAN_MODE_PASSTHRU;
	default:
		return MACVLAN_MODE_BRIDGE;
	}
}

static uint16_t ipvlan_mode(enum net_mode mode)
{
	switch ((int)mode) {
	case NET_MODE_L3:
		return IPVLAN_MODE_L3;
	case NET_MODE_L3S:
		return IPVLAN_MODE_L3S;
	default:
		return IPVLAN_MODE_L2;
	}
}

/* A veth of this name may still be there: its pod's namespace dies in its own time when a
 * child was killed half way. */
static void make_veth(struct nl_batch *b, struct nl *machine, const struct net_if *i,
		      int bridge, uint32_t mtu, int netns_fd)
{
	struct link_attrs host = { .name = i->host_name, .mtu = mtu, .master = bridge };
	struct link_attrs peer = { .name = i->name,
				   .mac = i->has_mac ? i->mac : NULL,
				   .mtu = mtu,
				   .netns_fd = netns_fd };

	if (nl_index(machine, i->host_name) >= 0) {
		link_delete(b, 0, i->host_name);
		nl_batch_ignore(b, ENODEV);
	}
	link_add_veth(b, &host, &peer);
	if (nl_has_ipv6())
		link_set_no_addrgen(b, 0, i->host_name);
	link_set_up(b, 0, i->host_name);
}

static void move_device(struct nl_batch *b, const struct net_if *i, int index,
			int netns_fd)
{
	link_set_down(b, index, i->parent); /* an interface that is up keeps its name */
	link_set_netns(b, index, i->parent, netns_fd, i->name);
}

static int make_if(struct nl_batch *b, const struct net_plan *plan,
		   const struct net_if *i, const struct net_machine *m,
		   struct nl *machine, int netns_fd, struct err *e)
{
	struct link_attrs child = { .name = i->name,
				    .mac = i->has_mac ? i->mac : NULL,
				    .mtu = i->mtu,
				    .netns_fd = netns_fd };
	int parent, mtu;

	if (i->kind == NET_VETH) {
		parent = plan_bridge(plan, i, m, machine, e);
		if (parent < 0)
			return parent;
		mtu = i->mtu ? (int)i->mtu : nl_mtu(machine, i->parent);
		if (mtu < 0)
			return err_set(e, STAGE_SANDBOX, -mtu, "mtu of %s", i->parent);
		make_veth(b, machine, i, parent, (uint32_t)mtu, netns_fd);
		return 0;
	}
	parent = nl_index(machine, i->parent);
	if (parent < 0)
		return err_set(e, STAGE_SANDBOX, -parent, "find interface %s", i->parent);
	child.parent = parent;
	if (i->kind == NET_MACVLAN)
		link_add_macvlan(b, &child, macvlan_mode(i->mode));
	else if (i->kind == NET_IPVLAN)
		link_add_ipvlan(b, &child, ipvlan_mode(i->mode));
	else
		move_device(b, i, parent, netns_fd);
	return 0;
}

/* ---- the pod's side ---- */

bool plan_skips(const struct inet *a)
{
	return a->family == AF_INET6 && !nl_has_ipv6();
}

bool plan_reaches(const struct net_if *i, const struct inet *gw)
{
	if (gw->family == AF_INET6 && gw->bytes[0] == 0xfe &&
	    (gw->bytes[1] & 0xc0) == 0x80)
		return true; /* fe80::/10 is on every link */
	for (size_t k = 0; k < i->n_addrs; k++)
		if (inet_contains(&i->addrs[k], gw))
			return true;
	return false;
}

static void default_route(struct nl_batch *b, const struct net_if *i, int index,
			  const struct inet *gw)
{
	struct route r = { .index = index,
			   .to = { .family = gw->family },
			   .gateway = *gw,
			   .onlink = !plan_reaches(i, gw) };

	if (gw->family && !plan_skips(gw))
		route_add(b, i->name, &r);
}

void plan_configure(struct nl_batch *pod, const struct net_if *i, int index)
{
	for (size_t k = 0; k < i->n_addrs; k++)
		if (!plan_skips(&i->addrs[k]))
			address_add(pod, index, i->name, &i->addrs[k]);
	default_route(pod, i, index, &i->gateway4);
	default_route(pod, i, index, &i->gateway6);
	if (i->egress_bits)
		qdisc_add_limit(pod, index, i->name, i->egress_bits, i->mtu);
}

static int configure_all(const struct net_plan *plan, struct nl *machine, struct nl *pod,
			 struct err *e)
{
	struct nl_batch *inside = NULL, *outside = NULL;
	int r = nl_batch_new(pod, &inside);

	if (r == 0)
		r = nl_batch_new(machine, &outside);
	if (r < 0)
		r = err_set(e, STAGE_SANDBOX, -r, "configure interfaces");
	else
		link_set_up(inside, LOOPBACK_INDEX, "lo");
	for (size_t n = 0; r == 0 && n < plan->n_ifs; n++) {
		const struct net_if *i = &plan->ifs[n];
		int index = nl_index(pod, i->name), host;

		if (index < 0) {
			r = err_set(e, STAGE_SANDBOX, -index, "find %s", i->name);
			break;
		}
		if (i->kind == NET_DEVICE && i->has_mac)
			link_set_mac(inside, index, i->name, i->mac);
		if (i->kind == NET_DEVICE && i->mtu)
			link_set_mtu(inside, index, i->name, i->mtu);
		link_set_up(inside, index, i->name);
		plan_configure(inside, i, index);
		host = i->ingress_bits ? nl_index(machine, i->host_name) : 0;
		if (host > 0)
			qdisc_add_limit(outside, host, i->host_name, i->ingress_bits,
					i->mtu);
	}
	if (r == 0)
		r = nl_batch_send(inside, e);
	if (r == 0 && nl_batch_count(outside))
		r = nl_batch_send(outside, e);
	nl_batch_free(inside);
	nl_batch_free(outside);
	return r;
}

/* rtnetlink: RTM_NEWNSID (include/uapi/linux/net_namespace.h). The id may still be that
 * of a namespace that is dying; then this one gets another from the kernel, and its
 * events are heard as nobody's. */
static void number_namespace(const struct net_plan *plan, struct nl *machine,
			     int netns_fd)
{
	struct rtgenmsg header = { .rtgen_family = AF_UNSPEC };
	struct nl_msg *msg = nl_msg_new(RTM_NEWNSID, 0, &header, sizeof(header));
	struct nl_batch *b = NULL;

	if (msg && (nla_put_u32(msg, NETNSA_FD, (uint32_t)netns_fd) < 0 ||
		    nla_put_u32(msg, NETNSA_NSID, plan->slot) < 0)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	if (nl_batch_new(machine, &b) < 0) {
		nlmsg_free(msg);
		return;
	}
	if (nl_batch_add(b, msg, EEXIST, "number the namespace") == 0)
		(void)nl_batch_send(b, NULL); /* see above */
	nl_batch_free(b);
}

/* ---- the whole ---- */

static int make_all(const struct net_plan *plan, const struct net_machine *m,
		    struct nl *machine, int netns_fd, struct err *e)
{
	struct nl_batch *b = NULL;
	int r = nl_batch_new(machine, &b);

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "make interfaces");
	for (size_t n = 0; r == 0 && n < plan->n_ifs; n++)
		r = make_if(b, plan, &plan->ifs[n], m, machine, netns_fd, e);
	if (r == 0 && nl_batch_count(b))
		r = nl_batch_send(b, e);
	nl_batch_free(b);
	return r;
}

int net_plan_apply(const struct net_plan *plan, const struct net_machine *m,
		   struct nl *machine, struct nl *pod, int netns_fd, struct err *e)
{
	_cleanup_close_ int home = -1;
	int r;

	number_namespace(plan, machine, netns_fd);
	r = make_all(plan, m, machine, netns_fd, e);
	if (r == 0)
		r = configure_all(plan, machine, pod, e);
	if (r < 0) {
		home = nl_netns(machine);
		(void)net_plan_remove(plan, machine, pod, home, NULL); /* e is told */
	}
	return r;
}

static void remove_inside(struct nl_batch *b, struct nl *pod, const struct net_if *i,
			  int machine_fd)
{
	int index = nl_index(pod, i->name);

	if (index < 0)
		return;
	if (i->kind != NET_DEVICE) {
		link_delete(b, index, i->name);
	} else if (machine_fd >= 0) {
		link_set_down(b, index, i->name);
		link_set_netns(b, index, i->name, machine_fd, i->parent);
	}
	nl_batch_ignore(b, ENODEV);
}

int net_plan_remove(const struct net_plan *plan, struct nl *machine, struct nl *pod,
		    int machine_fd, struct err *e)
{
	struct nl_batch *outside = NULL, *inside = NULL;
	int r = nl_batch_new(machine, &outside), s = 0;

	if (r == 0 && pod)
		r = nl_batch_new(pod, &inside);
	for (size_t n = 0; r == 0 && n < plan->n_ifs; n++) {
		const struct net_if *i = &plan->ifs[n];

		if (i->kind != NET_VETH) {
			if (pod)
				remove_inside(inside, pod, i, machine_fd);
			continue;
		}
		link_delete(outside, 0, i->host_name); /* the other end goes with it */
		nl_batch_ignore(outside, ENODEV);
	}
	if (r < 0) {
		r = err_set(e, STAGE_SANDBOX, -r, "remove interfaces");
	} else {
		if (inside && nl_batch_count(inside))
			s = nl_batch_send(inside, e);
		if (nl_batch_count(outside))
			r = nl_batch_send(outside, s < 0 ? NULL : e);
	}
	nl_batch_free(inside);
	nl_batch_free(outside);
	return s < 0 ? s : r;
}
