// SPDX-License-Identifier: Apache-2.0
/*
 * nft_batch.c - the messages of one transaction, one behind the other.
 *
 * Owns: the bytes between NFNL_MSG_BATCH_BEGIN and _END and a note a message: what to say
 * when it fails. Called by: whoever puts something in. Never talks to the kernel.
 * The kernel takes everything between the two marks or nothing, as long as it comes in
 * one sendmsg(2) (net/netfilter/nfnetlink.c).
 */
#include <arpa/inet.h>

#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netlink/nft_job.h"

/* 190,000 elements: more than the longest request has, each twice. */
#define BATCH_BYTES   (64u << 20)
/* No message here comes near: the largest is a rule of some eight expressions. */
#define MESSAGE_BYTES 4096

void nft_no_memory(void)
{
	static const char text[] = "podinit-nft: out of memory\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

static char *make_room(struct nft_batch *b, const struct nft_note *note)
{
	char *room = buf_reserve(&b->bytes, MESSAGE_BYTES);

	if (b->seq == b->cap_notes) {
		size_t cap = MAX(b->cap_notes * 2, (size_t)64);
		struct nft_note *notes = reallocarray(b->notes, cap, sizeof(*notes));

		if (!notes)
			nft_no_memory();
		b->notes = notes;
		b->cap_notes = cap;
	}
	if (!room)
		nft_no_memory();
	b->notes[b->seq] = *note;
	return room;
}

static void put_mark(struct nft_batch *b, uint16_t type, const char *what)
{
	struct nft_note note = { .what = what, .module = "nf_tables" };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(make_room(b, &note));
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = b->seq;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = AF_UNSPEC;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(NFNL_SUBSYS_NFTABLES);
	nft_batch_put(b, nlh);
}

void nft_batch_begin(struct nft_batch *b)
{
	memset(b, 0, sizeof(*b));
	buf_init(&b->bytes, BATCH_BYTES);
	put_mark(b, NFNL_MSG_BATCH_BEGIN, "start a transaction of nftables");
}

void nft_batch_end(struct nft_batch *b)
{
	put_mark(b, NFNL_MSG_BATCH_END, "end a transaction of nftables");
}

void nft_batch_free(struct nft_batch *b)
{
	buf_free(&b->bytes);
	free(b->notes);
	memset(b, 0, sizeof(*b));
}

struct nlmsghdr *nft_batch_get(struct nft_batch *b, uint16_t type, uint16_t flags,
			       const struct nft_note *note)
{
	return nftnl_nlmsg_build_hdr(make_room(b, note), type, NFPROTO_INET, flags,
				     b->seq);
}

void nft_batch_put(struct nft_batch *b, const struct nlmsghdr *nlh)
{
	buf_commit(&b->bytes, nlh->nlmsg_len);
	b->seq++;
}
