// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_job.c - the uplink's links, addresses and routes, set in a child.
 *
 * Owns: nothing. Called by: uplink.c through base/child.h; prints what failed. What an
 * earlier job gave the interface is taken away after the new is there, so that a renewed
 * lease interrupts nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_bonding.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/address.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/route.h"
#include "netlink/uplink_parts.h"

#define MIIMON_MS 100 /* Documentation/networking/bonding.rst recommends it */

static const struct {
	const char *name;
	uint8_t mode;
} bond_modes[] = {
	{ "balance-rr", BOND_MODE_ROUNDROBIN },
	{ "active-backup", BOND_MODE_ACTIVEBACKUP },
	{ "balance-xor", BOND_MODE_XOR },
	{ "broadcast", BOND_MODE_BROADCAST },
	{ "802.3ad", BOND_MODE_8023AD },
	{ "balance-tlb", BOND_MODE_TLB },
	{ "balance-alb", BOND_MODE_ALB },
};

static uint8_t bond_mode(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(bond_modes); i++)
		if (!strcmp(bond_modes[i].name, name))
			return bond_modes[i].mode;
	return BOND_MODE_ACTIVEBACKUP;
}

static int send_batch(struct nl_batch *b, struct err *e)
{
	int r = nl_batch_count(b) ? nl_batch_send(b, e) : 0;

	nl_batch_free(b);
	return r;
}

/* ---- links ---- */

static int make_bond(struct nl *nl, const struct uplink_job *j, struct err *e)
{
	struct link_attrs a = { .name = j->nic };
	struct link_bond bond = { .mode = bond_mode(j->bond_mode),
				  .miimon_ms = MIIMON_MS };
	struct nl_batch *b = NULL;
	int index, r;

	if (nl_index(nl, j->nic) < 0) {
		r = nl_batch_new(nl, &b);
		if (r < 0)
			return err_set(e, STAGE_BOOT, -r, "make bond %s", j->nic);
		link_add_bond(b, &a, &bond);
		r = send_batch(b, e);
		if (r < 0)
			return r;
	}
	index = nl_index(nl, j->nic);
	r = index < 0 ? index : nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_BOOT, -r, "find bond %s", j->nic);
	for (size_t i = 0; i < j->n_ports; i++) {
		struct link_info port;

		if (link_get(nl, 0, j->ports[i], &port) < 0 || port.master == index)
			continue; /* not there yet, or a port already */
		link_set_down(b, port.index, j->ports[i]);
		link_set_master(b, port.index, j->ports[i], index);
		link_set_up(b, port.index, j->ports[i]);
	}
	return send_batch(b, e);
}

static int make_vlan(struct nl *nl, const struct uplink_job *j, struct err *e)
{
	int parent = nl_index(nl, j->nic), r;
	struct link_attrs a = { .name = j->link, .parent = parent };
	struct nl_batch *b = NULL;

	if (parent < 0)
		return err_set(e, STAGE_BOOT, -parent, "find %s", j->nic);
	if (nl_index(nl, j->link) >= 0)
		return 0;
	r = nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_BOOT, -r, "make VLAN %s", j->link);
	link_add_vlan(b, &a, (uint16_t)j->vlan_id);
	return send_batch(b, e);
}

/* With forwarding on, router advertisements count only where accept_ra is 2
 * (Documentation/networking/ip-sysctl.rst); an uplink without an IPv6 gateway of its own
 * lives on them. */
static void keep_adverts(const struct uplink_job *j)
{
	char path[80];

	if (j->settings.gateway[1].family)
		return;
	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/accept_ra",
		       j->link);
	(void)fd_write_file_at(AT_FDCWD, path, "2"); /* ENOENT: a kernel without IPv6 */
}

/* Else the new address of a lease goes with the old one, when both are in one network
 * (promote_secondaries in Documentation/networking/ip-sysctl.rst). */
static void keep_secondaries(const struct uplink_job *j)
{
	char path[80];

	(void)snprintf(path, sizeof(path),
		       "/proc/sys/net/ipv4/conf/%s/promote_secondaries", j->link);
	(void)fd_write_file_at(AT_FDCWD, path, "1");
}

static int bring_up(struct nl *nl, const struct uplink_job *j, struct err *e)
{
	struct nl_batch *b = NULL;
	uint32_t mtu = j->mtu ? j->mtu : j->settings.mtu;
	int nic = nl_index(nl, j->nic), link = nl_index(nl, j->link), r;

	if (nic < 0 || link < 0)
		return err_set(e, STAGE_BOOT, nic < 0 ? -nic : -link, "find %s",
			       nic < 0 ? j->nic : j->link);
	r = nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_BOOT, -r, "set %s up", j->link);
	/* A VLAN's frames must fit below it. */
	if (mtu && (uint32_t)nl_mtu(nl, j->nic) < mtu)
		link_set_mtu(b, nic, j->nic, mtu);
	if (mtu && (uint32_t)nl_mtu(nl, j->link) != mtu)
		link_set_mtu(b, link, j->link, mtu);
	link_set_up(b, nic, j->nic);
	if (link != nic)
		link_set_up(b, link, j->link);
	return send_batch(b, e);
}

/* ---- addresses and routes ---- */

static struct route route_by(const struct uplink_settings *s, int index,
			     const struct inet *to, const struct inet *gateway)
{
	return (struct route){ .index = index,
			       .to = *to,
			       .gateway = *gateway,
			       .onlink = gateway->family &&
					 !inet_on_link(s->addrs, s->n_addrs, gateway),
			       .replace = true };
}

static bool has_address(const struct uplink_settings *s, const struct inet *a)
{
	for (size_t i = 0; i < s->n_addrs; i++)
		if (inet_same(&s->addrs[i], a) && s->addrs[i].prefix == a->prefix)
			return true;
	return false;
}

static bool has_route(const struct uplink_settings *s, const struct uplink_route *r)
{
	for (size_t i = 0; i < s->n_routes; i++)
		if (inet_same(&s->routes[i].to, &r->to) &&
		    s->routes[i].to.prefix == r->to.prefix)
			return true; /* perhaps by another gateway: it was replaced */
	return false;
}

static void drop_route(struct nl_batch *b, const struct uplink_job *j, int index,
		       const struct inet *to, const struct inet *gateway)
{
	struct route route = route_by(&j->old, index, to, gateway);

	route_delete(b, j->link, &route);
	nl_batch_ignore(b, ESRCH);
}

/* What an earlier lease had and this one has not. */
static void drop_routes(struct nl_batch *b, const struct uplink_job *j, int index)
{
	const struct uplink_settings *s = &j->settings, *old = &j->old;

	for (size_t i = 0; i < old->n_routes; i++)
		if (!has_route(s, &old->routes[i]))
			drop_route(b, j, index, &old->routes[i].to,
				   &old->routes[i].gateway);
	for (size_t i = 0; i < 2; i++) {
		struct inet any = { .family = old->gateway[i].family };

		if (old->gateway[i].family && !s->gateway[i].family)
			drop_route(b, j, index, &any, &old->gateway[i]);
	}
}

static int configure(struct nl *nl, const struct uplink_job *j, struct err *e)
{
	const struct uplink_settings *s = &j->settings, *old = &j->old;
	uint32_t life = s->lease_seconds ? s->lease_seconds : UINT32_MAX;
	int index = nl_index(nl, j->link), r;
	struct nl_batch *b = NULL;

	r = index < 0 ? index : nl_batch_new(nl, &b);
	if (r < 0)
		return err_set(e, STAGE_BOOT, -r, "find %s", j->link);
	for (size_t i = 0; i < s->n_addrs; i++)
		address_lease(b, index, j->link, &s->addrs[i], life);
	for (size_t i = 0; i < s->n_routes; i++) {
		struct route route = route_by(s, index, &s->routes[i].to,
					      &s->routes[i].gateway);

		route_add(b, j->link, &route);
	}
	for (size_t i = 0; i < 2; i++) {
		struct inet any = { .family = s->gateway[i].family };
		struct route route = route_by(s, index, &any, &s->gateway[i]);

		if (s->gateway[i].family)
			route_add(b, j->link, &route);
	}
	drop_routes(b, j, index);
	for (size_t i = 0; i < old->n_addrs; i++) {
		if (has_address(s, &old->addrs[i]))
			continue;
		address_delete(b, index, j->link, &old->addrs[i]);
		nl_batch_ignore(b, EADDRNOTAVAIL); /* its lifetime was over */
	}
	return send_batch(b, e);
}

int uplink_job_run(void *arg)
{
	const struct uplink_job *j = arg;
	struct err e = { 0 };
	struct nl *nl = NULL;
	int r = nl_open(&nl, &e);

	if (r == 0 && j->bond_mode)
		r = make_bond(nl, j, &e);
	if (r == 0 && j->vlan_id)
		r = make_vlan(nl, j, &e);
	if (r == 0)
		keep_adverts(j);
	if (r == 0)
		keep_secondaries(j);
	if (r == 0)
		r = bring_up(nl, j, &e);
	if (r == 0 && j->addresses)
		r = configure(nl, j, &e);
	nl_disconnect(nl);
	if (r == 0)
		return 0;
	(void)dprintf(STDERR_FILENO, "%s", e.text);
	return 1;
}
