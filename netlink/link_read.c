// SPDX-License-Identifier: Apache-2.0
/*
 * link_read.c - what links there are, see link.h.
 *
 * Owns: nothing. Lengths are the kernel's, and are checked all the same.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>

#include "netlink/link.h"
#include "netlink/nl.h"

static uint32_t number(struct nlattr *a)
{
	return a && nla_len(a) >= 4 ? nla_get_u32(a) : 0;
}

static void text(char *buf, size_t size, struct nlattr *a)
{
	size_t len = a ? MIN((size_t)nla_len(a), size - 1) : 0;

	if (len)
		memcpy(buf, nla_data(a), len);
	buf[len] = '\0';
}

static void counters(struct link_counters *ret, struct nlattr *a)
{
	struct rtnl_link_stats64 s = { 0 };

	/* Kernels add members at the end. */
	if (a)
		memcpy(&s, nla_data(a), MIN((size_t)nla_len(a), sizeof(s)));
	*ret = (struct link_counters){
		.rx_bytes = s.rx_bytes,
		.rx_packets = s.rx_packets,
		.rx_errors = s.rx_errors,
		.rx_dropped = s.rx_dropped,
		.tx_bytes = s.tx_bytes,
		.tx_packets = s.tx_packets,
		.tx_errors = s.tx_errors,
		.tx_dropped = s.tx_dropped,
	};
}

static bool link_parse(const struct nlmsghdr *h, struct link_info *ret)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	struct nlattr *tb[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1] = { NULL };

	if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof(*link)) ||
	    nlmsg_parse((struct nlmsghdr *)h, sizeof(*link), tb, IFLA_MAX, NULL) < 0)
		return false;
	if (tb[IFLA_LINKINFO] &&
	    nla_parse_nested(info, IFLA_INFO_MAX, tb[IFLA_LINKINFO], NULL) < 0)
		return false;
	*ret = (struct link_info){
		.index = link->ifi_index,
		.flags = link->ifi_flags,
		.mtu = number(tb[IFLA_MTU]),
		.master = (int)number(tb[IFLA_MASTER]),
		.parent = (int)number(tb[IFLA_LINK]),
		.nsid = tb[IFLA_LINK_NETNSID] ? (int)number(tb[IFLA_LINK_NETNSID]) : -1,
		.has_mac = tb[IFLA_ADDRESS] && nla_len(tb[IFLA_ADDRESS]) == MAC_BYTES,
	};
	if (tb[IFLA_OPERSTATE] && nla_len(tb[IFLA_OPERSTATE]) >= 1)
		ret->operstate = nla_get_u8(tb[IFLA_OPERSTATE]);
	if (ret->has_mac)
		memcpy(ret->mac, nla_data(tb[IFLA_ADDRESS]), MAC_BYTES);
	counters(&ret->counters, tb[IFLA_STATS64]);
	text(ret->name, sizeof(ret->name), tb[IFLA_IFNAME]);
	text(ret->kind, sizeof(ret->kind), info[IFLA_INFO_KIND]);
	text(ret->alias, sizeof(ret->alias), tb[IFLA_IFALIAS]);
	return true;
}

struct reader {
	link_fn fn;
	void *arg;
};

static int on_link(void *arg, const struct nlmsghdr *answer)
{
	const struct reader *reader = arg;
	struct link_info link;

	return link_parse(answer, &link) ? reader->fn(reader->arg, &link) : 0;
}

static int copy_link(void *arg, const struct link_info *link)
{
	*(struct link_info *)arg = *link;
	return 0;
}

int link_get(struct nl *nl, int index, const char *name, struct link_info *ret)
{
	struct ifinfomsg link = { .ifi_index = index };
	struct nl_msg *msg = nl_msg_new(RTM_GETLINK, 0, &link, sizeof(link));
	struct link_info found = { 0 };
	struct reader reader = { copy_link, &found };
	int r;

	if (msg && index == 0 &&
	    nla_put(msg, IFLA_IFNAME, (int)strlen(name) + 1, name) < 0) {
		nlmsg_free(msg);
		return -ENOMEM;
	}
	r = nl_query(nl, msg, on_link, &reader);
	if (r == 0 && found.index == 0)
		r = -ENODEV;
	if (r == 0)
		*ret = found;
	return r;
}

int link_each(struct nl *nl, link_fn fn, void *arg)
{
	struct ifinfomsg link = { 0 };
	struct reader reader = { fn, arg };
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < NL_DUMPS_MAX; i++)
		r = nl_query(nl, nl_msg_new(RTM_GETLINK, NLM_F_DUMP, &link, sizeof(link)),
			     on_link, &reader);
	return r;
}
