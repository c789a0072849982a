// SPDX-License-Identifier: Apache-2.0
/*
 * plan_check.c - whether a pod's interfaces are still what was made, see plan.h.
 *
 * Owns: nothing. Reads only; each question is one request or one dump of the kernel's.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/address.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"
#include "netlink/route.h"

/* ---- links ---- */

static int check_up(struct nl *nl, const char *name, struct link_info *ret, struct err *e)
{
	int r = link_get(nl, 0, name, ret);

	if (r == -ENODEV)
		return err_setx(e, STAGE_SANDBOX, ENODEV, "%s is gone", name);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "look at %s", name);
	if (!(ret->flags & IFF_UP))
		return err_setx(e, STAGE_SANDBOX, ENETDOWN, "%s is down", name);
	return 0;
}

/* IFLA_LINK of a veth is the index of its peer, in the peer's namespace. */
static bool is_pair(const struct link_info *inside, const struct link_info *host)
{
	return strcmp(inside->kind, "veth") == 0 && strcmp(host->kind, "veth") == 0 &&
	       host->parent == inside->index && inside->parent == host->index;
}

/* inside: what has the interface's name in the pod. */
static int check_host_side(const struct net_plan *plan, const struct net_if *i,
			   const struct net_machine *m, const struct link_info *inside,
			   struct nl *machine, struct err *e)
{
	char bridge[NET_NAME_BYTES];
	struct link_info host;
	int r = check_up(machine, i->host_name, &host, e), index;

	if (r < 0)
		return r;
	if (!is_pair(inside, &host))
		return err_setx(e, STAGE_SANDBOX, ENODEV,
				"%s is another interface, not the end of %s", i->name,
				i->host_name);
	r = plan_bridge_name(plan, i, m, bridge);
	index = r < 0 ? r : nl_index(machine, bridge);
	if (index == -ENODEV)
		return err_setx(e, STAGE_SANDBOX, ENODEV, "bridge %s is gone", bridge);
	if (index < 0)
		return err_set(e, STAGE_SANDBOX, -index, "look for bridge %s", i->parent);
	if (host.master != index)
		return err_setx(e, STAGE_SANDBOX, ENETDOWN, "%s is no port of %s",
				i->host_name, bridge);
	return 0;
}

bool plan_if_there(const struct net_plan *plan, size_t n, struct nl *machine,
		   struct nl *pod)
{
	const struct net_if *i = &plan->ifs[n];
	struct link_info inside, host;

	if (link_get(pod, 0, i->name, &inside) < 0)
		return false;
	return i->kind != NET_VETH || (link_get(machine, 0, i->host_name, &host) == 0 &&
				       is_pair(&inside, &host));
}

/* ---- addresses ---- */

struct addresses {
	const struct inet *want;
	size_t n;
	unsigned int found; /* bit n: want[n] */
};

static int note_address(void *arg, const struct address_info *found)
{
	struct addresses *a = arg;

	for (size_t i = 0; i < a->n; i++)
		if (inet_same(&a->want[i], &found->addr) &&
		    a->want[i].prefix == found->addr.prefix)
			a->found |= 1U << i;
	return 0;
}

static int check_addresses(struct nl *nl, int index, const char *name,
			   const struct inet *want, size_t n, struct err *e)
{
	struct addresses a = { .want = want, .n = n };
	char text[INET_TEXT_BYTES];
	int r = address_each(nl, index, note_address, &a);

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "read the addresses of %s", name);
	for (size_t i = 0; i < n; i++)
		if (want[i].family && !(a.found & 1U << i) && !plan_skips(&want[i]))
			return err_setx(e, STAGE_SANDBOX, EADDRNOTAVAIL,
					"%s has no address %s", name,
					inet_format_cidr(&want[i], text));
	return 0;
}

/* ---- routes ---- */

struct routes {
	const struct route *want;
	bool found;
};

static int note_route(void *arg, const struct route_info *found)
{
	struct routes *s = arg;

	s->found |= found->to.prefix == 0 && found->index == s->want->index &&
		    inet_same(&found->gateway, &s->want->gateway);
	return 0;
}

static int check_routes(const struct net_plan *plan, size_t n, int index, struct nl *pod,
			struct err *e)
{
	const struct net_if *i = &plan->ifs[n];
	const struct inet *gateways[] = { &i->gateway4, &i->gateway6 };
	char text[INET_TEXT_BYTES];

	for (size_t k = 0; k < ARRAY_SIZE(gateways); k++) {
		struct route want;
		struct routes s = { .want = &want };
		int r;

		if (!gateways[k]->family || plan_skips(gateways[k]))
			continue;
		want = plan_default_route(plan, n, index, gateways[k]);
		r = route_each(pod, gateways[k]->family, note_route, &s);
		if (r < 0)
			return err_set(e, STAGE_SANDBOX, -r, "read the routes");
		if (!s.found)
			return err_setx(e, STAGE_SANDBOX, ENETUNREACH,
					"%s has no default route by %s", i->name,
					inet_format(gateways[k], text));
	}
	return 0;
}

/* ---- the whole ---- */

int plan_check_machine(const struct net_machine *m, struct nl *machine, struct err *e)
{
	const struct inet gateways[] = { m->gateway4, m->gateway6 };
	struct link_info bridge;
	int r = check_up(machine, m->bridge, &bridge, e);

	if (r < 0)
		return r;
	return check_addresses(machine, bridge.index, m->bridge, gateways,
			       ARRAY_SIZE(gateways), e);
}

static int check_one(const struct net_plan *plan, size_t n, const struct net_machine *m,
		     struct nl *machine, struct nl *pod, struct err *e)
{
	const struct net_if *i = &plan->ifs[n];
	struct link_info link;
	int r = check_up(pod, i->name, &link, e);

	if (r == 0 && i->kind == NET_VETH)
		r = check_host_side(plan, i, m, &link, machine, e);
	if (r == 0)
		r = check_addresses(pod, link.index, i->name, i->addrs, i->n_addrs, e);
	return r < 0 ? r : check_routes(plan, n, link.index, pod, e);
}

int net_plan_check(const struct net_plan *plan, const struct net_machine *m,
		   struct nl *machine, struct nl *pod, struct err *e)
{
	struct link_info lo;
	int r = check_up(pod, "lo", &lo, e);

	for (size_t n = 0; r == 0 && n < plan->n_ifs; n++)
		r = check_one(plan, n, m, machine, pod, e);
	return r < 0 ? r : plan_check_machine(m, machine, e);
}
