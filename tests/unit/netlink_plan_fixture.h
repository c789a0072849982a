// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan_fixture.h - plans as tests need them.
 */
#ifndef TESTS_UNIT_NETLINK_PLAN_FIXTURE_H
#define TESTS_UNIT_NETLINK_PLAN_FIXTURE_H

#include "netlink_fixture.h"

#define ADDRESS(i, text) ((i)->addrs[(i)->n_addrs++] = inet_of(text))

static inline struct net_machine machine_plan(void)
{
	return (struct net_machine){ .bridge = "pod0",
				     .gateway4 = inet_of("10.88.0.1/16"),
				     .gateway6 = inet_of("fd9c::1/64") };
}

/* Room for every interface a test may ask for. */
static inline struct net_plan *plan_of(uint32_t slot)
{
	struct net_plan *p = calloc(1, sizeof(*p) + 3 * sizeof(p->ifs[0]));

	MUST(p);
	p->slot = slot;
	return p;
}

static inline struct net_if *if_of(struct net_plan *p, enum net_kind kind,
				   const char *name, const char *parent)
{
	struct net_if *i = &p->ifs[p->n_ifs++];

	i->kind = kind;
	(void)snprintf(i->name, sizeof(i->name), "%s", name);
	(void)snprintf(i->parent, sizeof(i->parent), "%s", parent);
	if (kind == NET_VETH)
		(void)snprintf(i->host_name, sizeof(i->host_name), "pv%x%.*s", p->slot,
			       strcmp(name, "eth0") ? 5 : 0, name);
	return i;
}

/* The pod every manifest without wishes gets. */
static inline struct net_plan *plain(uint32_t slot, unsigned int host)
{
	struct net_plan *p = plan_of(slot);
	struct net_if *i = if_of(p, NET_VETH, "eth0", "pod0");
	char text[32];

	(void)snprintf(text, sizeof(text), "10.88.%u.%u/16", host / 256, host % 256);
	ADDRESS(i, text);
	(void)snprintf(text, sizeof(text), "fd9c::%x/64", host);
	ADDRESS(i, text);
	i->gateway4 = inet_of("10.88.0.1");
	i->gateway6 = inet_of("fd9c::1");
	i->has_mac = true;
	memcpy(i->mac,
	       (uint8_t[]){ 2, 0x58, 10, 88, (uint8_t)(host / 256), (uint8_t)host },
	       sizeof(i->mac));
	return p;
}

static inline struct space machine_up(struct net_machine *ret)
{
	struct err e = { 0 };

	*ret = machine_plan();
	MUST_OK(net_machine_apply(ret, &e), e);
	return space_here();
}

static inline void apply(const struct net_plan *p, const struct net_machine *m,
			 const struct space *home, const struct space *pod)
{
	struct err e = { 0 };

	MUST_OK(net_plan_apply(p, m, home->nl, pod->nl, pod->fd, &e), e);
}

static inline void take_away(const struct net_plan *p, const struct space *home,
			     const struct space *pod)
{
	struct err e = { 0 };

	MUST_OK(net_plan_remove(p, home->nl, pod ? pod->nl : NULL, home->fd, &e), e);
}

static inline void fails(const struct net_plan *p, const struct net_machine *m,
			 const struct space *home, const struct space *pod, int code,
			 const char *text)
{
	struct err e = { 0 };
	int r = net_plan_apply(p, m, home->nl, pod->nl, pod->fd, &e);

	if (r != code || !strstr(e.text, text)) {
		(void)fprintf(stderr, "%d: %s; not %d: %s\n", r, e.text, code, text);
		_exit(1);
	}
	MUST(sees(NULL, "ip -j link", "[.[].ifname | select(startswith(\"pv\"))] == []"));
	MUST(sees(pod, "ip -j link", "[.[].ifname | select(startswith(\"eth\"))] == []"));
}

#endif
