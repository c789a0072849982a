// SPDX-License-Identifier: Apache-2.0
/*
 * nft_elements.c - the maps from host port to pod, and the entries that come and go.
 *
 * Owns: the layout of keys and values: pieces in network order, each filled up with zeros
 * to four bytes, as the kernel lays concatenations out in its registers. Called by:
 * nft_table.c, nft_filter.c, nft_main.c.
 */
#include <arpa/inet.h>

#include <libmnl/libmnl.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "netlink/nft_job.h"

#define PIECE_BYTES 4
#define KEY_BYTES   (16 + 2 * PIECE_BYTES)

struct key {
	uint8_t bytes[KEY_BYTES];
	uint32_t len;
};

#define MAP(family, address, address_bytes)                                              \
	{ .name = "port" family,                                                         \
	  .what = "add map port" family,                                                 \
	  .flags = NFT_SET_MAP,                                                          \
	  .key_type = NFT_TYPE_CONCAT(NFT_TYPE_PROTOCOL, NFT_TYPE_SERVICE),              \
	  .key_bytes = 2 * PIECE_BYTES,                                                  \
	  .data_type = NFT_TYPE_CONCAT(address, NFT_TYPE_SERVICE),                       \
	  .data_bytes = (address_bytes) + PIECE_BYTES },                                 \
	{                                                                                \
		.name = "host" family, .what = "add map host" family,                    \
		.flags = NFT_SET_MAP,                                                    \
		.key_type = NFT_TYPE_CONCAT(NFT_TYPE_CONCAT(address, NFT_TYPE_PROTOCOL), \
					    NFT_TYPE_SERVICE),                           \
		.key_bytes = (address_bytes) + 2 * PIECE_BYTES,                          \
		.data_type = NFT_TYPE_CONCAT(address, NFT_TYPE_SERVICE),                 \
		.data_bytes = (address_bytes) + PIECE_BYTES                              \
	}

static const struct nft_set maps[] = {
	MAP("4", NFT_TYPE_IPV4, 4),
	MAP("6", NFT_TYPE_IPV6, 16),
};

void nft_put_maps(struct nft_batch *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		nft_put_set(b, &maps[i]);
}

static void key_add(struct key *k, const void *piece, size_t len)
{
	memcpy(k->bytes + k->len, piece, len);
	k->len += (uint32_t)(len + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

static void key_add_port(struct key *k, uint16_t port)
{
	uint16_t wire = htons(port);

	key_add(k, &wire, sizeof(wire));
}

static void put(struct nft_batch *b, uint16_t type, const char *set,
		const struct key *key, const struct key *data, uint32_t flags,
		const struct nft_note *note)
{
	struct nlmsghdr *nlh = nft_batch_get(
		b, type, type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0, note);
	struct nftnl_set *s = nftnl_set_alloc();
	struct nftnl_set_elem *elem = nftnl_set_elem_alloc();

	if (!s || !elem || nftnl_set_set_str(s, NFTNL_SET_TABLE, NFT_TABLE) < 0 ||
	    nftnl_set_set_str(s, NFTNL_SET_NAME, set) < 0 ||
	    nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, key->bytes, key->len) < 0 ||
	    (data &&
	     nftnl_set_elem_set(elem, NFTNL_SET_ELEM_DATA, data->bytes, data->len) < 0))
		nft_no_memory();
	if (flags)
		nftnl_set_elem_set_u32(elem, NFTNL_SET_ELEM_FLAGS, flags);
	nftnl_set_elem_add(s, elem);
	nftnl_set_elems_nlmsg_build_payload(nlh, s);
	nft_batch_put(b, nlh);
	nftnl_set_free(s);
}

void nft_put_element(struct nft_batch *b, const char *set, const void *key,
		     uint32_t bytes, uint32_t flags, const struct nft_note *note)
{
	struct key k = { .len = bytes };

	memcpy(k.bytes, key, bytes);
	put(b, NFT_MSG_NEWSETELEM, set, &k, NULL, flags, note);
}

/* An entry that is to go is added first: then it is there for certain, and a removal of
 * nothing does not end the transaction. When the port is another pod's meanwhile, the
 * addition fails: nobody's entry is taken away by mistake. */
static void put_op(struct nft_batch *b, const struct nft_op *op)
{
	const struct nft_port *port = &op->port;
	bool ip4 = port->pod.family == AF_INET, by_host = port->host.family;
	const char *map = maps[(ip4 ? 0 : 2) + by_host].name;
	struct nft_note note = { .op = op };
	struct key key = { 0 }, data = { 0 };

	if (by_host)
		key_add(&key, port->host.bytes, inet_length(&port->host));
	key_add(&key, &nft_ip_protocols[port->protocol], 1);
	key_add_port(&key, port->host_port);
	key_add(&data, port->pod.bytes, inet_length(&port->pod));
	key_add_port(&data, port->pod_port);
	put(b, NFT_MSG_NEWSETELEM, map, &key, &data, 0, &note);
	if (op->remove)
		put(b, NFT_MSG_DELSETELEM, map, &key, NULL, 0, &note);
}

void nft_put_ops(struct nft_batch *b, const struct nft_job *job)
{
	for (size_t i = 0; i < job->n_ops; i++)
		put_op(b, &job->ops[i]);
}
