// SPDX-License-Identifier: Apache-2.0
/*
 * nft.h - what podinit-nft is asked to do: requests, as text, one a line.
 *
 * Called by: pod's network (makes a request), podinit-nft (reads it, netlink/nft_*.c).
 * The helper gets the request as a file on descriptor 3, carries it out as ONE nftables
 * transaction and exits with 0; or prints one line (what, errno) and exits with 1 (2: the
 * request cannot be read), and nothing was changed. It touches no table but its own:
 * "inet podinit" of the machine, and "inet podinit" inside of a pod's namespace.
 *
 * Our table: maps host port -> pod address and port, one with and one without the host's
 * address, for each family; nat prerouting and output (fib daddr type local),
 * postrouting: masquerade of the pod ranges when they leave by another interface than the
 * pods' bridge, of translated traffic from pod to pod (hairpin too) and of 127.0.0.0/8 to
 * the bridge.
 */
#ifndef NETLINK_NFT_H
#define NETLINK_NFT_H

#include "base/buf.h"
#include "base/inet.h"

#define NFT_REQUEST_BYTES (4u << 20)
#define NFT_REQUEST_FD    3

enum nft_protocol { NFT_TCP, NFT_UDP, NFT_SCTP, NFT_PROTOCOL_MAX };

struct nft_base {
	char bridge[16];
	struct inet range4, range6; /* family 0 = none */
};

struct nft_port {
	enum nft_protocol protocol;
	struct inet host; /* family 0 = every address of the machine, of pod's family */
	uint16_t host_port;
	struct inet pod;
	uint16_t pod_port;
};

/* A pod's own filter (podinit/network-policy): once one network is listed, everything
 * new from elsewhere is dropped. Internal networks reach every port, external ones the
 * ports listed; replies, loopback and ICMP pass. */
struct nft_filter {
	size_t n_internal, n_external, n_ports;
	const struct inet *internal, *external;
	const struct nft_port *ports; /* protocol and pod_port */
};

/* Each appends to the request; 0 or -ENOBUFS. */
int nft_ask_reset(struct buf *b, const struct nft_base *base); /* the whole table anew,
								  empty of ports */
int nft_ask_add(struct buf *b, const struct nft_port *port);
int nft_ask_remove(struct buf *b, const struct nft_port *port); /* -ENOENT in the kernel
								   is no failure */
int nft_ask_drop(struct buf *b); /* the table goes; absent is no failure */
/* For the namespace the helper was told to enter (argv: podinit-nft --netns PATH). Alone
 * in its request. */
int nft_ask_filter(struct buf *b, const struct nft_filter *f);

#endif
