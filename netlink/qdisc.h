// SPDX-License-Identifier: Apache-2.0
/*
 * qdisc.h - the rate limit of a link: a token bucket (tc-tbf(8)) as its root qdisc.
 *
 * Owns: nothing. Called by: plan_apply.c and plan_configure.c, in helper children.
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
/* *ret_bits: the rate of the root's token bucket, 0 = there is none. 0 or -errno. */
int qdisc_get_limit(struct nl *nl, int index, uint64_t *ret_bits);

#endif
