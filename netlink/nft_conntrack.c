// SPDX-License-Identifier: Apache-2.0
/*
 * nft_conntrack.c - UDP flows that the kernel would go on sending to the wrong pod.
 *
 * Owns: one ctnetlink socket for the length of a call. Called by: nft_main.c after the
 * transaction, when it changed UDP ports. Asks for the table of each family and deletes
 * by tuple and id (the id keeps a flow safe that took the tuple in the meantime).
 * Best effort: without nf_conntrack_netlink the flows end by their own time (30 to 120 s
 * of silence, Documentation/networking/nf_conntrack-sysctl.rst).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nft_job.h"

/* What a dump fills at most at once (NETLINK_MAX_RECVMSG_SIZE, net/netlink). */
#define DUMP_BYTES 32768

struct tuple {
	struct inet source, destination;
	uint8_t protocol;
	uint16_t source_port, destination_port;
};

struct flow {
	struct tuple there, back;
	uint32_t status, id;
	const struct nlattr *wire, *zone; /* CTA_TUPLE_ORIG as it came */
};

struct sweep {
	const struct nft_job *job;
	struct ifaddrs *own;
	struct buf deletes;
	uint32_t seq;
};

static void read_address(const struct nlattr *attr, struct inet *ret)
{
	size_t len = mnl_attr_get_payload_len(attr);

	if (len != 4 && len != 16)
		return;
	ret->family = len == 4 ? AF_INET : AF_INET6;
	ret->prefix = (unsigned int)len * 8;
	memcpy(ret->bytes, mnl_attr_get_payload(attr), len);
}

static void read_tuple(const struct nlattr *tuple, struct tuple *ret)
{
	const struct nlattr *part, *attr;

	mnl_attr_for_each_nested(part, tuple)
	{
		uint16_t kind = mnl_attr_get_type(part);

		if (kind != CTA_TUPLE_IP && kind != CTA_TUPLE_PROTO)
			continue;
		mnl_attr_for_each_nested(attr, part)
		{
			uint16_t type = mnl_attr_get_type(attr);
			size_t len = mnl_attr_get_payload_len(attr);

			if (kind == CTA_TUPLE_IP) {
				bool source = type == CTA_IP_V4_SRC ||
					      type == CTA_IP_V6_SRC;

				read_address(attr,
					     source ? &ret->source : &ret->destination);
			} else if (type == CTA_PROTO_NUM && len >= 1) {
				ret->protocol = mnl_attr_get_u8(attr);
			} else if (type == CTA_PROTO_SRC_PORT && len >= 2) {
				ret->source_port = ntohs(mnl_attr_get_u16(attr));
			} else if (type == CTA_PROTO_DST_PORT && len >= 2) {
				ret->destination_port = ntohs(mnl_attr_get_u16(attr));
			}
		}
	}
}

static void read_flow(const struct nlmsghdr *nlh, struct flow *ret)
{
	const struct nlattr *attr;

	memset(ret, 0, sizeof(*ret));
	mnl_attr_for_each(attr, nlh, sizeof(struct nfgenmsg))
	{
		switch (mnl_attr_get_type(attr)) {
		case CTA_TUPLE_ORIG:
			ret->wire = attr;
			read_tuple(attr, &ret->there);
			break;
		case CTA_TUPLE_REPLY:
			read_tuple(attr, &ret->back);
			break;
		case CTA_STATUS:
			ret->status = ntohl(mnl_attr_get_u32(attr));
			break;
		case CTA_ID:
			ret->id = mnl_attr_get_u32(attr);
			break;
		case CTA_ZONE:
			ret->zone = attr;
			break;
		default:
			break;
		}
	}
}

static bool is_own(const struct sweep *s, const struct inet *a)
{
	for (const struct ifaddrs *i = s->own; i; i = i->ifa_next) {
		const struct sockaddr *address = i->ifa_addr;
		const void *bytes;

		if (!address || address->sa_family != a->family)
			continue;
		if (a->family == AF_INET)
			bytes = &((const struct sockaddr_in *)(const void *)address)
					 ->sin_addr;
		else
			bytes = &((const struct sockaddr_in6 *)(const void *)address)
					 ->sin6_addr;
		if (memcmp(bytes, a->bytes, inet_length(a)) == 0)
			return true;
	}
	return a->family == AF_INET && a->bytes[0] == IN_LOOPBACKNET;
}

static bool goes_to(const struct flow *f, const struct nft_port *port)
{
	return inet_same(&f->back.source, &port->pod) &&
	       f->back.source_port == port->pod_port;
}

static bool concerns(const struct flow *f, const struct nft_port *port)
{
	return port->protocol == NFT_UDP &&
	       port->host_port == f->there.destination_port &&
	       port->pod.family == f->there.destination.family &&
	       (!port->host.family || inet_same(&port->host, &f->there.destination));
}

/* Which entry of a list would win for the flow: that with the host's address. */
static const struct nft_op *op_of(const struct nft_job *job, const struct flow *f)
{
	const struct nft_op *found = NULL;

	for (size_t i = 0; i < job->n_ops; i++) {
		const struct nft_op *op = &job->ops[i];

		if (op->remove || !concerns(f, &op->port))
			continue;
		if (!found || op->port.host.family || !found->port.host.family)
			found = op;
	}
	return found;
}

static bool was_removed(const struct nft_job *job, const struct flow *f)
{
	for (size_t i = 0; i < job->n_ops; i++) {
		const struct nft_op *op = &job->ops[i];

		if (op->remove && concerns(f, &op->port) && goes_to(f, &op->port))
			return true;
	}
	return false;
}

static bool in_ranges(const struct nft_base *base, const struct inet *a)
{
	return inet_contains(&base->range4, a) || inet_contains(&base->range6, a);
}

static bool is_stale(const struct sweep *s, const struct flow *f)
{
	const struct nft_job *job = s->job;
	const struct nft_op *op;
	bool translated = f->status & IPS_DST_NAT;

	if (f->there.protocol != IPPROTO_UDP || !f->wire)
		return false;
	op = op_of(job, f);
	if (op)
		return !goes_to(f, &op->port) && is_own(s, &f->there.destination);
	if (job->start == NFT_RESET)
		return translated && in_ranges(&job->base, &f->back.source);
	return translated && was_removed(job, f);
}

static int take_flow(const struct nlmsghdr *nlh, void *arg)
{
	struct sweep *s = arg;
	struct nlmsghdr *out;
	struct nfgenmsg *nfg;
	struct flow f;
	char *room;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*nfg))
		return MNL_CB_OK;
	read_flow(nlh, &f);
	if (!is_stale(s, &f))
		return MNL_CB_OK;
	room = buf_reserve(&s->deletes, MNL_SOCKET_BUFFER_SIZE);
	if (!room)
		nft_no_memory();
	out = mnl_nlmsg_put_header(room);
	out->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE;
	out->nlmsg_flags = NLM_F_REQUEST;
	out->nlmsg_seq = ++s->seq;
	nfg = mnl_nlmsg_put_extra_header(out, sizeof(*nfg));
	nfg->nfgen_family = (uint8_t)f.there.destination.family;
	nfg->version = NFNETLINK_V0;
	mnl_attr_put(out, CTA_TUPLE_ORIG | NLA_F_NESTED, mnl_attr_get_payload_len(f.wire),
		     mnl_attr_get_payload(f.wire));
	mnl_attr_put_u32(out, CTA_ID, f.id);
	if (f.zone)
		mnl_attr_put_u16(out, CTA_ZONE, mnl_attr_get_u16(f.zone));
	buf_commit(&s->deletes, out->nlmsg_len);
	return MNL_CB_OK;
}

static int dump(struct mnl_socket *socket, uint8_t family, struct sweep *s)
{
	char data[DUMP_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(data);
	struct nfgenmsg *nfg;
	uint32_t seq = ++s->seq;
	ssize_t len;
	int r = MNL_CB_OK;

	nlh->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = seq;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	nfg->version = NFNETLINK_V0;
	if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (r == MNL_CB_OK) {
		len = mnl_socket_recvfrom(socket, data, sizeof(data));
		if (len < 0)
			return -errno;
		r = mnl_cb_run(data, (size_t)len, seq, mnl_socket_get_portid(socket),
			       take_flow, s);
	}
	return r < 0 ? -errno : 0;
}

/* One message at a time: only nftables works batches off. A flow that is gone by itself
 * is answered with ENOENT, which nobody reads. */
static int send_deletes(struct mnl_socket *socket, struct sweep *s)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(void *)buf_head(&s->deletes);
	int rest = (int)s->deletes.len;

	for (; rest > 0 && mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest))
		if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
			return -errno;
	return 0;
}

static bool has_udp(const struct nft_job *job)
{
	for (size_t i = 0; i < job->n_ops; i++)
		if (job->ops[i].port.protocol == NFT_UDP)
			return true;
	return false;
}

int nft_forget_flows(const struct nft_job *job, struct err *e)
{
	struct sweep s = { .job = job };
	struct mnl_socket *socket;
	int r = 0;

	if (job->is_filter || job->start == NFT_DROP ||
	    (job->start == NFT_AS_IS && !has_udp(job)))
		return 0;
	socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!socket)
		return err_set(e, STAGE_SANDBOX, errno, "open a socket to conntrack");
	buf_init(&s.deletes, 64u << 20);
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 || getifaddrs(&s.own) < 0)
		r = -errno;
	if (r == 0)
		r = dump(socket, AF_INET, &s);
	if (r == 0)
		r = dump(socket, AF_INET6, &s);
	if (r == 0)
		r = send_deletes(socket, &s);
	buf_free(&s.deletes);
	freeifaddrs(s.own);
	(void)mnl_socket_close(socket);
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "forget UDP flows of changed ports");
	return 0;
}
