// SPDX-License-Identifier: Apache-2.0
/*
 * nft_send.c - a batch to the kernel and its answers back.
 *
 * Owns: one nfnetlink socket for the length of a call. Called by: nft_main.c.
 * The kernel works a batch off before sendto(2) returns (nfnetlink_rcv() runs in the
 * sender), so that all its answers are waiting then. They come in the order of the
 * messages: the first error is the one that the others follow from.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nft_job.h"

struct answers {
	uint32_t last; /* the message that asks for an acknowledgement */
	bool acknowledged;
	int error; /* positive errno of the first that failed */
	uint32_t seq;
};

void nft_op_text(const struct nft_op *op, char *buf, size_t size)
{
	const struct nft_port *port = &op->port;
	char host[INET_TEXT_BYTES], pod[INET_TEXT_BYTES];

	(void)snprintf(buf, size, "%s %s port %u of %s to %s port %u",
		       op->remove ? "remove" : "add", nft_protocol_texts[port->protocol],
		       (unsigned int)port->host_port,
		       port->host.family ? inet_format(&port->host, host) :
					   "every address",
		       inet_format(&port->pod, pod), (unsigned int)port->pod_port);
}

static int describe(const struct nft_batch *b, const struct answers *a, struct err *e)
{
	const struct nft_note *note = &b->notes[a->seq < b->seq ? a->seq : 0];
	bool absent = a->error == ENOENT || a->error == EOPNOTSUPP;
	char text[2 * INET_TEXT_BYTES + 64];

	if (note->op) {
		nft_op_text(note->op, text, sizeof(text));
		if (a->error == EBUSY || a->error == EEXIST)
			return err_set(e, STAGE_SANDBOX, a->error,
				       "%s: the port has another pod", text);
		if (absent)
			return err_set(e, STAGE_SANDBOX, a->error, "%s: no map", text);
		return err_set(e, STAGE_SANDBOX, a->error, "%s", text);
	}
	if (absent && note->module)
		return err_set(e, STAGE_SANDBOX, a->error,
			       "%s: the kernel has no %s (module not there?)", note->what,
			       note->module);
	return err_set(e, STAGE_SANDBOX, a->error, "%s", note->what);
}

static void take(struct answers *a, const char *data, ssize_t len)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)(const void *)data;
	int rest = (int)len;

	for (; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest)) {
		const struct nlmsgerr *answer = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(nlh) < sizeof(*answer))
			continue;
		if (answer->error && !a->error) {
			a->error = answer->error < 0 ? -answer->error : EPROTO;
			a->seq = nlh->nlmsg_seq;
		} else if (!answer->error && nlh->nlmsg_seq == a->last) {
			a->acknowledged = true;
		}
	}
}

/* 0 or -errno of the socket itself. An overrun loses the answers behind those kept. */
static int read_answers(int fd, struct answers *a)
{
	char data[8192] __attribute__((aligned(8)));

	for (;;) {
		ssize_t len = recv(fd, data, sizeof(data), MSG_DONTWAIT);

		if (len > 0)
			take(a, data, len);
		else if (len < 0 && errno == EAGAIN)
			return 0;
		else if (len == 0 || (errno != EINTR && errno != ENOBUFS))
			return len ? -errno : -EPROTO;
	}
}

/* The whole batch has to fit the socket's buffer: net.core.wmem_max bounds what a process
 * without rights on the machine may ask for, so it is asked for in both ways. */
static void widen(int fd, size_t bytes)
{
	static const int one = 1;
	int size = (int)bytes + 4096;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	/* An answer need not carry the message it answers: 1,000 failures fit. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
}

/* Every message but the two marks is answered when it fails; the last one in any case. */
static void ask_acknowledgement(const struct nft_batch *b, uint32_t seq)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(void *)buf_head(&b->bytes);
	int rest = (int)b->bytes.len;

	for (; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest))
		if (nlh->nlmsg_seq == seq)
			nlh->nlmsg_flags |= NLM_F_ACK;
}

int nft_send(const struct nft_batch *b, const struct nft_op **ret_op, struct err *e)
{
	struct answers a = { .last = b->seq - 2 };
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	int r = 0;

	*ret_op = NULL;
	if (!socket)
		return err_set(
			e, STAGE_SANDBOX, errno, "open a socket to nftables%s",
			errno == EPROTONOSUPPORT ?
				": the kernel has no nfnetlink (module not there?)" :
				"");
	widen(mnl_socket_get_fd(socket), b->bytes.len);
	ask_acknowledgement(b, a.last);
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, buf_head(&b->bytes), b->bytes.len) < 0)
		r = err_set(e, STAGE_SANDBOX, errno, "send %zu bytes to nftables",
			    b->bytes.len);
	if (r == 0)
		r = read_answers(mnl_socket_get_fd(socket), &a);
	if (r < 0 && r != -e->code)
		r = err_set(e, STAGE_SANDBOX, -r, "read the answers of nftables");
	if (r == 0 && a.error) {
		*ret_op = a.seq < b->seq ? b->notes[a.seq].op : NULL;
		r = describe(b, &a, e);
	} else if (r == 0 && !a.acknowledged) {
		r = err_setx(e, STAGE_SANDBOX, EPROTO,
			     "nftables did not answer the transaction");
	}
	(void)mnl_socket_close(socket);
	return r;
}
