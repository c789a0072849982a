// SPDX-License-Identifier: Apache-2.0
/*
 * plan_apply.c - the interfaces of one pod made, see plan.h.
 *
 * Owns: nothing. Two batches make a pod: one in the machine's namespace (its number, the
 * links), one in the pod's (lo, addresses, routes, limits). A failure takes back what
 * this call made, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"
#include "netlink/qdisc.h"

/* The first device of every network namespace (include/net/flow.h, since 2.6.30). */
#define LOOPBACK_INDEX 1

struct apply {
	const struct net_plan *plan;
	unsigned int which; /* bit n: plan->ifs[n] is to be made */
	const struct net_machine *machine_plan;
	struct nl *machine, *pod;
	int netns_fd;
	struct err *e;
	struct nl_batch *links;      /* of the machine's */
	size_t message[NET_IFS_MAX]; /* which one of links makes the interface */
	int bridge[NET_IFS_MAX];     /* NET_VETH: index */
	unsigned int made;           /* bit n: plan->ifs[n] */
};

static bool wanted(const struct apply *a, size_t n)
{
	return a->which & 1U << n;
}

/* ---- in the machine's namespace ---- */

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

/* A slot belongs to one pod, so a veth of its name is what a child left that was killed
 * half way: its namespace dies in its own time. */
static void drop_leftover(const struct apply *a, const char *host_name)
{
	struct link_info link;

	if (nl_index(a->machine, host_name) < 0 ||
	    link_get(a->machine, 0, host_name, &link) < 0 ||
	    strcmp(link.kind, "veth") != 0)
		return;
	link_delete(a->links, link.index, host_name);
	nl_batch_ignore(a->links, ENODEV);
}

static int make_veth(struct apply *a, size_t n)
{
	const struct net_if *i = &a->plan->ifs[n];
	int bridge = plan_bridge(a->plan, i, a->machine_plan, a->machine, a->e);
	int mtu = i->mtu ? (int)i->mtu : nl_mtu(a->machine, i->parent);
	struct link_attrs host = { .name = i->host_name, .mtu = (uint32_t)mtu };
	struct link_attrs peer = { .name = i->name,
				   .mac = i->has_mac ? i->mac : NULL,
				   .mtu = (uint32_t)mtu,
				   .netns_fd = a->netns_fd };

	if (bridge < 0)
		return bridge;
	if (!i->mtu && mtu < 0) /* it was made just now perhaps */
		mtu = nl_mtu(a->machine, i->parent);
	if (mtu < 0)
		return err_set(a->e, STAGE_SANDBOX, -mtu, "mtu of %s", i->parent);
	host.mtu = peer.mtu = (uint32_t)mtu;
	a->bridge[n] = bridge;
	drop_leftover(a, i->host_name);
	a->message[n] = nl_batch_count(a->links);
	link_add_veth(a->links, &host, &peer);
	if (nl_has_ipv6())
		link_set_no_addrgen(a->links, 0, i->host_name);
	link_set_up(a->links, 0, i->host_name);
	return 0;
}

static int make_child(struct apply *a, size_t n)
{
	const struct net_if *i = &a->plan->ifs[n];
	int parent = nl_index(a->machine, i->parent);
	struct link_attrs attrs = {
		.name = i->name, .mtu = i->mtu, .netns_fd = a->netns_fd, .parent = parent
	};

	if (parent < 0)
		return err_set(a->e, STAGE_SANDBOX, -parent, "find interface %s",
			       i->parent);
	/* What hangs on a NIC cannot be set up while that is down (macvlan_open()). */
	link_set_up(a->links, parent, i->parent);
	a->message[n] = nl_batch_count(a->links);
	if (i->kind == NET_IPVLAN) { /* has the MAC of its NIC, always */
		link_add_ipvlan(a->links, &attrs, ipvlan_mode(i->mode));
		return 0;
	}
	attrs.mac = i->has_mac ? i->mac : NULL;
	link_add_macvlan(a->links, &attrs, macvlan_mode(i->mode));
	return 0;
}

static int make_one(struct apply *a, size_t n)
{
	const struct net_if *i = &a->plan->ifs[n];
	int r;

	if (i->kind == NET_VETH)
		return make_veth(a, n);
	if (i->kind != NET_DEVICE)
		return make_child(a, n);
	r = plan_device_in(a->links, a->machine, i, a->netns_fd, a->e);
	a->message[n] = nl_batch_count(a->links) - 1;
	return r;
}

/*
 * include/uapi/linux/net_namespace.h. Before the links: the kernel gives a namespace with
 * a link's other end the lowest free number by itself. A number is free again only when
 * the namespace that had it is gone, which the kernel sees to in its own time; a pod that
 * starts again in the meantime takes the spare one. When both are taken the kernel
 * chooses, the pod runs all the same, and its events are heard as another's: they are
 * hints, so that one is looked at in vain and this one not until the next look at all.
 */
static void number_namespace(struct apply *a)
{
	const uint32_t numbers[] = { a->plan->slot, NET_NSID_SPARE + a->plan->slot };
	struct rtgenmsg header = { .rtgen_family = AF_UNSPEC };

	for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
		struct nl_msg *msg = nl_msg_new(RTM_NEWNSID, 0, &header, sizeof(header));

		if (msg && (nla_put_u32(msg, NETNSA_FD, (uint32_t)a->netns_fd) < 0 ||
			    nla_put_u32(msg, NETNSA_NSID, numbers[k]) < 0)) {
			nlmsg_free(msg);
			msg = NULL;
		}
		/* EEXIST: the number is taken, or the namespace has one already. */
		(void)nl_batch_add(a->links, msg, EEXIST, "number the namespace %u",
				   numbers[k]);
	}
}

static int make_all(struct apply *a)
{
	int r = 0;

	number_namespace(a);
	for (size_t n = 0; r == 0 && n < a->plan->n_ifs; n++)
		if (wanted(a, n))
			r = make_one(a, n);
	if (r < 0)
		return r;
	r = nl_batch_send(a->links, a->e);
	for (size_t n = 0; n < a->plan->n_ifs; n++)
		if (nl_batch_done(a->links, a->message[n]))
			a->made |= 1U << n;
	return r;
}

/* ---- in the pod's ---- */

static int write_zero(int conf, const char *link, const char *what, struct err *e)
{
	char path[NET_NAME_BYTES + 16];
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", link, what);
	r = fd_write_file_at(conf, path, "0");
	return r < 0 ? err_set(e, STAGE_SANDBOX, -r, "write 0 to %s of %s", what, link) :
		       0;
}

/* Opened once: every namespace that was ever looked into has an "ipv6" of its own below
 * the same /proc/sys/net, and the look-up walks past all of them (proc_sys_compare()). */
static int quiet_links(const struct apply *a)
{
	_cleanup_close_ int conf = open("/proc/sys/net/ipv6/conf",
					O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = conf < 0 ? err_set(a->e, STAGE_SANDBOX, errno,
				   "open /proc/sys/net/ipv6/conf") :
			   0;

	for (size_t n = 0; r == 0 && n < a->plan->n_ifs; n++) {
		const struct net_if *i = &a->plan->ifs[n];

		if (i->kind != NET_VETH || !wanted(a, n))
			continue;
		r = write_zero(conf, i->name, "accept_ra", a->e);
		if (r == 0)
			r = write_zero(conf, i->name, "accept_dad", a->e);
	}
	return r;
}

/*
 * A pod's address and router are given, and its neighbours are other pods: one that sends
 * a router advertisement would get the others' traffic (CVE-2020-10749 of CNI plugins).
 * Nor is its fe80:: looked for elsewhere first: every pod on the bridge would get the
 * question. macvlan, ipvlan and NICs are on a network of somebody else's, which may
 * configure them.
 */
static int quiet_ipv6(const struct apply *a)
{
	_cleanup_close_ int home = -1;
	int r;

	if (!nl_has_ipv6())
		return 0;
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0 || setns(a->netns_fd, CLONE_NEWNET) < 0)
		return err_set(a->e, STAGE_SANDBOX, errno, "enter the pod's namespace");
	r = quiet_links(a);
	if (setns(home, CLONE_NEWNET) < 0)
		return err_set(a->e, STAGE_SANDBOX, errno, "leave the pod's namespace");
	return r;
}

static int configure_one(const struct apply *a, size_t n, struct nl_batch *inside,
			 struct nl_batch *outside)
{
	const struct net_if *i = &a->plan->ifs[n];
	int index = nl_index(a->pod, i->name), host;

	if (index < 0)
		return err_set(a->e, STAGE_SANDBOX, -index, "find %s", i->name);
	if (i->kind == NET_DEVICE && i->has_mac)
		link_set_mac(inside, index, i->name, i->mac);
	if (i->kind == NET_DEVICE && i->mtu)
		link_set_mtu(inside, index, i->name, i->mtu);
	link_set_up(inside, index, i->name);
	plan_configure(inside, a->plan, n, index, false);
	if (i->kind != NET_VETH)
		return 0;
	/* Last: what a new interface tells everybody (group memberships above all) would
	 * be carried to every other pod, and starts would get dearer with each of them.
	 */
	link_set_master(outside, 0, i->host_name, a->bridge[n]);
	if (!i->ingress_bits)
		return 0;
	host = nl_index(a->machine, i->host_name);
	if (host < 0)
		return err_set(a->e, STAGE_SANDBOX, -host, "find %s", i->host_name);
	qdisc_add_limit(outside, host, i->host_name, i->ingress_bits, i->mtu);
	return 0;
}

static int configure_all(const struct apply *a)
{
	struct nl_batch *inside = NULL, *outside = NULL;
	int r = nl_batch_new(a->pod, &inside);

	if (r == 0)
		r = nl_batch_new(a->machine, &outside);
	if (r < 0)
		r = err_set(a->e, STAGE_SANDBOX, -r, "configure interfaces");
	else
		link_set_up(inside, LOOPBACK_INDEX, "lo");
	for (size_t n = 0; r == 0 && n < a->plan->n_ifs; n++)
		if (wanted(a, n))
			r = configure_one(a, n, inside, outside);
	if (r == 0)
		r = nl_batch_send(inside, a->e);
	if (r == 0)
		r = nl_batch_send(outside, a->e);
	nl_batch_free(inside);
	nl_batch_free(outside);
	return r;
}

/* ---- the whole ---- */

/* IPv6 that the kernel has not is left out of an interface that has IPv4 as well: ranges
 * of both families are the default, and a machine may be booted with ipv6.disable=1. */
static int require_family(const struct apply *a)
{
	for (size_t n = 0; n < a->plan->n_ifs; n++) {
		const struct net_if *i = &a->plan->ifs[n];
		size_t skipped = 0;

		for (size_t k = 0; k < i->n_addrs; k++)
			skipped += plan_skips(&i->addrs[k]);
		if (skipped && skipped == i->n_addrs)
			return err_setx(a->e, STAGE_SANDBOX, EAFNOSUPPORT,
					"%s has IPv6 addresses only, and the kernel has "
					"no IPv6",
					i->name);
	}
	return 0;
}

int plan_apply_some(const struct net_plan *plan, unsigned int which,
		    const struct net_machine *m, struct nl *machine, struct nl *pod,
		    int netns_fd, struct err *e)
{
	struct apply a = { .plan = plan,
			   .which = which,
			   .machine_plan = m,
			   .machine = machine,
			   .pod = pod,
			   .netns_fd = netns_fd,
			   .e = e };
	int r;

	for (size_t n = 0; n < ARRAY_SIZE(a.message); n++)
		a.message[n] = SIZE_MAX;
	if (plan->n_ifs > NET_IFS_MAX)
		return err_setx(e, STAGE_SANDBOX, EINVAL, "%zu interfaces are too many",
				plan->n_ifs);
	r = require_family(&a);
	if (r < 0)
		return r;
	r = nl_batch_new(machine, &a.links);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "make interfaces");
	r = make_all(&a);
	nl_batch_free(a.links);
	if (r == 0)
		r = quiet_ipv6(&a);
	if (r == 0)
		r = configure_all(&a);
	if (r < 0) {
		_cleanup_close_ int home = nl_netns(machine);

		(void)plan_remove_some(plan, a.made, machine, pod, home,
				       NULL); /* e says what failed first */
	}
	return r;
}

int net_plan_apply(const struct net_plan *plan, const struct net_machine *m,
		   struct nl *machine, struct nl *pod, int netns_fd, struct err *e)
{
	return plan_apply_some(plan, ~0U, m, machine, pod, netns_fd, e);
}
