// SPDX-License-Identifier: Apache-2.0
/*
 * nft_request.c - the writer of requests: see nft.h.
 *
 * Owns: the grammar, together with its reader nft_parse.c; docs/podinit-nft.8 shows it.
 * Called by: pod's network, in PID 1. Never talks to the kernel.
 */
#include "netlink/nft.h"

#include <errno.h>

static const char *const protocol_names[NFT_PROTOCOL_MAX] = { "tcp", "udp", "sctp" };

static int full(int r)
{
	return r < 0 ? -ENOBUFS : 0;
}

static const char *range_text(const struct inet *range, char buf[static INET_TEXT_BYTES])
{
	return range->family ? inet_format_cidr(range, buf) : "-";
}

static int ask_port(struct buf *b, const char *verb, const struct nft_port *port)
{
	char host[INET_TEXT_BYTES], pod[INET_TEXT_BYTES];

	return full(
		buf_printf(b, "%s %s %s %u %s %u\n", verb, protocol_names[port->protocol],
			   port->host.family ? inet_format(&port->host, host) : "*",
			   (unsigned int)port->host_port, inet_format(&port->pod, pod),
			   (unsigned int)port->pod_port));
}

int nft_ask_reset(struct buf *b, const struct nft_base *base)
{
	char range4[INET_TEXT_BYTES], range6[INET_TEXT_BYTES];

	return full(buf_printf(b, "reset %s %s %s\n", base->bridge,
			       range_text(&base->range4, range4),
			       range_text(&base->range6, range6)));
}

int nft_ask_add(struct buf *b, const struct nft_port *port)
{
	return ask_port(b, "add", port);
}

int nft_ask_remove(struct buf *b, const struct nft_port *port)
{
	return ask_port(b, "remove", port);
}

int nft_ask_drop(struct buf *b)
{
	return full(buf_append(b, "drop\n", 5));
}

static int ask_networks(struct buf *b, const char *word, const struct inet *nets,
			size_t n)
{
	char text[INET_TEXT_BYTES];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct inet net = inet_masked(&nets[i]);

		r = buf_printf(b, "%s %s\n", word, inet_format_cidr(&net, text));
	}
	return full(r);
}

int nft_ask_filter(struct buf *b, const struct nft_filter *f)
{
	int r = full(buf_append(b, "filter\n", 7));

	if (r == 0)
		r = ask_networks(b, "internal", f->internal, f->n_internal);
	if (r == 0)
		r = ask_networks(b, "external", f->external, f->n_external);
	for (size_t i = 0; i < f->n_ports && r == 0; i++)
		r = full(buf_printf(b, "port %s %u\n",
				    protocol_names[f->ports[i].protocol],
				    (unsigned int)f->ports[i].pod_port));
	return r;
}
