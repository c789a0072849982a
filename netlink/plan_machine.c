// SPDX-License-Identifier: Apache-2.0
/*
 * plan_machine.c - the machine's side of the pods' network: bridges, gateways, switches.
 *
 * Called by: pod's set-up child; plan_apply.c for the bridge of one interface.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netlink/address.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"

#define MTU_DEFAULT 1500

/* Without one of its own a bridge takes the lowest of its ports', and changes with them
 * (br_stp_recalculate_bridge_id()): neighbours would have to ask again. Locally
 * administered, apart from what pods have (02:...); number: of a further bridge. */
static void bridge_mac(const struct net_machine *m, unsigned int number,
		       uint8_t ret[static MAC_BYTES])
{
	const uint8_t *gw = m->gateway4.family ? m->gateway4.bytes :
						 m->gateway6.bytes + 12;
	const uint8_t mac[MAC_BYTES] = {
		0x06, (uint8_t)number, gw[0], gw[1], gw[2], gw[3]
	};

	memcpy(ret, mac, sizeof(mac));
}

/* ---- bridges ---- */

static int bridge_make(struct nl *nl, const char *name, const uint8_t *mac, uint32_t mtu,
		       struct err *e)
{
	struct link_attrs a = { .name = name, .mac = mac, .mtu = mtu, .up = true };
	struct nl_batch *b = NULL;
	int r = nl_batch_new(nl, &b);

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "make bridge %s", name);
	link_add_bridge(b, &a);
	nl_batch_ignore(b, EEXIST); /* another child was quicker */
	r = nl_batch_send(b, e);
	nl_batch_free(b);
	if (r < 0)
		return r;
	r = nl_index(nl, name);
	return r < 0 ? err_set(e, STAGE_SANDBOX, -r, "find bridge %s", name) : r;
}

/* Whether the further bridge's end of the joint is its port and up: the last steps. */
static bool bridge_joined(struct nl *nl, const char *far, int index)
{
	struct link_info end;

	return nl_index(nl, far) >= 0 && link_get(nl, 0, far, &end) == 0 &&
	       end.master == index && end.flags & IFF_UP;
}

/* A further bridge joined to the first by a veth pair; both ends are ports. Two children
 * may do so at the same time: each step is right also when it was done already. */
static int bridge_join(struct nl *nl, const char *name, int index, const char *first,
		       unsigned int number, uint32_t mtu, struct err *e)
{
	char near[NET_NAME_BYTES], far[NET_NAME_BYTES];
	struct link_attrs a = { .name = near, .mtu = mtu },
			  z = { .name = far, .mtu = mtu };
	struct nl_batch *b = NULL;
	int root = nl_index(nl, first), r;

	(void)snprintf(near, sizeof(near), "pj%ua", number);
	(void)snprintf(far, sizeof(far), "pj%ub", number);
	if (root < 0)
		return err_set(e, STAGE_SANDBOX, -root, "find bridge %s", first);
	if (bridge_joined(nl, far, index))
		return 0;
	r = nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "join bridge %s", name);
	link_add_veth(b, &a, &z);
	nl_batch_ignore(b, EEXIST);
	link_set_master(b, 0, near, root);
	link_set_up(b, 0, near);
	link_set_master(b, 0, far, index);
	link_set_up(b, 0, far);
	r = nl_batch_send(b, e);
	nl_batch_free(b);
	return r;
}

int plan_bridge_name(const struct net_plan *plan, const struct net_if *i,
		     const struct net_machine *m, char ret[static NET_NAME_BYTES])
{
	unsigned int number = plan->slot / NET_BRIDGE_PORTS;
	int n;

	if (strcmp(i->parent, m->bridge) != 0 || number == 0) {
		memcpy(ret, i->parent, NET_NAME_BYTES);
		return 0;
	}
	n = snprintf(ret, NET_NAME_BYTES, "%s.%u", m->bridge, number);
	return n < NET_NAME_BYTES ? (int)number : -ENAMETOOLONG;
}

int plan_bridge(const struct net_plan *plan, const struct net_if *i,
		const struct net_machine *m, struct nl *machine, struct err *e)
{
	uint32_t mtu = m->mtu ? m->mtu : MTU_DEFAULT;
	char name[NET_NAME_BYTES];
	uint8_t mac[MAC_BYTES];
	int number = plan_bridge_name(plan, i, m, name), index, r;

	if (number < 0)
		return err_set(e, STAGE_SANDBOX, -number, "name a bridge after %s",
			       m->bridge);
	index = nl_index(machine, name);
	if (index < 0 && !number && !i->make_parent)
		return err_set(e, STAGE_SANDBOX, -index, "find bridge %s", name);
	bridge_mac(m, (unsigned int)number, mac);
	if (index < 0)
		index = bridge_make(machine, name, number ? mac : NULL, mtu, e);
	if (index < 0 || !number)
		return index;
	r = bridge_join(machine, name, index, m->bridge, (unsigned int)number, mtu, e);
	return r < 0 ? r : index;
}

/* ---- gateways ---- */

struct tidy {
	struct nl_batch *batch;
	const char *link;
	const struct inet *want[2];
	bool there[2];
};

/* Of an earlier life with another range; the kernel's own fe80:: stays. */
static int tidy_address(void *arg, const struct address_info *found)
{
	struct tidy *t = arg;

	if (found->scope == RT_SCOPE_LINK)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(t->want); i++)
		if (inet_same(t->want[i], &found->addr) &&
		    t->want[i]->prefix == found->addr.prefix) {
			t->there[i] = true;
			return 0;
		}
	address_delete(t->batch, found->index, t->link, &found->addr);
	nl_batch_ignore(t->batch, EADDRNOTAVAIL);
	return 0;
}

/* One look; *ret_todo: how many changes it led to. */
static int gateways_look(struct nl *nl, const struct net_machine *m, int index,
			 size_t *ret_todo, struct err *e)
{
	struct tidy t = { .link = m->bridge, .want = { &m->gateway4, &m->gateway6 } };
	int r = nl_batch_new(nl, &t.batch);

	if (r == 0)
		r = address_each(nl, index, tidy_address, &t);
	if (r < 0) {
		nl_batch_free(t.batch);
		return err_set(e, STAGE_SANDBOX, -r, "read the addresses of %s",
			       m->bridge);
	}
	for (size_t i = 0; i < ARRAY_SIZE(t.want); i++) {
		if (!t.want[i]->family || t.there[i] || plan_skips(t.want[i]))
			continue;
		address_add(t.batch, index, m->bridge, t.want[i]);
		nl_batch_ignore(t.batch, EEXIST);
	}
	*ret_todo = nl_batch_count(t.batch);
	r = nl_batch_send(t.batch, e);
	nl_batch_free(t.batch);
	return r;
}

/* A second look: with an IPv4 address that goes the kernel takes all others of its
 * subnet (promote_secondaries of ip-sysctl.rst is off), the gateway's perhaps. */
static int gateways(struct nl *nl, const struct net_machine *m, int index, struct err *e)
{
	size_t todo = 1;
	int r = 0;

	for (int look = 0; r == 0 && todo > 0 && look < 2; look++)
		r = gateways_look(nl, m, index, &todo, e);
	return r;
}

/* ---- switches ---- */

static int switch_on(const char *path, struct err *e)
{
	int r = fd_write_file_at(AT_FDCWD, path, "1");

	return r < 0 ? err_set(e, STAGE_SANDBOX, -r, "write 1 to %s", path) : 0;
}

/* With br_netfilter bridged packets pass the IP hooks as if they were routed: what is
 * translated to the pod it came from then never leaves its port (no hairpin), and pod to
 * pod costs a walk through all rules. Without that module there are no such files. */
static int bridge_is_a_bridge(struct err *e)
{
	static const char *const paths[] = {
		"/proc/sys/net/bridge/bridge-nf-call-iptables",
		"/proc/sys/net/bridge/bridge-nf-call-ip6tables"
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int r = fd_write_file_at(AT_FDCWD, paths[i], "0");

		if (r < 0 && r != -ENOENT)
			return err_set(e, STAGE_SANDBOX, -r, "write 0 to %s", paths[i]);
	}
	return 0;
}

/* Documentation/networking/ip-sysctl.rst. rp_filter stays as it is: pods are on the
 * bridge's own subnet, which the strict check allows, too. IPv6 forwarding ends the use
 * of router advertisements on interfaces whose accept_ra is not 2: the uplink's is set by
 * who configures it. */
static int switches(const struct net_machine *m, struct err *e)
{
	int r = 0;

	if (m->gateway4.family)
		r = switch_on("/proc/sys/net/ipv4/ip_forward", e);
	if (r == 0 && m->gateway6.family && !plan_skips(&m->gateway6))
		r = switch_on("/proc/sys/net/ipv6/conf/all/forwarding", e);
	if (r == 0)
		r = bridge_is_a_bridge(e);
	return r;
}

static int reshape(struct nl *nl, const struct net_machine *m,
		   const struct link_info *bridge, uint32_t mtu, struct err *e)
{
	struct nl_batch *b = NULL;
	uint8_t mac[MAC_BYTES];
	int r;

	if (strcmp(bridge->kind, "bridge") != 0)
		return err_setx(e, STAGE_SANDBOX, EEXIST,
				"%s is there already, and it is no bridge", m->bridge);
	r = nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "set up bridge %s", m->bridge);
	link_set_bridge(b, bridge->index, m->bridge);
	bridge_mac(m, 0, mac);
	if (memcmp(bridge->mac, mac, sizeof(mac)) != 0)
		link_set_mac(b, bridge->index, m->bridge, mac);
	if (bridge->mtu != mtu)
		link_set_mtu(b, bridge->index, m->bridge, mtu);
	link_set_up(b, bridge->index, m->bridge);
	r = nl_batch_send(b, e);
	nl_batch_free(b);
	return r;
}

int net_machine_apply(const struct net_machine *m, struct err *e)
{
	uint32_t mtu = m->mtu ? m->mtu : MTU_DEFAULT;
	struct link_info bridge;
	uint8_t mac[MAC_BYTES];
	struct nl *nl = NULL;
	int r, index = 0;

	if (!m->gateway4.family && plan_skips(&m->gateway6))
		return err_setx(e, STAGE_SANDBOX, EAFNOSUPPORT,
				"%s has an IPv6 range only, and the kernel has no IPv6",
				m->bridge);
	r = nl_open(&nl, e);
	if (r < 0)
		return r;
	r = link_get(nl, 0, m->bridge, &bridge);
	if (r == -ENODEV) {
		bridge_mac(m, 0, mac);
		index = r = bridge_make(nl, m->bridge, mac, mtu, e);
	} else if (r < 0) {
		r = err_set(e, STAGE_SANDBOX, -r, "look for bridge %s", m->bridge);
	} else {
		index = bridge.index;
		r = reshape(nl, m, &bridge, mtu, e);
	}
	if (r >= 0)
		r = gateways(nl, m, index, e);
	if (r >= 0)
		r = switches(m, e);
	nl_disconnect(nl);
	return r < 0 ? r : 0;
}
