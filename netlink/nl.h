// SPDX-License-Identifier: Apache-2.0
/*
 * nl.h - a connection to rtnetlink, and batches of requests over it.
 *
 * Owns: struct nl, a libnl socket bound to the network namespace it was opened in, for
 * ever. Called by: the files of this room, in helper children only. Blocks (the kernel
 * answers a request before sendmsg(2) returns, after the rtnl lock was had).
 */
#ifndef NETLINK_NL_H
#define NETLINK_NL_H

#include "base/err.h"

struct nl;
struct nl_batch;
struct nl_msg;

/* In the caller's namespace. 0 or -errno with e. */
int nl_open(struct nl **ret, struct err *e);
/* In the namespace of netns_fd; the caller stays where it is. Needs CAP_SYS_ADMIN. */
int nl_open_in(int netns_fd, struct nl **ret, struct err *e);
void nl_close(struct nl *nl); /* NULL allowed */

/* Collects requests. A message is added with the words that an error will name. */
int nl_batch_new(struct nl *nl, struct nl_batch **ret);
void nl_batch_free(struct nl_batch *b); /* NULL allowed */
/* Takes msg, also on failure; NULL msg is -ENOMEM: a builder can be nested here.
 * NLM_F_ACK is set here. ignore: a positive errno that counts as success (EEXIST,
 * ENODEV), 0 = none. */
int nl_batch_add(struct nl_batch *b, struct nl_msg *msg, int ignore, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* Sends all, reads every acknowledgement; the batch is empty afterwards. 0, or -errno of
 * the first that failed, with e: "add address 10.88.0.2/16 to eth0: File exists". Those
 * after it were carried out by the kernel all the same: undo by object. */
int nl_batch_send(struct nl_batch *b, struct err *e);

#endif
