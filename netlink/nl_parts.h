// SPDX-License-Identifier: Apache-2.0
/*
 * nl_parts.h - what nl.c and nl_batch.c share; private to them.
 */
#ifndef NETLINK_NL_PARTS_H
#define NETLINK_NL_PARTS_H

#include <linux/netlink.h>
#include <sys/types.h>

#include "netlink/nl.h"

#define RECEIVE_BYTES (32 * 1024) /* NLMSG_GOODSIZE of a dump is at most this */

struct nl_sock;

struct nl {
	struct nl_sock *sock;
	int fd; /* sock's */
	uint32_t seq;
	char buf[RECEIVE_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
};

/* One datagram of the kernel's into nl->buf. Its length or -errno; -ENOBUFS when there is
 * none: the answer was lost. */
ssize_t nl_receive(struct nl *nl);

#endif
