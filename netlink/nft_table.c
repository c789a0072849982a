// SPDX-License-Identifier: Apache-2.0
/*
 * nft_table.c - the machine's table: its chains and the rules that do not change.
 *
 * Owns: what "reset" makes; the entries of the maps are nft_elements.c's. Called by:
 * nft_main.c. In order of a packet's way:
 *  - prerouting, output: to an address of the machine itself -> ports
 *  - ports: the maps; an entry with the host's address wins over one without
 *  - postrouting: see put_masquerade()
 *  - redirects: a pod that reaches another one by a host port is sent back out of the
 *    interface it came in by. The kernel then advises the pod to talk to the other one
 *    directly; a pod that follows finds no translation there. IPv6 has no switch for it.
 */
#include <netinet/in.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "netlink/nft_job.h"

#define FIRST NFT_REG32_00

static void put_table(struct nft_batch *b, uint16_t type, uint16_t flags,
		      const char *what)
{
	struct nft_note note = { .what = what, .module = "nf_tables" };
	struct nlmsghdr *nlh = nft_batch_get(b, type, flags, &note);
	struct nftnl_table *t = nftnl_table_alloc();

	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, NFT_TABLE) < 0)
		nft_no_memory();
	if (type == NFT_MSG_NEWTABLE)
		nftnl_table_set_u32(t, NFTNL_TABLE_FLAGS, 0);
	nftnl_table_nlmsg_build_payload(nlh, t);
	nft_batch_put(b, nlh);
	nftnl_table_free(t);
}

void nft_put_table(struct nft_batch *b)
{
	put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE, "add table inet " NFT_TABLE);
}

/* Deleting what is not there would end the transaction, and the message that would not
 * came with Linux 6.3 only: so it is made first. */
void nft_put_table_away(struct nft_batch *b)
{
	nft_put_table(b);
	put_table(b, NFT_MSG_DELTABLE, 0, "delete table inet " NFT_TABLE);
}

void nft_put_set(struct nft_batch *b, const struct nft_set *set)
{
	struct nft_note note = { .what = set->what, .module = "nf_tables" };
	struct nlmsghdr *nlh = nft_batch_get(b, NFT_MSG_NEWSET, NLM_F_CREATE, &note);
	struct nftnl_set *s = nftnl_set_alloc();

	if (!s || nftnl_set_set_str(s, NFTNL_SET_TABLE, NFT_TABLE) < 0 ||
	    nftnl_set_set_str(s, NFTNL_SET_NAME, set->name) < 0)
		nft_no_memory();
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_ID, b->seq);
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, set->flags);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, set->key_type);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, set->key_bytes);
	if (set->flags & NFT_SET_MAP) {
		nftnl_set_set_u32(s, NFTNL_SET_DATA_TYPE, set->data_type);
		nftnl_set_set_u32(s, NFTNL_SET_DATA_LEN, set->data_bytes);
	}
	nftnl_set_nlmsg_build_payload(nlh, s);
	nft_batch_put(b, nlh);
	nftnl_set_free(s);
}

void nft_put_chain(struct nft_batch *b, const struct nft_chain *chain)
{
	struct nft_note note = { .what = chain->what, .module = chain->module };
	struct nlmsghdr *nlh = nft_batch_get(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE, &note);
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (!c || nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, NFT_TABLE) < 0 ||
	    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chain->name) < 0)
		nft_no_memory();
	if (chain->type) {
		if (nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, chain->type) < 0)
			nft_no_memory();
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, chain->hook);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, chain->priority);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, chain->policy);
	}
	nftnl_chain_nlmsg_build_payload(nlh, c);
	nft_batch_put(b, nlh);
	nftnl_chain_free(c);
}

static void put_chains(struct nft_batch *b)
{
	static const struct nft_chain chains[] = {
		{ .name = "ports", .what = "add chain ports" },
		{ .name = "to_pods", .what = "add chain to_pods" },
		{ .name = "prerouting",
		  .what = "add nat chain prerouting",
		  .type = "nat",
		  .module = "nft_chain_nat",
		  .hook = NF_INET_PRE_ROUTING,
		  .priority = NF_IP_PRI_NAT_DST,
		  .policy = NF_ACCEPT },
		{ .name = "output",
		  .what = "add nat chain output",
		  .type = "nat",
		  .module = "nft_chain_nat",
		  .hook = NF_INET_LOCAL_OUT,
		  .priority = NF_IP_PRI_NAT_DST,
		  .policy = NF_ACCEPT },
		{ .name = "postrouting",
		  .what = "add nat chain postrouting",
		  .type = "nat",
		  .module = "nft_chain_nat",
		  .hook = NF_INET_POST_ROUTING,
		  .priority = NF_IP_PRI_NAT_SRC,
		  .policy = NF_ACCEPT },
		{ .name = "guard",
		  .what = "add filter chain guard",
		  .type = "filter",
		  .module = "nf_tables",
		  .hook = NF_INET_PRE_ROUTING,
		  .priority = NF_IP_PRI_RAW,
		  .policy = NF_ACCEPT },
		{ .name = "redirects",
		  .what = "add filter chain redirects",
		  .type = "filter",
		  .module = "nf_tables",
		  .hook = NF_INET_LOCAL_OUT,
		  .priority = NF_IP_PRI_FILTER,
		  .policy = NF_ACCEPT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		nft_put_chain(b, &chains[i]);
}

/* With the host's address, and without. The registers hold what the map's key says, one
 * piece behind the other, each filled up to four bytes; the answer comes the same way. */
static void put_dnat(struct nft_batch *b, int family, const char *by_host,
		     const char *by_port)
{
	static const struct nft_note note = { .what = "add rule of chain ports (dnat)",
					      .module = "nft_nat" };
	uint32_t after = FIRST + (family == AF_INET ? 1 : 4);
	struct nftnl_rule *r = nft_rule_new("ports");

	nft_rule_family(r, family);
	nft_rule_destination(r, family, FIRST);
	nft_rule_meta(r, NFT_META_L4PROTO, after);
	nft_rule_port(r, after + 1);
	nft_rule_lookup(r, by_host, true);
	nft_rule_dnat(r, family, FIRST, after);
	nft_rule_put(b, r, &note);

	r = nft_rule_new("ports");
	nft_rule_family(r, family);
	nft_rule_meta(r, NFT_META_L4PROTO, FIRST);
	nft_rule_port(r, FIRST + 1);
	nft_rule_lookup(r, by_port, true);
	nft_rule_dnat(r, family, FIRST, after);
	nft_rule_put(b, r, &note);
}

static void put_jump(struct nft_batch *b, const char *chain)
{
	static const struct nft_note note = { .what = "add rule fib daddr type local",
					      .module = "nft_fib_inet" };
	struct nftnl_rule *r = nft_rule_new(chain);

	nft_rule_to_local(r);
	nft_rule_verdict(r, NFT_JUMP, "ports");
	nft_rule_put(b, r, &note);
}

static const struct nft_note masquerade = { .what = "add rule to masquerade",
					    .module = "nft_masq" };

static void put_masquerade_of(struct nft_batch *b, const char *chain,
			      const struct inet *source, bool translated_only)
{
	struct nftnl_rule *r = nft_rule_new(chain);

	if (translated_only)
		nft_rule_ct_bits(r, NFT_CT_STATUS, IPS_DST_NAT);
	nft_rule_source_in(r, source);
	nft_rule_masquerade(r);
	nft_rule_put(b, r, &masquerade);
}

/* To everybody: 224.0.0.0 and above are multicast, reserved and broadcast (RFC 5771,
 * RFC 919); ff00::/8 is multicast. */
static void put_return_of_many(struct nft_batch *b, int family)
{
	static const uint8_t first[] = { 224, 0, 0, 0 }, multicast = 0xff;
	struct nftnl_rule *r = nft_rule_new("postrouting");

	nft_rule_family(r, family);
	if (family == AF_INET) {
		nft_rule_destination(r, family, FIRST);
		nft_rule_compare(r, NFT_CMP_GTE, first, sizeof(first));
	} else {
		nft_rule_payload(r, NFT_PAYLOAD_NETWORK_HEADER, 24, 1, FIRST);
		nft_rule_compare(r, NFT_CMP_EQ, &multicast, sizeof(multicast));
	}
	nft_rule_verdict(r, NFT_RETURN, NULL);
	nft_rule_put(b, r, &masquerade);
}

/*
 * What a pod sends out has to come back: its address is known here only. To a pod: what
 * came from a pod by a host port has to come back through here to be translated (a pod
 * answers its neighbour directly, itself not at all); 127.0.0.1 and ::1 would be the
 * pod's own loopback. What the machine sends itself over lo is left alone.
 */
static void put_masquerade(struct nft_batch *b, const struct nft_base *base)
{
	static const struct inet loopback4 = { AF_INET, 8, { 127 } };
	static const struct inet loopback6 = { AF_INET6, 128, { [15] = 1 } };
	const struct inet *ranges[] = { &base->range4, &base->range6 };
	struct nftnl_rule *r = nft_rule_new("postrouting");

	nft_rule_interface(r, NFT_META_OIFNAME, "lo");
	nft_rule_verdict(r, NFT_RETURN, NULL);
	nft_rule_put(b, r, &masquerade);
	r = nft_rule_new("postrouting");
	nft_rule_interface(r, NFT_META_OIFNAME, base->bridge);
	nft_rule_verdict(r, NFT_GOTO, "to_pods");
	nft_rule_put(b, r, &masquerade);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (!ranges[i]->family)
			continue;
		put_return_of_many(b, ranges[i]->family);
		put_masquerade_of(b, "postrouting", ranges[i], false);
		put_masquerade_of(b, "to_pods", ranges[i], true);
		put_masquerade_of(b, "to_pods", i == 0 ? &loopback4 : &loopback6, false);
	}
}

static void put_no_redirect(struct nft_batch *b, const char *bridge, int family,
			    uint8_t protocol, uint8_t type)
{
	static const struct nft_note note = { .what = "add rule of chain redirects",
					      .module = "nf_tables" };
	struct nftnl_rule *r = nft_rule_new("redirects");

	nft_rule_interface(r, NFT_META_OIFNAME, bridge);
	nft_rule_family(r, family);
	nft_rule_protocol(r, protocol);
	nft_rule_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, &type, sizeof(type));
	nft_rule_verdict(r, NF_DROP, NULL);
	nft_rule_put(b, r, &note);
}

/* route_localnet lets the answers of a port asked for at 127.0.0.1 come in by the bridge.
 * By it alone a neighbour could also reach what listens on the machine's loopback
 * (CVE-2020-8558); no packet of an honest pod has such a destination on the wire. */
static void put_guard(struct nft_batch *b, const char *bridge)
{
	static const struct nft_note note = { .what = "add rule of chain guard",
					      .module = "nf_tables" };
	static const uint8_t loopback = 127;
	struct nftnl_rule *r = nft_rule_new("guard");

	nft_rule_interface(r, NFT_META_IIFNAME, bridge);
	nft_rule_family(r, AF_INET);
	nft_rule_payload(r, NFT_PAYLOAD_NETWORK_HEADER, 16, 1, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, &loopback, sizeof(loopback));
	nft_rule_verdict(r, NF_DROP, NULL);
	nft_rule_put(b, r, &note);
}

void nft_put_base(struct nft_batch *b, const struct nft_base *base)
{
	nft_put_table_away(b);
	nft_put_table(b);
	nft_put_maps(b);
	put_chains(b);
	put_dnat(b, AF_INET, "host4", "port4");
	put_dnat(b, AF_INET6, "host6", "port6");
	put_jump(b, "prerouting");
	put_jump(b, "output");
	put_masquerade(b, base);
	put_guard(b, base->bridge);
	put_no_redirect(b, base->bridge, AF_INET, IPPROTO_ICMP, ICMP_REDIRECT);
	put_no_redirect(b, base->bridge, AF_INET6, IPPROTO_ICMPV6, ND_REDIRECT);
}
