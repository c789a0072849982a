// SPDX-License-Identifier: Apache-2.0
/*
 * address.h - addresses of links: requests that add and delete them, and what is there.
 *
 * Owns: nothing. Called by: the files of this room, in helper children. Errors of the
 * appending functions come with nl_batch_send().
 */
#ifndef NETLINK_ADDRESS_H
#define NETLINK_ADDRESS_H

#include "base/inet.h"

struct nl;
struct nl_batch;

/* With a's prefix. IPv4 gets its broadcast address; IPv6 no duplicate address detection
 * (IFA_F_NODAD), so that it can be used at once. -EEXIST when it is there. */
void address_add(struct nl_batch *b, int index, const char *link, const struct inet *a);
/* The same for an address with a lifetime (a lease): seconds, UINT32_MAX = for ever. When
 * it is there its lifetime is renewed. */
void address_lease(struct nl_batch *b, int index, const char *link, const struct inet *a,
		   uint32_t valid_seconds);
void address_delete(struct nl_batch *b, int index, const char *link,
		    const struct inet *a);

struct address_info {
	int index;
	struct inet addr; /* with prefix */
	uint8_t scope;    /* RT_SCOPE_* */
	uint32_t flags;   /* IFA_F_* */
};

/* All addresses of one link, or of all when index is 0. fn returns 0 or -errno, which
 * ends it. An interrupted dump is taken again: fn then sees addresses twice. */
typedef int (*address_fn)(void *arg, const struct address_info *address);
int address_each(struct nl *nl, int index, address_fn fn, void *arg);

#endif
