// SPDX-License-Identifier: Apache-2.0
/*
 * nft_rule.c - the expressions that our rules are made of.
 *
 * Owns: nothing; a rule is the caller's until nft_rule_put(). Called by: nft_table.c,
 * nft_filter.c. The expressions are those that nft(8) makes of the same words, so that it
 * lists our rules in words a person knows.
 */
#include <arpa/inet.h>

#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "netlink/nft_job.h"

#define FIRST NFT_REG32_00

static struct nftnl_expr *add(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *expr = nftnl_expr_alloc(name);

	if (!expr)
		nft_no_memory();
	nftnl_rule_add_expr(r, expr);
	return expr;
}

static void set_data(struct nftnl_expr *expr, uint16_t what, const void *data,
		     uint32_t bytes)
{
	if (nftnl_expr_set(expr, what, data, bytes) < 0)
		nft_no_memory();
}

struct nftnl_rule *nft_rule_new(const char *chain)
{
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (!r || nftnl_rule_set_str(r, NFTNL_RULE_TABLE, NFT_TABLE) < 0 ||
	    nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain) < 0)
		nft_no_memory();
	nftnl_rule_set_u32(r, NFTNL_RULE_FAMILY, NFPROTO_INET);
	return r;
}

void nft_rule_put(struct nft_batch *b, struct nftnl_rule *rule,
		  const struct nft_note *note)
{
	struct nlmsghdr *nlh = nft_batch_get(b, NFT_MSG_NEWRULE,
					     NLM_F_CREATE | NLM_F_APPEND, note);

	nftnl_rule_nlmsg_build_payload(nlh, rule);
	nft_batch_put(b, nlh);
	nftnl_rule_free(rule);
}

void nft_rule_meta(struct nftnl_rule *r, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *expr = add(r, "meta");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_DREG, reg);
}

void nft_rule_payload(struct nftnl_rule *r, uint32_t base, uint32_t offset,
		      uint32_t bytes, uint32_t reg)
{
	struct nftnl_expr *expr = add(r, "payload");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_LEN, bytes);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_DREG, reg);
}

void nft_rule_compare(struct nftnl_rule *r, uint32_t op, const void *data, uint32_t bytes)
{
	struct nftnl_expr *expr = add(r, "cmp");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_SREG, FIRST);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_OP, op);
	set_data(expr, NFTNL_EXPR_CMP_DATA, data, bytes);
}

void nft_rule_interface(struct nftnl_rule *r, uint32_t key, const char *name)
{
	char padded[IFNAMSIZ] = { 0 };

	memcpy(padded, name, strnlen(name, sizeof(padded) - 1));
	nft_rule_meta(r, key, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, padded, sizeof(padded));
}

void nft_rule_family(struct nftnl_rule *r, int family)
{
	uint8_t value = family == AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6;

	nft_rule_meta(r, NFT_META_NFPROTO, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, &value, sizeof(value));
}

void nft_rule_protocol(struct nftnl_rule *r, uint8_t protocol)
{
	nft_rule_meta(r, NFT_META_L4PROTO, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, &protocol, sizeof(protocol));
}

/* Where the addresses stand in their headers: RFC 791, RFC 8200. */
void nft_rule_source(struct nftnl_rule *r, int family, uint32_t reg)
{
	bool ip4 = family == AF_INET;

	nft_rule_payload(r, NFT_PAYLOAD_NETWORK_HEADER, ip4 ? 12 : 8, ip4 ? 4 : 16, reg);
}

void nft_rule_destination(struct nftnl_rule *r, int family, uint32_t reg)
{
	bool ip4 = family == AF_INET;

	nft_rule_payload(r, NFT_PAYLOAD_NETWORK_HEADER, ip4 ? 16 : 24, ip4 ? 4 : 16, reg);
}

static void mask_bits(struct nftnl_rule *r, const void *mask, uint32_t bytes)
{
	static const uint8_t zero[16];
	struct nftnl_expr *expr = add(r, "bitwise");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_SREG, FIRST);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_DREG, FIRST);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_LEN, bytes);
	set_data(expr, NFTNL_EXPR_BITWISE_MASK, mask, bytes);
	set_data(expr, NFTNL_EXPR_BITWISE_XOR, zero, bytes);
}

void nft_rule_source_in(struct nftnl_rule *r, const struct inet *net)
{
	uint32_t bytes = (uint32_t)inet_length(net);
	uint8_t mask[16] = { 0 };

	for (unsigned int bit = 0; bit < net->prefix; bit++)
		mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	nft_rule_family(r, net->family);
	nft_rule_source(r, net->family, FIRST);
	mask_bits(r, mask, bytes);
	nft_rule_compare(r, NFT_CMP_EQ, net->bytes, bytes);
}

/* TCP, UDP and SCTP have it at the same place. */
void nft_rule_port(struct nftnl_rule *r, uint32_t reg)
{
	nft_rule_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, reg);
}

void nft_rule_ct_bits(struct nftnl_rule *r, uint32_t key, uint32_t bits)
{
	static const uint32_t none;
	struct nftnl_expr *expr = add(r, "ct");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_CT_KEY, key);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CT_DREG, FIRST);
	mask_bits(r, &bits, sizeof(bits));
	nft_rule_compare(r, NFT_CMP_NEQ, &none, sizeof(none));
}

void nft_rule_to_local(struct nftnl_rule *r)
{
	static const uint32_t local = RTN_LOCAL;
	struct nftnl_expr *expr = add(r, "fib");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_DREG, FIRST);
	nft_rule_compare(r, NFT_CMP_EQ, &local, sizeof(local));
}

void nft_rule_lookup(struct nftnl_rule *r, const char *set, bool map)
{
	struct nftnl_expr *expr = add(r, "lookup");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_LOOKUP_SREG, FIRST);
	if (map)
		nftnl_expr_set_u32(expr, NFTNL_EXPR_LOOKUP_DREG, FIRST);
	if (nftnl_expr_set_str(expr, NFTNL_EXPR_LOOKUP_SET, set) < 0)
		nft_no_memory();
}

void nft_rule_dnat(struct nftnl_rule *r, int family, uint32_t reg_addr, uint32_t reg_port)
{
	struct nftnl_expr *expr = add(r, "nat");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_FAMILY,
			   family == AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_REG_ADDR_MIN, reg_addr);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_REG_PROTO_MIN, reg_port);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED);
}

void nft_rule_masquerade(struct nftnl_rule *r)
{
	(void)add(r, "masq");
}

void nft_rule_verdict(struct nftnl_rule *r, int verdict, const char *chain)
{
	struct nftnl_expr *expr = add(r, "immediate");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
	if (chain && nftnl_expr_set_str(expr, NFTNL_EXPR_IMM_CHAIN, chain) < 0)
		nft_no_memory();
}
