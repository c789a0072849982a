// SPDX-License-Identifier: Apache-2.0
/*
 * nft_job.h - podinit-nft from the inside: a request that was read, and its transaction.
 *
 * Owns: struct nft_job (a request as checked structs), struct nft_batch (the messages of
 * one transaction, each with the words that an error will name). Called by: nft_main.c
 * and the files beside it; nothing of this is linked into podinit.
 * A failed allocation ends the program by nft_no_memory(): before the batch is sent there
 * is nothing to undo.
 */
#ifndef NETLINK_NFT_JOB_H
#define NETLINK_NFT_JOB_H

#include "base/buf.h"
#include "base/err.h"
#include "netlink/nft.h"

struct nftnl_rule;

#define NFT_TABLE      "podinit"
#define NFT_LINE_BYTES 160 /* the longest line has two IPv6 addresses and two ports */

/* IPPROTO_* of each enum nft_protocol. */
extern const uint8_t nft_ip_protocols[NFT_PROTOCOL_MAX];
extern const char *const nft_protocol_texts[NFT_PROTOCOL_MAX];

enum nft_start { NFT_AS_IS, NFT_RESET, NFT_DROP };

struct nft_op {
	bool remove;
	struct nft_port port;
};

/* What stood before the last reset or drop is left out: it has no effect. */
struct nft_job {
	enum nft_start start;
	struct nft_base base; /* of NFT_RESET */
	size_t n_ops;
	struct nft_op *ops; /* in the order of the request */
	bool is_filter;     /* then nothing of the above */
	size_t n_internal, n_external, n_ports;
	struct inet *internal, *external;
	struct nft_port *ports;
};

/* 0, or -EINVAL with e: "line 3: ..."; ret is to be freed in both cases. */
int nft_job_parse(struct nft_job *ret, const char *text, size_t len, struct err *e);
void nft_job_free(struct nft_job *job);

struct nft_note {
	const char *what;        /* "add chain ports" */
	const char *module;      /* whose absence makes ENOENT or EOPNOTSUPP, or NULL */
	const struct nft_op *op; /* of an element, instead of what */
};

struct nft_batch {
	struct buf bytes;
	uint32_t seq; /* of the next message; notes[seq] is what it does */
	size_t cap_notes;
	struct nft_note *notes;
};

void nft_batch_begin(struct nft_batch *b);
void nft_batch_end(struct nft_batch *b);
void nft_batch_free(struct nft_batch *b);
/* A message's place at the end of the batch, with its header; nft_batch_put() takes it
 * in as long as nlmsg_len then says. flags beside NLM_F_REQUEST. */
struct nlmsghdr *nft_batch_get(struct nft_batch *b, uint16_t type, uint16_t flags,
			       const struct nft_note *note);
void nft_batch_put(struct nft_batch *b, const struct nlmsghdr *nlh);
void nft_no_memory(void) __attribute__((noreturn));

/* ---- nft_table.c: tables, chains, sets; what a request is made of ---- */

struct nft_set {
	const char *name, *what;
	uint32_t flags; /* NFT_SET_* */
	uint32_t key_type, key_bytes;
	uint32_t data_type, data_bytes; /* of a map */
};

/* nft(8)'s numbers for its data types (its src/datatype.h), so that it can list a set. */
enum {
	NFT_TYPE_IPV4 = 7,
	NFT_TYPE_IPV6 = 8,
	NFT_TYPE_PROTOCOL = 12,
	NFT_TYPE_SERVICE = 13,
};
#define NFT_TYPE_CONCAT(a, b) ((uint32_t)(a) << 6 | (uint32_t)(b))

void nft_put_table(struct nft_batch *b);
void nft_put_table_away(struct nft_batch *b); /* whether there is one or not */
void nft_put_set(struct nft_batch *b, const struct nft_set *set);
/* type NULL: a chain that is jumped to. */
struct nft_chain {
	const char *name, *what, *type, *module;
	uint32_t hook;
	int32_t priority;
	uint32_t policy; /* NF_ACCEPT, NF_DROP */
};
void nft_put_chain(struct nft_batch *b, const struct nft_chain *chain);
void nft_put_base(struct nft_batch *b, const struct nft_base *base);

/* ---- nft_elements.c ---- */

void nft_put_maps(struct nft_batch *b);
void nft_put_ops(struct nft_batch *b, const struct nft_job *job);
/* key: as nft_put_set() was told. flags: NFT_SET_ELEM_*. */
void nft_put_element(struct nft_batch *b, const char *set, const void *key,
		     uint32_t bytes, uint32_t flags, const struct nft_note *note);

/* ---- nft_filter.c ---- */

void nft_put_filter(struct nft_batch *b, const struct nft_job *job);

/* ---- nft_rule.c: one expression a function, named as nft(8) writes it ---- */

/* All work in register 1 unless one is given; registers are NFT_REG32_*. */
struct nftnl_rule *nft_rule_new(const char *chain);
void nft_rule_put(struct nft_batch *b, struct nftnl_rule *rule,
		  const struct nft_note *note);
void nft_rule_meta(struct nftnl_rule *r, uint32_t key, uint32_t reg);
void nft_rule_payload(struct nftnl_rule *r, uint32_t base, uint32_t offset,
		      uint32_t bytes, uint32_t reg);
void nft_rule_compare(struct nftnl_rule *r, uint32_t op, const void *data,
		      uint32_t bytes);
void nft_rule_interface(struct nftnl_rule *r, uint32_t key, const char *name);
void nft_rule_family(struct nftnl_rule *r, int family);
void nft_rule_protocol(struct nftnl_rule *r, uint8_t protocol);
void nft_rule_source(struct nftnl_rule *r, int family, uint32_t reg);
void nft_rule_destination(struct nftnl_rule *r, int family, uint32_t reg);
void nft_rule_source_in(struct nftnl_rule *r, const struct inet *net);
void nft_rule_port(struct nftnl_rule *r, uint32_t reg); /* th dport */
void nft_rule_ct_bits(struct nftnl_rule *r, uint32_t key, uint32_t bits);
void nft_rule_to_local(struct nftnl_rule *r); /* fib daddr type local */
void nft_rule_lookup(struct nftnl_rule *r, const char *set, bool map);
void nft_rule_dnat(struct nftnl_rule *r, int family, uint32_t reg_addr,
		   uint32_t reg_port);
void nft_rule_masquerade(struct nftnl_rule *r);
void nft_rule_verdict(struct nftnl_rule *r, int verdict, const char *chain);

/* ---- nft_send.c ---- */

/* 0, or -errno of the first message that failed, with e and its op (else NULL). */
int nft_send(const struct nft_batch *b, const struct nft_op **ret_op, struct err *e);
void nft_op_text(const struct nft_op *op, char *buf, size_t size);

/* ---- nft_conntrack.c ---- */

/* Takes away what connection tracking remembers of UDP flows whose translation the job
 * has changed: a flow is looked up in the maps only when it is new, and a UDP client that
 * keeps on sending never lets it expire. 0 or -errno; the rules stand in both cases. */
int nft_forget_flows(const struct nft_job *job, struct err *e);

#endif
