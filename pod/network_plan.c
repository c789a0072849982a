// SPDX-License-Identifier: Apache-2.0
/*
 * network_plan.c - from what a pod asks for to its plan: slot, addresses, interfaces.
 *
 * Owns: pod->net.plan and what it took from the pools. Called by: network.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/machine.h"
#include "pod/network_private.h"
#include "pod/pod.h"

static const char *const mode_names[] = {
	[NET_MODE_DEFAULT] = "",
	[NET_MODE_BRIDGE] = "bridge",
	[NET_MODE_PRIVATE] = "private",
	[NET_MODE_VEPA] = "vepa",
	[NET_MODE_PASSTHRU] = "passthru",
	[NET_MODE_L2] = "l2",
	[NET_MODE_L3] = "l3",
	[NET_MODE_L3S] = "l3s",
};
_Static_assert(ARRAY_SIZE(mode_names) == NET_MODE_MAX, "a name for each mode");

static const enum net_kind kinds[] = {
	[SPEC_NET_POD] = NET_VETH,        [SPEC_NET_BRIDGE] = NET_VETH,
	[SPEC_NET_MACVLAN] = NET_MACVLAN, [SPEC_NET_IPVLAN] = NET_IPVLAN,
	[SPEC_NET_DEVICE] = NET_DEVICE,
};
_Static_assert(ARRAY_SIZE(kinds) == SPEC_NET_KIND_MAX, "a kind for each");

static enum net_mode mode_of(const char *name)
{
	for (int m = 0; name && m < NET_MODE_MAX; m++)
		if (!strcmp(mode_names[m], name))
			return m;
	return NET_MODE_DEFAULT;
}

/* ---- addresses ---- */

/* The number of an address in its range; the range's host bits fit 64. */
static uint64_t number_in(const struct inet *range, const struct inet *a)
{
	size_t len = inet_length(a), from = range->prefix / 8;
	uint64_t n = 0;

	for (size_t i = MAX(from, len > 8 ? len - 8 : 0); i < len; i++) {
		unsigned int mask = 0xff;

		if (i == from && range->prefix % 8)
			mask >>= range->prefix % 8;
		n = n << 8 | (a->bytes[i] & mask);
	}
	return n;
}

/* Its holder, for the words of an error. */
static const struct pod *holder_of(const struct pods *pods, const struct inet *a)
{
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (inet_same(&pod->net.ip4, a) || inet_same(&pod->net.ip6, a))
			return pod;
	}
	return NULL;
}

static int take_fixed(const struct pods *pods, struct number_pool *pool,
		      const struct inet *range, const struct inet *wanted,
		      struct inet *ret, struct err *e)
{
	char ip[INET_TEXT_BYTES], net[INET_TEXT_BYTES];
	const struct pod *holder;
	int r;

	(void)inet_format(wanted, ip);
	if (!inet_contains(range, wanted))
		return err_setx(e, STAGE_CONFIG, EINVAL,
				"address %s is not in the pods' range %s", ip,
				inet_format_cidr(range, net));
	r = number_pool_take(pool, number_in(range, wanted));
	if (r == -ERANGE)
		return err_setx(e, STAGE_CONFIG, EINVAL,
				"address %s is the network's, the gateway's or the "
				"broadcast address of %s",
				ip, inet_format_cidr(range, net));
	holder = r == -EADDRINUSE ? holder_of(pods, wanted) : NULL;
	if (holder)
		return err_setx(e, STAGE_CONFIG, EADDRINUSE,
				"address %s is taken by pod %s/%s", ip, holder->namespace,
				holder->name);
	if (r < 0)
		return err_set(e, STAGE_CONFIG, -r, "address %s", ip);
	*ret = *wanted;
	ret->prefix = range->prefix;
	return 0;
}

static int take_address(const struct pods *pods, struct number_pool *pool,
			const struct inet *range, const struct spec_network *net,
			struct inet *ret, struct err *e)
{
	char text[INET_TEXT_BYTES];
	uint64_t number;
	int r;

	if (!range->family)
		return 0;
	for (size_t i = 0; i < net->n_ips; i++)
		if (net->ips[i].family == range->family)
			return take_fixed(pods, pool, range, &net->ips[i], ret, e);
	r = number_pool_take_lowest(pool, &number);
	if (r == -ENOSPC)
		return err_setx(e, STAGE_CONFIG, ENOSPC,
				"no free address in the pods' range %s",
				inet_format_cidr(range, text));
	if (r < 0)
		return err_set(e, STAGE_CONFIG, -r, "take an address");
	*ret = inet_nth(range, number);
	return 0;
}

/* A fixed address of a family that the pods do not have would be left out silently. */
static int check_families(const struct machine_network *m, const struct spec_network *net,
			  struct err *e)
{
	char text[INET_TEXT_BYTES];

	for (size_t i = 0; i < net->n_ips; i++) {
		const struct inet *range = net->ips[i].family == AF_INET ?
						   &m->pod_range4 :
						   &m->pod_range6;

		if (!range->family)
			return err_setx(e, STAGE_CONFIG, EINVAL,
					"address %s: the pods' network has no range of "
					"its family",
					inet_format(&net->ips[i], text));
	}
	return 0;
}

/* ---- interfaces ---- */

/* Locally administered, from the slot: the pods' own bridge leads to no other machine. */
static void own_mac(uint32_t slot, uint8_t ret[static MAC_BYTES])
{
	const uint8_t mac[MAC_BYTES] = { 0x02,
					 0x71,
					 (uint8_t)(slot >> 24),
					 (uint8_t)(slot >> 16),
					 (uint8_t)(slot >> 8),
					 (uint8_t)slot };

	memcpy(ret, mac, sizeof(mac));
}

static void fill_if(struct net_if *to, const struct spec_network *from, uint32_t slot,
		    size_t number)
{
	to->kind = kinds[from->kind];
	to->mode = mode_of(from->mode);
	(void)snprintf(to->name, sizeof(to->name), "%s", from->interface);
	if (from->parent)
		(void)snprintf(to->parent, sizeof(to->parent), "%s", from->parent);
	if (to->kind == NET_VETH && number == 0)
		(void)snprintf(to->host_name, sizeof(to->host_name), "pv%x",
			       slot & 0xffff);
	else if (to->kind == NET_VETH)
		(void)snprintf(to->host_name, sizeof(to->host_name), "pv%x.%u",
			       slot & 0xffff, (unsigned int)number & 0xf);
	to->make_parent = from->kind == SPEC_NET_BRIDGE;
	to->has_mac = from->has_mac;
	memcpy(to->mac, from->mac, MAC_BYTES);
	to->mtu = from->mtu;
	to->egress_bits = from->egress_bits;
	to->ingress_bits = from->ingress_bits;
	if (from->kind == SPEC_NET_POD)
		return; /* addresses and gateways are the network's to say */
	for (size_t i = 0; i < from->n_ips && i < NET_ADDRS_MAX; i++)
		to->addrs[to->n_addrs++] = from->ips[i];
	to->gateway4 = from->gateway[0];
	to->gateway6 = from->gateway[1];
}

static void fill_eth0(const struct network *net, const struct pod *pod, struct net_if *to)
{
	(void)snprintf(to->parent, sizeof(to->parent), "%s", net->machine.bridge);
	if (!to->has_mac)
		own_mac(pod->net.plan->slot, to->mac);
	to->has_mac = true;
	if (pod->net.ip4.family)
		to->addrs[to->n_addrs++] = pod->net.ip4;
	if (pod->net.ip6.family)
		to->addrs[to->n_addrs++] = pod->net.ip6;
	to->gateway4 = net->machine.gateway4;
	to->gateway6 = net->machine.gateway6;
	/* Another network with a gateway is the pod's way out. */
	for (size_t i = 1; i < pod->spec->n_networks; i++) {
		if (pod->spec->networks[i].gateway[0].family)
			to->gateway4 = (struct inet){ 0 };
		if (pod->spec->networks[i].gateway[1].family)
			to->gateway6 = (struct inet){ 0 };
	}
}

static int take_addresses(struct network *net, struct pod *pod, struct err *e)
{
	const struct machine_network *m = &net->pods->machine->network;
	const struct spec_network *first = &pod->spec->networks[0];
	int r = take_address(net->pods, &net->hosts4, &m->pod_range4, first,
			     &pod->net.ip4, e);

	if (r == 0)
		r = take_address(net->pods, &net->hosts6, &m->pod_range6, first,
				 &pod->net.ip6, e);
	return r;
}

int network_plan_new(struct network *net, struct pod *pod, struct err *e)
{
	size_t n = pod->spec->n_networks;
	struct net_plan *plan;
	uint64_t slot;
	int r = check_families(&net->pods->machine->network, &pod->spec->networks[0], e);

	if (r < 0)
		return r;
	plan = calloc(1, sizeof(*plan) + n * sizeof(plan->ifs[0]));
	r = plan ? number_pool_take_lowest(&net->slots, &slot) : -ENOMEM;
	if (r < 0) {
		free(plan);
		return err_set(e, STAGE_CONFIG, -r, "network of pod %s", pod->name);
	}
	plan->slot = (uint32_t)slot;
	plan->n_ifs = n;
	pod->net.plan = plan;
	r = take_addresses(net, pod, e);
	if (r < 0) {
		network_plan_free(net, pod);
		return r;
	}
	for (size_t i = 0; i < n; i++)
		fill_if(&plan->ifs[i], &pod->spec->networks[i], plan->slot, i);
	fill_eth0(net, pod, &plan->ifs[0]);
	return 0;
}

void network_plan_free(struct network *net, struct pod *pod)
{
	const struct machine_network *m = &net->pods->machine->network;
	struct pod_net *n = &pod->net;

	if (n->plan)
		number_pool_give(&net->slots, n->plan->slot);
	if (n->ip4.family)
		number_pool_give(&net->hosts4, number_in(&m->pod_range4, &n->ip4));
	if (n->ip6.family)
		number_pool_give(&net->hosts6, number_in(&m->pod_range6, &n->ip6));
	n->ip4 = n->ip6 = (struct inet){ 0 };
	free(ptr_steal(&n->plan));
}
