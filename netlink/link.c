// SPDX-License-Identifier: Apache-2.0
/*
 * link.c - see link.h.
 *
 * Owns: one rtnetlink socket for the length of a call. The message is built by hand
 * rather than from a dumped link: one request, one acknowledgement, no dump.
 */
#include "netlink/link.h"

#include <errno.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

/* The first device of every network namespace (include/net/flow.h, since 2.6.30). */
#define LOOPBACK_INDEX 1

/* libnl folds errnos into its own codes; the kernel's is what a person can look up. */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *answer, void *arg)
{
	int *ret_code = arg;

	(void)from;
	*ret_code = -answer->error;
	return NL_STOP;
}

static int code_of(int nl_result)
{
	if (nl_result == -NLE_NOMEM)
		return ENOMEM;
	return errno ? errno : EIO;
}

static int link_request_up(struct nl_sock *sock, int index)
{
	struct ifinfomsg link = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = index,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
	int code = 0, r;

	if (!msg)
		return -ENOMEM;
	errno = 0;
	r = nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, &code);
	if (r == 0)
		r = nlmsg_append(msg, &link, sizeof(link), NLMSG_ALIGNTO);
	if (r == 0)
		r = nl_send_auto(sock, msg);
	if (r >= 0)
		r = nl_wait_for_ack(sock);
	nlmsg_free(msg);
	if (code)
		return -code;
	return r < 0 ? -code_of(r) : 0;
}

int link_up_loopback(struct err *e)
{
	struct nl_sock *sock = nl_socket_alloc();
	int r;

	if (!sock)
		return err_set(e, STAGE_SANDBOX, ENOMEM, "allocate a netlink socket");
	errno = 0;
	r = nl_connect(sock, NETLINK_ROUTE);
	if (r < 0) {
		r = err_set(e, STAGE_SANDBOX, code_of(r), "open a netlink socket");
	} else {
		r = link_request_up(sock, LOOPBACK_INDEX);
		if (r < 0)
			r = err_set(e, STAGE_SANDBOX, -r, "set link lo up");
	}
	nl_socket_free(sock);
	return r;
}
