// SPDX-License-Identifier: Apache-2.0
/*
 * address.c - see address.h.
 */
#include "netlink/address.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nl.h"

static struct nl_msg *address_msg(int type, int flags, int index, const struct inet *a)
{
	struct ifaddrmsg header = { .ifa_family = (uint8_t)a->family,
				    .ifa_prefixlen = (uint8_t)a->prefix,
				    .ifa_index = (uint32_t)index };
	struct nl_msg *msg = nl_msg_new(type, flags, &header, sizeof(header));
	int len = (int)inet_length(a);

	if (msg && (nla_put(msg, IFA_LOCAL, len, a->bytes) < 0 ||
		    nla_put(msg, IFA_ADDRESS, len, a->bytes) < 0)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/* RFC 3021: a /31 has no broadcast address; neither has a single one. */
static bool put_broadcast(struct nl_msg *msg, const struct inet *a)
{
	uint8_t bytes[4];

	if (a->family != AF_INET || a->prefix > 30)
		return true;
	memcpy(bytes, a->bytes, sizeof(bytes));
	for (unsigned int i = a->prefix; i < 32; i++)
		bytes[i / 8] |= (uint8_t)(0x80 >> (i % 8));
	return nla_put(msg, IFA_BROADCAST, sizeof(bytes), bytes) == 0;
}

static void add(struct nl_batch *b, int flags, int index, const char *link,
		const struct inet *a, const struct ifa_cacheinfo *life)
{
	struct nl_msg *msg = address_msg(RTM_NEWADDR, flags, index, a);
	char text[INET_TEXT_BYTES];
	bool ok = msg && put_broadcast(msg, a);

	if (ok && a->family == AF_INET6)
		ok = nla_put_u32(msg, IFA_FLAGS, IFA_F_NODAD) == 0;
	if (ok && life)
		ok = nla_put(msg, IFA_CACHEINFO, sizeof(*life), life) == 0;
	if (!ok) {
		nlmsg_free(msg);
		msg = NULL;
	}
	(void)nl_batch_add(b, msg, 0, "add address %s to %s", inet_format_cidr(a, text),
			   link);
}

void address_add(struct nl_batch *b, int index, const char *link, const struct inet *a)
{
	add(b, NLM_F_CREATE | NLM_F_EXCL, index, link, a, NULL);
}

void address_lease(struct nl_batch *b, int index, const char *link, const struct inet *a,
		   uint32_t valid_seconds)
{
	struct ifa_cacheinfo life = { .ifa_prefered = valid_seconds,
				      .ifa_valid = valid_seconds };

	add(b, NLM_F_CREATE | NLM_F_REPLACE, index, link, a, &life);
}

void address_delete(struct nl_batch *b, int index, const char *link, const struct inet *a)
{
	char text[INET_TEXT_BYTES];

	(void)nl_batch_add(b, address_msg(RTM_DELADDR, 0, index, a), 0,
			   "delete address %s from %s", inet_format_cidr(a, text), link);
}

/* ---- what is there ---- */

struct reader {
	int index;
	address_fn fn;
	void *arg;
};

static int on_address(void *arg, const struct nlmsghdr *answer)
{
	const struct reader *reader = arg;
	const struct ifaddrmsg *header = NLMSG_DATA(answer);
	struct nlattr *tb[IFA_MAX + 1], *own;
	struct address_info found;

	if (answer->nlmsg_type != RTM_NEWADDR ||
	    answer->nlmsg_len < NLMSG_LENGTH(sizeof(*header)) ||
	    nlmsg_parse((struct nlmsghdr *)answer, sizeof(*header), tb, IFA_MAX, NULL) <
		    0 ||
	    (reader->index && (int)header->ifa_index != reader->index))
		return 0;
	/* With a peer IFA_ADDRESS is the peer's; IPv6 has no IFA_LOCAL without one. */
	own = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	found = (struct address_info){ .index = (int)header->ifa_index,
				       .addr = { .family = header->ifa_family,
						 .prefix = header->ifa_prefixlen },
				       .scope = header->ifa_scope,
				       .flags = header->ifa_flags };
	if ((header->ifa_family != AF_INET && header->ifa_family != AF_INET6) || !own ||
	    (size_t)nla_len(own) != inet_length(&found.addr))
		return 0;
	memcpy(found.addr.bytes, nla_data(own), inet_length(&found.addr));
	if (tb[IFA_FLAGS] && nla_len(tb[IFA_FLAGS]) >= 4)
		found.flags = nla_get_u32(tb[IFA_FLAGS]);
	return reader->fn(reader->arg, &found);
}

int address_each(struct nl *nl, int index, address_fn fn, void *arg)
{
	/* The kernel filters by index when it checks strictly (since 4.20). */
	struct ifaddrmsg header = { .ifa_index = (uint32_t)index };
	struct reader reader = { index, fn, arg };
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < NL_DUMPS_MAX; i++)
		r = nl_query(nl,
			     nl_msg_new(RTM_GETADDR, NLM_F_DUMP, &header, sizeof(header)),
			     on_address, &reader);
	return r;
}
