// SPDX-License-Identifier: Apache-2.0
/*
 * monitor.c - see monitor.h.
 *
 * Owns: the socket. Messages are the kernel's, and are checked all the same: another
 * process with CAP_NET_ADMIN may send to a netlink port.
 */
#include "netlink/monitor.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define RECEIVE_BYTES  8192
/* A thousand pods that start together: some ten messages each. */
#define SOCKET_BYTES   (4 << 20)
#define TURN_DATAGRAMS 64

static const unsigned int groups[] = { RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				       RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				       RTNLGRP_IPV6_ROUTE };

static void tell(struct monitor *m, const struct monitor_event *ev)
{
	list_for_each_safe(node, &m->listeners) {
		struct monitor_listener *l = list_entry(node, struct monitor_listener,
							node);

		l->fn(l, ev);
	}
}

/* ---- one message ---- */

static bool parse_link(const struct nlmsghdr *h, struct monitor_event *ev)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	struct nlattr *tb[IFLA_MAX + 1];

	/* Bridges tell of their ports in messages of their own family. */
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*link)) || link->ifi_family != AF_UNSPEC ||
	    nlmsg_parse((struct nlmsghdr *)h, sizeof(*link), tb, IFLA_MAX, NULL) < 0)
		return false;
	ev->what = h->nlmsg_type == RTM_NEWLINK ? MONITOR_LINK : MONITOR_LINK_GONE;
	ev->index = link->ifi_index;
	ev->flags = link->ifi_flags;
	if (tb[IFLA_IFNAME])
		(void)nla_strlcpy(ev->name, tb[IFLA_IFNAME], sizeof(ev->name));
	if (tb[IFLA_MASTER] && nla_len(tb[IFLA_MASTER]) >= 4)
		ev->master = (int)nla_get_u32(tb[IFLA_MASTER]);
	if (tb[IFLA_MTU] && nla_len(tb[IFLA_MTU]) >= 4)
		ev->mtu = nla_get_u32(tb[IFLA_MTU]);
	if (tb[IFLA_ADDRESS] && nla_len(tb[IFLA_ADDRESS]) == MAC_BYTES)
		memcpy(ev->mac, nla_data(tb[IFLA_ADDRESS]), MAC_BYTES);
	return true;
}

/* Its bytes, when the attribute is there and of the family's length. */
static bool take_bytes(struct inet *a, const struct nlattr *from)
{
	if (!from || (size_t)nla_len(from) != inet_length(a))
		return false;
	memcpy(a->bytes, nla_data(from), inet_length(a));
	return true;
}

static bool parse_address(const struct nlmsghdr *h, struct monitor_event *ev)
{
	const struct ifaddrmsg *a = NLMSG_DATA(h);
	struct nlattr *tb[IFA_MAX + 1], *own;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*a)) ||
	    nlmsg_parse((struct nlmsghdr *)h, sizeof(*a), tb, IFA_MAX, NULL) < 0)
		return false;
	ev->what = h->nlmsg_type == RTM_NEWADDR ? MONITOR_ADDR : MONITOR_ADDR_GONE;
	ev->index = (int)a->ifa_index;
	ev->addr = (struct inet){ .family = a->ifa_family, .prefix = a->ifa_prefixlen };
	own = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	return (a->ifa_family == AF_INET || a->ifa_family == AF_INET6) &&
	       take_bytes(&ev->addr, own);
}

static bool parse_route(const struct nlmsghdr *h, struct monitor_event *ev)
{
	const struct rtmsg *route = NLMSG_DATA(h);
	struct nlattr *tb[RTA_MAX + 1];

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*route)) ||
	    nlmsg_parse((struct nlmsghdr *)h, sizeof(*route), tb, RTA_MAX, NULL) < 0 ||
	    route->rtm_type != RTN_UNICAST || route->rtm_table != RT_TABLE_MAIN ||
	    (route->rtm_family != AF_INET && route->rtm_family != AF_INET6))
		return false;
	ev->what = h->nlmsg_type == RTM_NEWROUTE ? MONITOR_ROUTE : MONITOR_ROUTE_GONE;
	if (tb[RTA_OIF] && nla_len(tb[RTA_OIF]) >= 4)
		ev->index = (int)nla_get_u32(tb[RTA_OIF]);
	ev->addr.family = ev->gateway.family = route->rtm_family;
	ev->addr.prefix = route->rtm_dst_len;
	if (!take_bytes(&ev->addr, tb[RTA_DST]) && ev->addr.prefix)
		return false;
	if (!take_bytes(&ev->gateway, tb[RTA_GATEWAY]))
		ev->gateway.family = 0;
	return true;
}

static void take(struct monitor *m, const struct nlmsghdr *h, int32_t nsid)
{
	struct monitor_event ev = { .nsid = nsid };
	bool known = false;

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		known = parse_link(h, &ev);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		known = parse_address(h, &ev);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		known = parse_route(h, &ev);
		break;
	default:
		break;
	}
	if (known)
		tell(m, &ev);
}

/* ---- the socket ---- */

static int32_t nsid_of(struct msghdr *hdr)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c))
		if (c->cmsg_level == SOL_NETLINK &&
		    c->cmsg_type == NETLINK_LISTEN_ALL_NSID &&
		    c->cmsg_len >= CMSG_LEN(sizeof(int32_t))) {
			int32_t nsid;

			memcpy(&nsid, CMSG_DATA(c), sizeof(nsid));
			return nsid;
		}
	return MONITOR_MACHINE; /* the kernel leaves it out for the socket's own */
}

/* One datagram. False: there is none. */
static bool receive(struct monitor *m)
{
	char buf[RECEIVE_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	char control[CMSG_SPACE(sizeof(int32_t)) * 2];
	struct sockaddr_nl from;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr hdr = { .msg_name = &from,
			      .msg_namelen = sizeof(from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(m->fd, &hdr, MSG_DONTWAIT);
	const struct nlmsghdr *h = (struct nlmsghdr *)buf;
	int len = (int)n;

	/* Too long is as good as not heard. */
	if ((n < 0 && errno == ENOBUFS) || (n >= 0 && hdr.msg_flags & MSG_TRUNC)) {
		struct monitor_event lost = { .what = MONITOR_LOST,
					      .nsid = MONITOR_MACHINE };

		m->lost++;
		tell(m, &lost);
		return true;
	}
	if (n < 0)
		return errno == EINTR;
	if (hdr.msg_namelen != sizeof(from) || from.nl_pid != 0)
		return true;
	for (; NLMSG_OK(h, (unsigned int)len); h = NLMSG_NEXT(h, len)) {
		m->received++;
		take(m, h, nsid_of(&hdr));
	}
	return true;
}

static void on_messages(struct loop_src *src, uint32_t events)
{
	struct monitor *m = container_of(src, struct monitor, src);

	(void)events;
	for (int i = 0; i < TURN_DATAGRAMS && receive(m); i++)
		;
}

static int join(int fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			       sizeof(groups[i])) < 0)
			return -errno;
	return 0;
}

int monitor_open(struct monitor *m, struct loop *loop, struct err *e)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	_cleanup_close_ int fd = socket(
		AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int on = 1, size = SOCKET_BYTES, r;

	*m = (struct monitor){ .fd = -1, .loop = loop };
	list_init(&m->listeners);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_set(e, STAGE_SANDBOX, errno, "open the netlink monitor");
	/* Not within a user namespace; then the machine's limit holds. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on, sizeof(on)) < 0)
		return err_set(e, STAGE_SANDBOX, errno, "listen to all namespaces");
	r = join(fd);
	if (r == 0)
		r = loop_src_add(loop, &m->src, fd, EPOLLIN, LOOP_KERNEL, on_messages);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "listen to rtnetlink");
	m->fd = fd_steal(&fd);
	return 0;
}

void monitor_listen(struct monitor *m, struct monitor_listener *l)
{
	list_append(&m->listeners, &l->node);
}

void monitor_unlisten(struct monitor_listener *l)
{
	if (l->node.next)
		list_remove(&l->node);
}
