// SPDX-License-Identifier: Apache-2.0
/*
 * route.h - routes of the main table: requests that add and delete them, what is there.
 *
 * Owns: nothing. Called by: the files of this room, in helper children. Errors of the
 * appending functions come with nl_batch_send().
 */
#ifndef NETLINK_ROUTE_H
#define NETLINK_ROUTE_H

#include "base/inet.h"

struct nl;
struct nl_batch;

struct route {
	int index;           /* link; 0 = whatever leads to the gateway */
	struct inet to;      /* family and prefix 0, with gateway's family: default */
	struct inet gateway; /* family 0 = the destination is on the link */
	struct inet source;  /* preferred source, family 0 = none */
	uint32_t metric;     /* 0 = none (IPv6: 1024) */
	bool onlink;         /* the gateway is outside of the link's prefixes */
	bool replace;        /* in place of one with the same destination and metric */
};

/* words: the link's name, for errors. */
void route_add(struct nl_batch *b, const char *link, const struct route *r);
void route_delete(struct nl_batch *b, const char *link, const struct route *r);

struct route_info {
	struct inet to;      /* prefix 0 = default */
	struct inet gateway; /* family 0 = none */
	struct inet source;
	int index;
	uint32_t metric;
	uint8_t protocol; /* RTPROT_* */
	uint8_t scope;
};

/* Unicast routes of the main table, one family (AF_INET, AF_INET6). fn returns 0 or
 * -errno, which ends it. An interrupted dump is taken again: fn then sees routes twice.
 */
typedef int (*route_fn)(void *arg, const struct route_info *route);
int route_each(struct nl *nl, int family, route_fn fn, void *arg);

#endif
