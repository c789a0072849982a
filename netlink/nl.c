// SPDX-License-Identifier: Apache-2.0
/*
 * nl.c - the connection of nl.h and questions over it; batches are in nl_batch.c.
 *
 * libnl keeps the socket and builds the messages; sending and receiving is done here,
 * because libnl folds the kernel's errnos into its own codes and waits for one
 * acknowledgement at a time. The kernel answers before sendmsg(2) returns
 * (net/netlink/af_netlink.c, netlink_unicast_kernel()), so nothing here waits for an
 * answer: one that is not there was lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/nl_parts.h"

/* An acknowledgement takes about 1 KiB of the receive buffer (an skb's true size), and
 * those of one sendmsg(2) are all queued before the first can be read. */
#define SOCKET_BUFFER_BYTES (128 * 1024)
#define MESSAGE_BYTES       1536 /* the largest: an alias, a rate table */

/* ---- connection ---- */

static int code_of(int nl_result)
{
	if (nl_result == -NLE_NOMEM)
		return ENOMEM;
	return errno ? errno : EIO;
}

static void set_option(int fd, int option)
{
	int on = 1;

	/* Old kernels lack one or the other; each has a default that is understood. */
	(void)setsockopt(fd, SOL_NETLINK, option, &on, sizeof(on));
}

int nl_open(struct nl **ret, struct err *e)
{
	struct nl *nl = malloc(sizeof(*nl));
	int r;

	if (nl) {
		nl->sock = nl_socket_alloc();
		nl->seq = 0;
	}
	if (!nl || !nl->sock) {
		free(nl);
		return err_set(e, STAGE_SANDBOX, ENOMEM, "allocate a netlink socket");
	}
	errno = 0;
	r = nl_connect(nl->sock, NETLINK_ROUTE);
	if (r == 0)
		r = nl_socket_set_buffer_size(nl->sock, SOCKET_BUFFER_BYTES,
					      SOCKET_BUFFER_BYTES);
	if (r < 0) {
		r = err_set(e, STAGE_SANDBOX, code_of(r), "open a netlink socket");
		nl_disconnect(nl);
		return r;
	}
	nl->fd = nl_socket_get_fd(nl->sock);
	set_option(nl->fd, NETLINK_EXT_ACK);
	set_option(nl->fd, NETLINK_CAP_ACK);
	set_option(nl->fd, NETLINK_GET_STRICT_CHK);
	*ret = nl;
	return 0;
}

int nl_open_in(int netns_fd, struct nl **ret, struct err *e)
{
	_cleanup_close_ int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	struct nl *nl = NULL;
	int r;

	if (home < 0)
		return err_set(e, STAGE_SANDBOX, errno, "open the network namespace");
	if (setns(netns_fd, CLONE_NEWNET) < 0)
		return err_set(e, STAGE_SANDBOX, errno, "enter a network namespace");
	r = nl_open(&nl, e);
	if (setns(home, CLONE_NEWNET) < 0) {
		r = err_set(e, STAGE_SANDBOX, errno, "leave a network namespace");
		nl_disconnect(nl);
		return r;
	}
	if (r == 0)
		*ret = nl;
	return r;
}

void nl_disconnect(struct nl *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->sock);
	free(nl);
}

static int name_request(const struct nl *nl, unsigned long request, const char *name,
			struct ifreq *ret)
{
	*ret = (struct ifreq){ 0 };
	if (strlen(name) >= sizeof(ret->ifr_name))
		return -ENODEV;
	(void)strcpy(ret->ifr_name, name);
	return ioctl(nl->fd, request, ret) < 0 ? -errno : 0;
}

int nl_index(const struct nl *nl, const char *name)
{
	struct ifreq ifr;
	int r = name_request(nl, SIOCGIFINDEX, name, &ifr);

	return r < 0 ? r : ifr.ifr_ifindex;
}

int nl_mtu(const struct nl *nl, const char *name)
{
	struct ifreq ifr;
	int r = name_request(nl, SIOCGIFMTU, name, &ifr);

	return r < 0 ? r : ifr.ifr_mtu;
}

int nl_netns(const struct nl *nl)
{
	int fd = ioctl(nl->fd, SIOCGSKNS);

	return fd < 0 ? -errno : fd;
}

bool nl_has_ipv6(void)
{
	static int known; /* 0 = not asked yet; a kernel does not change its mind */

	if (!known) {
		_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		known = fd >= 0 || errno != EAFNOSUPPORT ? 1 : -1;
	}
	return known > 0;
}

ssize_t nl_receive(struct nl *nl)
{
	for (;;) {
		struct sockaddr_nl from;
		struct iovec iov = { nl->buf, sizeof(nl->buf) };
		struct msghdr hdr = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &iov,
				      .msg_iovlen = 1 };
		ssize_t n = recvmsg(nl->fd, &hdr, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ENOBUFS : -errno;
		if (hdr.msg_namelen != sizeof(from) || from.nl_pid != 0)
			continue; /* another process may write to us: not an answer */
		if (hdr.msg_flags & MSG_TRUNC)
			return -EMSGSIZE;
		return n;
	}
}

struct nl_msg *nl_msg_new(int type, int flags, const void *header, size_t header_bytes)
{
	struct nl_msg *msg = nlmsg_alloc_size(MESSAGE_BYTES);

	if (msg && (!nlmsg_put(msg, 0, 0, type, 0, NLM_F_REQUEST | flags) ||
		    nlmsg_append(msg, (void *)header, header_bytes, NLMSG_ALIGNTO) < 0)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/* ---- questions ---- */

/* One datagram of an answer. 1 = it was the last, 0 = more to come, or -errno. */
static int take_answer(struct nl *nl, ssize_t len, nl_reply_fn fn, void *arg,
		       bool *ret_interrupted, int *ret_fn)
{
	struct nlmsghdr *h = (struct nlmsghdr *)nl->buf;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_seq != nl->seq)
			continue;
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			*ret_interrupted = true;
		if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
			int code =
				0; /* both begin with it; DONE of old kernels has none */

			if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(code)))
				memcpy(&code, NLMSG_DATA(h), sizeof(code));
			return code < 0 ? code : 1;
		}
		if (*ret_fn == 0)
			*ret_fn = fn(arg, h);
	}
	return 0;
}

int nl_query(struct nl *nl, struct nl_msg *msg, nl_reply_fn fn, void *arg)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr *h = msg ? nlmsg_hdr(msg) : NULL;
	bool interrupted = false;
	int r = 0, r_fn = 0;

	if (!h)
		return -ENOMEM;
	h->nlmsg_seq = ++nl->seq;
	if ((h->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		h->nlmsg_flags |= NLM_F_ACK;
	while (sendto(nl->fd, h, h->nlmsg_len, 0, (struct sockaddr *)&kernel,
		      sizeof(kernel)) < 0)
		if (errno != EINTR) {
			r = -errno;
			break;
		}
	nlmsg_free(msg);
	while (r == 0) {
		ssize_t len = nl_receive(nl);

		r = len < 0 ? (int)len :
			      take_answer(nl, len, fn, arg, &interrupted, &r_fn);
	}
	if (r < 0)
		return r;
	return interrupted ? -EINTR : r_fn;
}
