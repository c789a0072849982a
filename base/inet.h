// SPDX-License-Identifier: Apache-2.0
/*
 * inet.h - IP addresses, prefixes and MAC addresses as values.
 *
 * Owns: nothing; fixed-size values, no heap, no system call. Called by: all rooms that
 * read addresses from people or hand them to the kernel.
 * Text is read strictly: inet_pton(3) for addresses (RFC 4291), a decimal prefix without
 * sign or leading zeros, a MAC as six pairs of hex digits with ':' between them.
 */
#ifndef BASE_INET_H
#define BASE_INET_H

#include "base/util.h"

#define INET_TEXT_BYTES 52 /* an IPv6 address with "/128" and NUL */
#define MAC_BYTES       6
#define MAC_TEXT_BYTES  18

struct inet {
	int family; /* AF_INET, AF_INET6; 0 = none: a zeroed struct is no address */
	unsigned int prefix;
	uint8_t bytes[16]; /* network order; IPv4 uses the first four */
};

/* 0 or -EINVAL. Without "/" the prefix is that of one address (32, 128). */
int inet_parse(const char *text, struct inet *ret);
/* The same, but "/PREFIX" must be there. Bits behind the prefix are kept. */
int inet_parse_cidr(const char *text, struct inet *ret);
/* The same, but "/" is an error. */
int inet_parse_address(const char *text, struct inet *ret);

/* Return buf. */
const char *inet_format(const struct inet *a, char buf[static INET_TEXT_BYTES]);
const char *inet_format_cidr(const struct inet *a, char buf[static INET_TEXT_BYTES]);

size_t inet_length(const struct inet *a);      /* bytes of its family: 4, 16 */
struct inet inet_masked(const struct inet *a); /* bits behind the prefix cleared */
bool inet_same(const struct inet *a, const struct inet *b); /* address, not prefix */
bool inet_contains(const struct inet *net, const struct inet *a); /* family too */
/* fe80::/10: on every link (RFC 4291, 2.5.6). */
bool inet_link_local(const struct inet *a);
/* A neighbour of one of these addresses: in the network of one of them, or link-local. */
bool inet_on_link(const struct inet *addrs, size_t n, const struct inet *a);
bool inet_overlap(const struct inet *a, const struct inet *b);
/* The address n after the network's own (n = 0): a new value with net's prefix; family 0
 * when it is beyond the prefix. */
struct inet inet_nth(const struct inet *net, uint64_t n);
/* How many addresses the prefix holds; UINT64_MAX when 64 bits or more are free. */
uint64_t inet_size(const struct inet *net);

int mac_parse(const char *text, uint8_t ret[static MAC_BYTES]);
const char *mac_format(const uint8_t mac[static MAC_BYTES],
		       char buf[static MAC_TEXT_BYTES]);

#endif
