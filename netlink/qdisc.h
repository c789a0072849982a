// SPDX-License-Identifier: Apache-2.0
/*
 * qdisc.h - the rate limit of a link: a token bucket (tc-tbf(8)) as its root qdisc.
 *
 * Owns: nothing. Called by: the files of this room, in helper children.
 * A qdisc limits what leaves a link: a pod's egress is limited on its own side, its
 * ingress on the machine's side of the veth pair.
 */
#ifndef NETLINK_QDISC_H
#define NETLINK_QDISC_H

#include "base/util.h"

struct nl;
struct nl_batch;

/* Bytes for a rate in bits a second. */
uint32_t qdisc_burst_bytes(uint64_t rate_bits, uint32_t mtu);
uint32_t qdisc_limit_bytes(uint64_t rate_bits, uint32_t burst_bytes);

/* Makes or replaces it. */
void qdisc_add_limit(struct nl_batch *b, int index, const char *link, uint64_t rate_bits,
		     uint32_t mtu);
/* The rates of all token buckets that are roots. fn returns 0 or -errno, which ends it.
 * An interrupted dump is taken again: fn then sees links twice. */
typedef int (*qdisc_limit_fn)(void *arg, int index, uint64_t rate_bits);
int qdisc_each_limit(struct nl *nl, qdisc_limit_fn fn, void *arg);

#endif
