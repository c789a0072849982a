// SPDX-License-Identifier: Apache-2.0
/*
 * route.c - see route.h.
 */
#include "netlink/route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nl.h"

static bool put_inet(struct nl_msg *msg, int type, const struct inet *a)
{
	return a->family == 0 || nla_put(msg, type, (int)inet_length(a), a->bytes) == 0;
}

static struct nl_msg *route_msg(int type, int flags, const struct route *r)
{
	bool on_link = r->gateway.family == 0;
	struct rtmsg header = {
		.rtm_family = (uint8_t)(on_link ? r->to.family : r->gateway.family),
		.rtm_dst_len = (uint8_t)r->to.prefix,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = r->onlink ? RTNH_F_ONLINK : 0,
	};
	struct nl_msg *msg = nl_msg_new(type, flags, &header, sizeof(header));
	bool ok = msg && (r->to.prefix == 0 || put_inet(msg, RTA_DST, &r->to)) &&
		  put_inet(msg, RTA_GATEWAY, &r->gateway) &&
		  put_inet(msg, RTA_PREFSRC, &r->source) &&
		  (!r->index || nla_put_u32(msg, RTA_OIF, (uint32_t)r->index) == 0) &&
		  (!r->metric || nla_put_u32(msg, RTA_PRIORITY, r->metric) == 0);

	if (ok)
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static void route_queue(struct nl_batch *b, struct nl_msg *msg, const char *verb,
			const char *link, const struct route *r)
{
	char to[INET_TEXT_BYTES] = "default", by[INET_TEXT_BYTES];

	if (r->to.prefix)
		(void)inet_format_cidr(&r->to, to);
	if (r->gateway.family)
		(void)nl_batch_add(b, msg, 0, "%s route %s by %s on %s", verb, to,
				   inet_format(&r->gateway, by), link);
	else
		(void)nl_batch_add(b, msg, 0, "%s route %s on %s", verb, to, link);
}

void route_add(struct nl_batch *b, const char *link, const struct route *r)
{
	int flags = NLM_F_CREATE | (r->replace ? NLM_F_REPLACE : NLM_F_EXCL);

	route_queue(b, route_msg(RTM_NEWROUTE, flags, r), "add", link, r);
}

void route_delete(struct nl_batch *b, const char *link, const struct route *r)
{
	route_queue(b, route_msg(RTM_DELROUTE, 0, r), "delete", link, r);
}

/* ---- what is there ---- */

struct reader {
	route_fn fn;
	void *arg;
};

static void take_inet(struct nlattr *a, int family, unsigned int prefix, struct inet *ret)
{
	struct inet found = { .family = family, .prefix = prefix };

	if (!a || (size_t)nla_len(a) != inet_length(&found))
		return;
	memcpy(found.bytes, nla_data(a), inet_length(&found));
	*ret = found;
}

static uint32_t number(struct nlattr *a)
{
	return a && nla_len(a) >= 4 ? nla_get_u32(a) : 0;
}

static int on_route(void *arg, const struct nlmsghdr *answer)
{
	const struct reader *reader = arg;
	const struct rtmsg *header = NLMSG_DATA(answer);
	struct nlattr *tb[RTA_MAX + 1];
	struct route_info found;
	unsigned int one;

	if (answer->nlmsg_type != RTM_NEWROUTE ||
	    answer->nlmsg_len < NLMSG_LENGTH(sizeof(*header)) ||
	    nlmsg_parse((struct nlmsghdr *)answer, sizeof(*header), tb, RTA_MAX, NULL) <
		    0)
		return 0;
	if (header->rtm_type != RTN_UNICAST || header->rtm_flags & RTM_F_CLONED ||
	    (tb[RTA_TABLE] ? number(tb[RTA_TABLE]) : header->rtm_table) != RT_TABLE_MAIN)
		return 0;
	one = header->rtm_family == AF_INET ? 32 : 128;
	found = (struct route_info){ .to = { .family = header->rtm_family },
				     .index = (int)number(tb[RTA_OIF]),
				     .metric = number(tb[RTA_PRIORITY]),
				     .protocol = header->rtm_protocol,
				     .scope = header->rtm_scope };
	take_inet(tb[RTA_DST], header->rtm_family, header->rtm_dst_len, &found.to);
	take_inet(tb[RTA_GATEWAY], header->rtm_family, one, &found.gateway);
	take_inet(tb[RTA_PREFSRC], header->rtm_family, one, &found.source);
	return reader->fn(reader->arg, &found);
}

int route_each(struct nl *nl, int family, route_fn fn, void *arg)
{
	struct rtmsg header = { .rtm_family = (uint8_t)family };
	struct reader reader = { fn, arg };
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < NL_DUMPS_MAX; i++)
		r = nl_query(
			nl, nl_msg_new(RTM_GETROUTE, NLM_F_DUMP, &header, sizeof(header)),
			on_route, &reader);
	return r;
}
