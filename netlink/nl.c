// SPDX-License-Identifier: Apache-2.0
/*
 * nl.c - see nl.h.
 *
 * libnl keeps the socket and builds the messages; sending and receiving is done here,
 * because libnl folds the kernel's errnos into its own codes and waits for one
 * acknowledgement at a time. The kernel answers before sendmsg(2) returns
 * (net/netlink/af_netlink.c, netlink_unicast_kernel()), so nothing here waits for an
 * answer: one that is not there was lost.
 */
#include "netlink/nl.h"

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
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

/* An acknowledgement takes about 1 KiB of the receive buffer (an skb's true size), and
 * those of one sendmsg(2) are all queued before the first can be read. */
#define SOCKET_BUFFER_BYTES (128 * 1024)
#define SEND_MESSAGES_MAX   64
#define SEND_BYTES_MAX      (32 * 1024)
#define MESSAGE_BYTES       1536        /* the largest: an alias, a rate table */
#define RECEIVE_BYTES       (32 * 1024) /* NLMSG_GOODSIZE of a dump is at most this */
#define WHAT_BYTES          112

struct nl {
	struct nl_sock *sock;
	int fd; /* sock's */
	uint32_t seq;
	char buf[RECEIVE_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
};

struct request {
	struct nl_msg *msg;
	const char *module;
	int ignore, missing;
	char what[WHAT_BYTES];
};

struct nl_batch {
	struct nl *nl;
	struct request *requests;
	bool *done;
	size_t n, n_sent, cap;
	int failed; /* the first errno of adding */
};

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

/* One datagram of the kernel's into nl->buf. Its length or -errno. */
static ssize_t receive(struct nl *nl)
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

/* ---- batches ---- */

int nl_batch_new(struct nl *nl, struct nl_batch **ret)
{
	struct nl_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->nl = nl;
	*ret = b;
	return 0;
}

static void batch_clear(struct nl_batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		nlmsg_free(b->requests[i].msg);
	b->n = 0;
	b->failed = 0;
}

void nl_batch_free(struct nl_batch *b)
{
	if (!b)
		return;
	batch_clear(b);
	free(b->requests);
	free(b->done);
	free(b);
}

static bool batch_grow(struct nl_batch *b)
{
	size_t cap = b->cap ? 2 * b->cap : 16;
	struct request *requests;
	bool *done;

	if (b->n < b->cap)
		return true;
	requests = reallocarray(b->requests, cap, sizeof(*requests));
	if (requests)
		b->requests = requests;
	done = reallocarray(b->done, cap, sizeof(*done));
	if (done)
		b->done = done;
	if (!requests || !done)
		return false;
	b->cap = cap;
	return true;
}

int nl_batch_add(struct nl_batch *b, struct nl_msg *msg, int ignore, const char *fmt, ...)
{
	struct request *q;
	va_list ap;

	if (!msg || !batch_grow(b)) {
		nlmsg_free(msg);
		nl_batch_fail(b, ENOMEM);
		return -ENOMEM;
	}
	q = &b->requests[b->n++];
	*q = (struct request){ .msg = msg, .ignore = ignore };
	va_start(ap, fmt);
	(void)vsnprintf(q->what, sizeof(q->what), fmt, ap);
	va_end(ap);
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	return 0;
}

void nl_batch_fail(struct nl_batch *b, int code)
{
	if (!b->failed)
		b->failed = code;
}

void nl_batch_ignore(struct nl_batch *b, int code)
{
	if (b->n > 0)
		b->requests[b->n - 1].ignore = code;
}

void nl_batch_module(struct nl_batch *b, const char *module)
{
	nl_batch_missing(b, EOPNOTSUPP, module);
}

void nl_batch_missing(struct nl_batch *b, int code, const char *module)
{
	if (b->n == 0)
		return;
	b->requests[b->n - 1].module = module;
	b->requests[b->n - 1].missing = code;
}

size_t nl_batch_count(const struct nl_batch *b)
{
	return b->n;
}

bool nl_batch_done(const struct nl_batch *b, size_t n)
{
	return n < b->n_sent && b->done[n];
}

/* What the kernel adds to an errno in words (NETLINK_EXT_ACK), or "". */
static void ext_ack_text(const struct nlmsghdr *h, char *buf, size_t size)
{
	const struct nlmsgerr *answer = NLMSG_DATA(h);
	size_t skip = sizeof(*answer);
	struct nlattr *text;

	buf[0] = '\0';
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		if (answer->msg.nlmsg_len < sizeof(answer->msg))
			return;
		skip += NLMSG_ALIGN(answer->msg.nlmsg_len) - sizeof(answer->msg);
	}
	if (h->nlmsg_len < NLMSG_HDRLEN + skip)
		return;
	text = nla_find((struct nlattr *)((char *)NLMSG_DATA(h) + skip),
			(int)(h->nlmsg_len - NLMSG_HDRLEN - skip), NLMSGERR_ATTR_MSG);
	if (text)
		(void)snprintf(buf, size, " (%.*s)", nla_len(text),
			       (char *)nla_data(text));
}

static int explain(const struct request *q, const struct nlmsghdr *h, int code,
		   struct err *e)
{
	char more[120];

	ext_ack_text(h, more, sizeof(more));
	if (q->module && code == q->missing)
		return err_setx(e, STAGE_SANDBOX, code, "%s: kernel module %s is missing",
				q->what, q->module);
	return err_setx(e, STAGE_SANDBOX, code, "%s: %s%s", q->what, strerror(code),
			more);
}

/* Reads the acknowledgements of requests first..first + n - 1, numbered from seq on. */
static int read_acks(struct nl_batch *b, size_t first, size_t n, uint32_t seq,
		     struct err *e)
{
	int failed = 0;

	for (size_t left = n; left > 0;) {
		ssize_t len = receive(b->nl);
		struct nlmsghdr *h = (struct nlmsghdr *)b->nl->buf;

		if (len < 0)
			return err_set(e, STAGE_SANDBOX, (int)-len,
				       "read the kernel's answers from \"%s\" on",
				       b->requests[first].what);
		for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			uint32_t i = h->nlmsg_seq - seq;
			const struct request *q;
			int code;

			if (h->nlmsg_type != NLMSG_ERROR || i >= n ||
			    h->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr)))
				continue;
			q = &b->requests[first + i];
			code = -((const struct nlmsgerr *)NLMSG_DATA(h))->error;
			b->done[first + i] = code == 0;
			left--;
			if (code && code != q->ignore && !failed)
				failed = explain(q, h, code, e);
		}
	}
	return failed;
}

/* Sends as many as go out at once from first on; *ret_n is their number. */
static int send_some(struct nl_batch *b, size_t first, size_t *ret_n, struct err *e)
{
	struct iovec iov[SEND_MESSAGES_MAX];
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr hdr = { .msg_name = &kernel,
			      .msg_namelen = sizeof(kernel),
			      .msg_iov = iov };
	uint32_t seq = b->nl->seq + 1;
	size_t n = 0, bytes = 0;

	while (first + n < b->n && n < SEND_MESSAGES_MAX) {
		struct nlmsghdr *h = nlmsg_hdr(b->requests[first + n].msg);
		size_t len = NLMSG_ALIGN(h->nlmsg_len);

		if (n > 0 && bytes + len > SEND_BYTES_MAX)
			break;
		h->nlmsg_seq = ++b->nl->seq;
		iov[n++] = (struct iovec){ h, len };
		bytes += len;
	}
	hdr.msg_iovlen = n;
	while (sendmsg(b->nl->fd, &hdr, 0) < 0)
		if (errno != EINTR)
			return err_set(e, STAGE_SANDBOX, errno, "%s",
				       b->requests[first].what);
	*ret_n = n;
	return read_acks(b, first, n, seq, e);
}

int nl_batch_send(struct nl_batch *b, struct err *e)
{
	int r = 0;

	b->n_sent = b->failed ? 0 : b->n;
	if (b->failed)
		r = err_set(e, STAGE_SANDBOX, b->failed, "build a netlink request");
	if (b->n_sent)
		memset(b->done, 0, b->n_sent * sizeof(*b->done));
	for (size_t i = 0, n = 0; i < b->n_sent; i += n) {
		struct err *first = r == 0 ? e : NULL;
		int s;

		n = 0;
		s = send_some(b, i, &n, first);
		if (s < 0 && r == 0)
			r = s;
		if (n == 0)
			break;
	}
	batch_clear(b);
	return r;
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
		ssize_t len = receive(nl);

		r = len < 0 ? (int)len :
			      take_answer(nl, len, fn, arg, &interrupted, &r_fn);
	}
	if (r < 0)
		return r;
	return interrupted ? -EINTR : r_fn;
}
