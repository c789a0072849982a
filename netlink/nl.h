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
struct nl_msg; /* libnl's */
struct nlmsghdr;

/* In the caller's namespace. 0 or -errno with e. */
int nl_open(struct nl **ret, struct err *e);
/* In the namespace of netns_fd; the caller stays where it is. Needs CAP_SYS_ADMIN. */
int nl_open_in(int netns_fd, struct nl **ret, struct err *e);
void nl_disconnect(struct nl *nl); /* NULL allowed; nl_close() is libnl's own */

/* The index of a link in the connection's namespace, by ioctl(2): neither the rtnl lock
 * nor a dump. -ENODEV. */
int nl_index(const struct nl *nl, const char *name);
int nl_mtu(const struct nl *nl, const char *name);
/* A new descriptor of the namespace the connection is in (SIOCGSKNS), or -errno. */
int nl_netns(const struct nl *nl);
/* False with ipv6.disable=1 or a kernel without it: the kernel's switch, not one
 * namespace's. */
bool nl_has_ipv6(void);

/* Collects requests. A message is added with the words that an error will name. */
int nl_batch_new(struct nl *nl, struct nl_batch **ret);
void nl_batch_free(struct nl_batch *b); /* NULL allowed */
/* Takes msg, also on failure; NULL msg is -ENOMEM: a builder can be nested here.
 * NLM_F_REQUEST and NLM_F_ACK are set here. ignore: a positive errno that counts as
 * success (EEXIST, ENODEV), 0 = none. A failure is remembered: nl_batch_send() returns it
 * and sends nothing, so that a row of builders needs one check. */
int nl_batch_add(struct nl_batch *b, struct nl_msg *msg, int ignore, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* About the message added last: an errno that counts as success; the kernel module
 * (borrowed text) that is missing when the kernel answers EOPNOTSUPP, or the errno of
 * nl_batch_missing(). */
void nl_batch_ignore(struct nl_batch *b, int code);
void nl_batch_module(struct nl_batch *b, const char *module);
void nl_batch_missing(struct nl_batch *b, int code, const char *module);
void nl_batch_fail(struct nl_batch *b,
		   int code);                    /* positive errno: as if adding failed */
size_t nl_batch_count(const struct nl_batch *b); /* messages in it */
/* Sends all, reads every acknowledgement; the batch is empty afterwards. 0, or -errno of
 * the first that failed, with e: "add address 10.88.0.2/16 to eth0: File exists". Those
 * after it were carried out by the kernel all the same: undo by object. */
int nl_batch_send(struct nl_batch *b, struct err *e);
/* After nl_batch_send(): whether message n (from 0, in the order they were added) was
 * carried out, that is neither failed nor was ignored. */
bool nl_batch_done(const struct nl_batch *b, size_t n);

/* A fresh request with room for attributes: NULL without memory. */
struct nl_msg *nl_msg_new(int type, int flags, const void *header, size_t header_bytes);

/* Sends one request (takes msg, NULL is -ENOMEM) and hands every message of the answer to
 * fn; fn returns 0, or -errno which ends the call after the rest was read. With
 * NLM_F_DUMP -EINTR says that the dump was interrupted by a change: forget what fn got,
 * ask again. */
#define NL_DUMPS_MAX 8 /* a dump that is interrupted as often as that is an error */
typedef int (*nl_reply_fn)(void *arg, const struct nlmsghdr *answer);
int nl_query(struct nl *nl, struct nl_msg *msg, nl_reply_fn fn, void *arg);

#endif
