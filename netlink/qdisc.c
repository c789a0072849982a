// SPDX-License-Identifier: Apache-2.0
/*
 * qdisc.c - see qdisc.h.
 *
 * Owns: nothing. The token bucket comes from libnl-route, which knows the scheduler's
 * clock (/proc/net/psched) and the rate table that the kernel still wants to see.
 */
#include "netlink/qdisc.h"

#include <errno.h>
#include <limits.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>
#include <string.h>

#include "netlink/nl.h"

#define BURST_PER_SECOND 100 /* 10 ms: the longest timer tick (CONFIG_HZ=100) */
#define BURST_PACKETS    10  /* a slow link still takes a window's first packets */
#define LIMIT_PER_SECOND 20  /* 50 ms of waiting before a packet is dropped */
#define ETHERNET_MTU     1500
#define FRAME_BYTES      18 /* Ethernet header and a VLAN tag beyond the MTU */
#define RATE_CELL_BYTES  8  /* 256 cells of the rate table cover 2 KiB, as in tc(8) */

uint32_t qdisc_burst_bytes(uint64_t rate_bits, uint32_t mtu)
{
	uint64_t burst = rate_bits / 8 / BURST_PER_SECOND;
	uint64_t least = (uint64_t)BURST_PACKETS *
			 ((mtu ? mtu : ETHERNET_MTU) + FRAME_BYTES);

	return (uint32_t)MIN(MAX(burst, least), (uint64_t)INT_MAX / 2);
}

uint32_t qdisc_limit_bytes(uint64_t rate_bits, uint32_t burst_bytes)
{
	uint64_t limit = rate_bits / 8 / LIMIT_PER_SECOND + burst_bytes;

	return (uint32_t)MIN(limit, (uint64_t)INT_MAX);
}

static struct nl_msg *limit_msg(int index, uint64_t rate_bits, uint32_t mtu)
{
	struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();
	uint32_t burst = qdisc_burst_bytes(rate_bits, mtu);
	struct nl_msg *msg = NULL;

	if (!qdisc)
		return NULL;
	rtnl_tc_set_ifindex(TC_CAST(qdisc), index);
	rtnl_tc_set_parent(TC_CAST(qdisc), TC_H_ROOT);
	if (rtnl_tc_set_kind(TC_CAST(qdisc), "tbf") == 0) {
		rtnl_qdisc_tbf_set_rate(qdisc, (int)(rate_bits / 8), (int)burst,
					RATE_CELL_BYTES);
		rtnl_qdisc_tbf_set_limit(qdisc, (int)qdisc_limit_bytes(rate_bits, burst));
		if (rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE | NLM_F_REPLACE,
						 &msg) < 0)
			msg = NULL;
	}
	rtnl_qdisc_put(qdisc);
	return msg;
}

void qdisc_add_limit(struct nl_batch *b, int index, const char *link, uint64_t rate_bits,
		     uint32_t mtu)
{
	/* libnl-route 3.7 knows no 64-bit rate; 17 Gbit/s is the end of what it can say.
	 */
	if (rate_bits / 8 > INT_MAX || rate_bits < 8) {
		nl_batch_fail(b, ERANGE);
		return;
	}
	(void)nl_batch_add(b, limit_msg(index, rate_bits, mtu), 0,
			   "limit %s to %llu bit/s (qdisc tbf)", link,
			   (unsigned long long)rate_bits);
	/* qdisc_create(): a kind that is unknown and cannot be loaded. */
	nl_batch_missing(b, ENOENT, "sch_tbf");
}

struct reader {
	qdisc_limit_fn fn;
	void *arg;
};

static int on_qdisc(void *arg, const struct nlmsghdr *answer)
{
	const struct reader *reader = arg;
	const struct tcmsg *header = NLMSG_DATA(answer);
	struct nlattr *tb[TCA_MAX + 1], *tbf[TCA_TBF_MAX + 1];
	struct tc_tbf_qopt parms;

	if (answer->nlmsg_type != RTM_NEWQDISC ||
	    answer->nlmsg_len < NLMSG_LENGTH(sizeof(*header)) ||
	    header->tcm_parent != TC_H_ROOT ||
	    nlmsg_parse((struct nlmsghdr *)answer, sizeof(*header), tb, TCA_MAX, NULL) <
		    0 ||
	    !tb[TCA_KIND] || strncmp(nla_data(tb[TCA_KIND]), "tbf", 4) != 0 ||
	    !tb[TCA_OPTIONS] ||
	    nla_parse_nested(tbf, TCA_TBF_MAX, tb[TCA_OPTIONS], NULL) < 0 ||
	    !tbf[TCA_TBF_PARMS] || (size_t)nla_len(tbf[TCA_TBF_PARMS]) < sizeof(parms))
		return 0;
	memcpy(&parms, nla_data(tbf[TCA_TBF_PARMS]), sizeof(parms));
	return reader->fn(reader->arg, header->tcm_ifindex,
			  (uint64_t)parms.rate.rate * 8);
}

int qdisc_each_limit(struct nl *nl, qdisc_limit_fn fn, void *arg)
{
	struct tcmsg header = { 0 };
	struct reader reader = { fn, arg };
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < NL_DUMPS_MAX; i++)
		r = nl_query(
			nl, nl_msg_new(RTM_GETQDISC, NLM_F_DUMP, &header, sizeof(header)),
			on_qdisc, &reader);
	return r;
}
