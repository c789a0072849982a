// SPDX-License-Identifier: Apache-2.0
/*
 * nft_filter.c - the filter inside of a pod's own network namespace.
 *
 * Owns: the table there. Called by: nft_main.c. Replaces what was there as a whole; a
 * filter that names no network lets everything in, so it is no table at all.
 * Internal networks reach every port, external ones the listed ports. lo, replies and
 * ICMP pass: without ICMP neither path MTU discovery nor IPv6 neighbours work (RFC 4890).
 */
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4.h>
#include <string.h>

#include "netlink/nft_job.h"

#define FIRST NFT_REG32_00

static const struct nft_note rule_note = { .what = "add rule of the pod's filter",
					   .module = "nft_ct" };

static bool any_of(const struct inet *nets, size_t n, int family)
{
	for (size_t i = 0; i < n; i++)
		if (nets[i].family == family)
			return true;
	return false;
}

/* Two networks are one within the other, or apart. The kernel takes no overlaps. */
static bool is_covered(const struct inet *nets, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++) {
		bool same = inet_same(&nets[i], &nets[at]) &&
			    nets[i].prefix == nets[at].prefix;

		if (i != at && inet_contains(&nets[i], &nets[at]) &&
		    (same ? i < at : nets[i].prefix < nets[at].prefix))
			return true;
	}
	return false;
}

/* The first address behind the network; false when the network is the last. */
static bool next_of(const struct inet *net, uint8_t ret[static 16])
{
	unsigned int bit = net->prefix;

	memcpy(ret, net->bytes, 16);
	while (bit-- > 0) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		ret[bit / 8] ^= mask;
		if (ret[bit / 8] & mask)
			return true;
	}
	return false;
}

static void put_networks(struct nft_batch *b, const char *name, const char *what,
			 const struct inet *nets, size_t n, int family)
{
	uint32_t bytes = family == AF_INET ? 4 : 16;
	struct nft_set set = { .name = name,
			       .what = what,
			       .flags = NFT_SET_INTERVAL,
			       .key_type = family == AF_INET ? NFT_TYPE_IPV4 :
							       NFT_TYPE_IPV6,
			       .key_bytes = bytes };
	struct nft_note note = { .what = what, .module = "nf_tables" };
	uint8_t end[16];

	nft_put_set(b, &set);
	for (size_t i = 0; i < n; i++) {
		if (nets[i].family != family || is_covered(nets, n, i))
			continue;
		nft_put_element(b, name, nets[i].bytes, bytes, 0, &note);
		if (next_of(&nets[i], end))
			nft_put_element(b, name, end, bytes, NFT_SET_ELEM_INTERVAL_END,
					&note);
	}
}

static void put_ports(struct nft_batch *b, const struct nft_job *job)
{
	static const struct nft_set set = {
		.name = "ports",
		.what = "add set ports",
		.key_type = NFT_TYPE_CONCAT(NFT_TYPE_PROTOCOL, NFT_TYPE_SERVICE),
		.key_bytes = 8,
	};
	static const struct nft_note note = { .what = "add a port of the pod's filter" };

	nft_put_set(b, &set);
	for (size_t i = 0; i < job->n_ports; i++) {
		uint16_t port = job->ports[i].pod_port;
		uint8_t key[8] = { [0] = nft_ip_protocols[job->ports[i].protocol],
				   [4] = (uint8_t)(port >> 8),
				   [5] = (uint8_t)port };

		nft_put_element(b, set.name, key, sizeof(key), 0, &note);
	}
}

static void accept_rest(struct nft_batch *b, struct nftnl_rule *r)
{
	nft_rule_verdict(r, NF_ACCEPT, NULL);
	nft_rule_put(b, r, &rule_note);
}

static void put_always(struct nft_batch *b)
{
	static const uint8_t icmp[] = { IPPROTO_ICMP, IPPROTO_ICMPV6 };
	struct nftnl_rule *r = nft_rule_new("input");

	nft_rule_interface(r, NFT_META_IIFNAME, "lo");
	accept_rest(b, r);
	r = nft_rule_new("input");
	nft_rule_ct_bits(r, NFT_CT_STATE,
			 NF_CT_STATE_BIT(IP_CT_ESTABLISHED) |
				 NF_CT_STATE_BIT(IP_CT_RELATED));
	accept_rest(b, r);
	for (size_t i = 0; i < ARRAY_SIZE(icmp); i++) {
		r = nft_rule_new("input");
		nft_rule_protocol(r, icmp[i]);
		accept_rest(b, r);
	}
}

static void put_accept(struct nft_batch *b, const char *set, int family,
		       bool listed_ports)
{
	struct nftnl_rule *r = nft_rule_new("input");

	nft_rule_family(r, family);
	nft_rule_source(r, family, FIRST);
	nft_rule_lookup(r, set, false);
	if (listed_ports) {
		nft_rule_meta(r, NFT_META_L4PROTO, FIRST);
		nft_rule_port(r, FIRST + 1);
		nft_rule_lookup(r, "ports", false);
	}
	accept_rest(b, r);
}

void nft_put_filter(struct nft_batch *b, const struct nft_job *job)
{
	static const struct nft_chain input = { .name = "input",
						.what = "add filter chain input",
						.type = "filter",
						.module = "nf_tables",
						.hook = NF_INET_LOCAL_IN,
						.priority = NF_IP_PRI_FILTER,
						.policy = NF_DROP };
	const struct {
		const char *name, *what;
		const struct inet *nets;
		size_t n;
		int family;
		bool listed_ports;
	} sets[] = {
		{ "internal4", "add set internal4", job->internal, job->n_internal,
		  AF_INET, false },
		{ "internal6", "add set internal6", job->internal, job->n_internal,
		  AF_INET6, false },
		{ "external4", "add set external4", job->external, job->n_external,
		  AF_INET, true },
		{ "external6", "add set external6", job->external, job->n_external,
		  AF_INET6, true },
	};

	nft_put_table_away(b);
	if (!job->n_internal && !job->n_external)
		return;
	nft_put_table(b);
	nft_put_chain(b, &input);
	put_ports(b, job);
	put_always(b);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		if (!any_of(sets[i].nets, sets[i].n, sets[i].family))
			continue;
		put_networks(b, sets[i].name, sets[i].what, sets[i].nets, sets[i].n,
			     sets[i].family);
		put_accept(b, sets[i].name, sets[i].family, sets[i].listed_ports);
	}
}
