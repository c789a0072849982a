// SPDX-License-Identifier: Apache-2.0
/*
 * nl_batch.c - the batches of nl.h: many requests by one sendmsg(2), all answers read.
 *
 * Owns: a batch's messages until they are sent.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nl_parts.h"

/* The answers of one sendmsg(2) are all queued before the first can be read, about 1 KiB
 * of the receive buffer each; the requests have to fit into the send buffer. */
#define SEND_MESSAGES_MAX 64
#define SEND_BYTES_MAX    (32 * 1024)
#define WHAT_BYTES        112

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
	/* The kernel acknowledges what is no request, and does nothing. */
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
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
		ssize_t len = nl_receive(b->nl);
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
