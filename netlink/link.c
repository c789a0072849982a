// SPDX-License-Identifier: Apache-2.0
/*
 * link.c - requests about links, see link.h; what there is is read by link_read.c.
 *
 * Owns: nothing. The messages are put together attribute by attribute rather than by
 * libnl's link objects: those name a link by index only and compare it with a dumped one.
 */
#include "netlink/link.h"

#include <errno.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nl.h"

/* The first device of every network namespace (include/net/flow.h, since 2.6.30). */
#define LOOPBACK_INDEX 1

#define MAKE           (NLM_F_CREATE | NLM_F_EXCL)

/* A message under construction: the first attribute that does not fit spoils it. */
struct draft {
	struct nl_msg *msg;
	bool bad;
};

static void put(struct draft *d, int type, const void *data, size_t len)
{
	d->bad = d->bad || nla_put(d->msg, type, (int)len, data) < 0;
}

static void put_u8(struct draft *d, int type, uint8_t v)
{
	put(d, type, &v, sizeof(v));
}

static void put_u16(struct draft *d, int type, uint16_t v)
{
	put(d, type, &v, sizeof(v));
}

static void put_u32(struct draft *d, int type, uint32_t v)
{
	put(d, type, &v, sizeof(v));
}

static void put_text(struct draft *d, int type, const char *text)
{
	put(d, type, text, strlen(text) + 1);
}

static struct nlattr *nest(struct draft *d, int type)
{
	struct nlattr *a = d->bad ? NULL : nla_nest_start(d->msg, type);

	d->bad = d->bad || !a;
	return a;
}

static void unnest(struct draft *d, struct nlattr *a)
{
	if (a)
		d->bad = d->bad || nla_nest_end_keep_empty(d->msg, a) < 0;
}

static struct draft draft_new(int type, int flags, const struct ifinfomsg *link)
{
	struct draft d = { .msg = nl_msg_new(type, flags, link, sizeof(*link)) };

	d.bad = !d.msg;
	return d;
}

/* Hands it over; NULL when it could not be built. */
static struct nl_msg *draft_end(struct draft *d)
{
	if (d->bad) {
		nlmsg_free(d->msg);
		d->msg = NULL;
	}
	return d->msg;
}

/* ---- new links ---- */

static void put_attrs(struct draft *d, const struct link_attrs *a)
{
	if (a->name)
		put_text(d, IFLA_IFNAME, a->name);
	if (a->mac)
		put(d, IFLA_ADDRESS, a->mac, MAC_BYTES);
	if (a->mtu)
		put_u32(d, IFLA_MTU, a->mtu);
	if (a->master)
		put_u32(d, IFLA_MASTER, (uint32_t)a->master);
	if (a->netns_fd > 0)
		put_u32(d, IFLA_NET_NS_FD, (uint32_t)a->netns_fd);
	if (a->parent)
		put_u32(d, IFLA_LINK, (uint32_t)a->parent);
	if (a->has_nsid)
		put_u32(d, IFLA_LINK_NETNSID, (uint32_t)a->parent_nsid);
}

static struct ifinfomsg header_of(const struct link_attrs *a)
{
	unsigned int up = a->up ? IFF_UP : 0;

	return (struct ifinfomsg){ .ifi_flags = up, .ifi_change = up };
}

struct new_link {
	struct draft d;
	struct nlattr *info, *data;
};

static struct new_link new_begin(const struct link_attrs *a, const char *kind)
{
	struct ifinfomsg link = header_of(a);
	struct new_link n = { .d = draft_new(RTM_NEWLINK, MAKE, &link) };

	if (n.d.bad)
		return n;
	put_attrs(&n.d, a);
	n.info = nest(&n.d, IFLA_LINKINFO);
	put_text(&n.d, IFLA_INFO_KIND, kind);
	n.data = nest(&n.d, IFLA_INFO_DATA);
	return n;
}

static void new_end(struct new_link *n, struct nl_batch *b, const struct link_attrs *a,
		    const char *kind)
{
	unnest(&n->d, n->data);
	unnest(&n->d, n->info);
	if (nl_batch_add(b, draft_end(&n->d), 0, "make %s %s", kind,
			 a->name ? a->name : "link") == 0)
		nl_batch_module(b, kind);
}

void link_add_veth(struct nl_batch *b, const struct link_attrs *host,
		   const struct link_attrs *peer)
{
	struct new_link n = new_begin(host, "veth");
	struct ifinfomsg link = header_of(peer);
	struct nlattr *other = nest(&n.d, VETH_INFO_PEER);

	if (other) {
		n.d.bad = nlmsg_append(n.d.msg, &link, sizeof(link), NLMSG_ALIGNTO) < 0;
		put_attrs(&n.d, peer);
	}
	unnest(&n.d, other);
	new_end(&n, b, host, "veth");
}

void link_add_bridge(struct nl_batch *b, const struct link_attrs *a)
{
	struct new_link n = new_begin(a, "bridge");

	if (!n.d.bad) {
		put_u32(&n.d, IFLA_BR_STP_STATE, 0);
		put_u32(&n.d, IFLA_BR_FORWARD_DELAY, 0);
	}
	new_end(&n, b, a, "bridge");
}

void link_add_macvlan(struct nl_batch *b, const struct link_attrs *a, uint32_t mode)
{
	struct new_link n = new_begin(a, "macvlan");

	if (!n.d.bad)
		put_u32(&n.d, IFLA_MACVLAN_MODE, mode);
	new_end(&n, b, a, "macvlan");
}

void link_add_ipvlan(struct nl_batch *b, const struct link_attrs *a, uint16_t mode)
{
	struct new_link n = new_begin(a, "ipvlan");

	if (!n.d.bad)
		put_u16(&n.d, IFLA_IPVLAN_MODE, mode);
	new_end(&n, b, a, "ipvlan");
}

void link_add_vlan(struct nl_batch *b, const struct link_attrs *a, uint16_t id)
{
	struct new_link n = new_begin(a, "vlan");

	if (!n.d.bad)
		put_u16(&n.d, IFLA_VLAN_ID, id);
	new_end(&n, b, a, "vlan");
	nl_batch_module(b, "8021q");
}

void link_add_bond(struct nl_batch *b, const struct link_attrs *a,
		   const struct link_bond *bond)
{
	struct new_link n = new_begin(a, "bond");

	if (!n.d.bad) {
		put_u8(&n.d, IFLA_BOND_MODE, bond->mode);
		if (bond->miimon_ms)
			put_u32(&n.d, IFLA_BOND_MIIMON, bond->miimon_ms);
		if (bond->primary)
			put_u32(&n.d, IFLA_BOND_PRIMARY, (uint32_t)bond->primary);
	}
	new_end(&n, b, a, "bond");
	nl_batch_module(b, "bonding");
}

/* ---- changes ---- */

static struct draft change(int type, int index, const char *name, unsigned int flags,
			   unsigned int mask)
{
	struct ifinfomsg link = { .ifi_index = index,
				  .ifi_flags = flags,
				  .ifi_change = mask };
	struct draft d = draft_new(type, 0, &link);

	if (!d.bad && index == 0)
		put_text(&d, IFLA_IFNAME, name);
	return d;
}

void link_set_up(struct nl_batch *b, int index, const char *name)
{
	struct draft d = change(RTM_NEWLINK, index, name, IFF_UP, IFF_UP);

	(void)nl_batch_add(b, draft_end(&d), 0, "set link %s up", name);
}

void link_set_down(struct nl_batch *b, int index, const char *name)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, IFF_UP);

	(void)nl_batch_add(b, draft_end(&d), 0, "set link %s down", name);
}

static void set_one(struct nl_batch *b, int index, const char *name, int type,
		    const void *data, size_t len, const char *what)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, 0);

	if (!d.bad)
		put(&d, type, data, len);
	(void)nl_batch_add(b, draft_end(&d), 0, "set the %s of %s", what, name);
}

void link_set_mtu(struct nl_batch *b, int index, const char *name, uint32_t mtu)
{
	set_one(b, index, name, IFLA_MTU, &mtu, sizeof(mtu), "mtu");
}

void link_set_mac(struct nl_batch *b, int index, const char *name,
		  const uint8_t mac[static MAC_BYTES])
{
	set_one(b, index, name, IFLA_ADDRESS, mac, MAC_BYTES, "MAC address");
}

void link_set_master(struct nl_batch *b, int index, const char *name, int master)
{
	set_one(b, index, name, IFLA_MASTER, &master, sizeof(master), "master");
}

void link_set_alias(struct nl_batch *b, int index, const char *name, const char *alias)
{
	/* Without its NUL: a length of 0 is what takes an alias away. */
	set_one(b, index, name, IFLA_IFALIAS, alias, strlen(alias), "alias");
}

/* A message that has IFLA_IFNAME as the new name must say which link by index. */
void link_set_name(struct nl_batch *b, int index, const char *name, const char *new_name)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, 0);

	if (!d.bad)
		put_text(&d, IFLA_IFNAME, new_name);
	if (nl_batch_add(b, draft_end(&d), 0, "rename %s to %s", name, new_name) == 0 &&
	    index == 0)
		nl_batch_fail(b, EINVAL);
}

void link_set_netns(struct nl_batch *b, int index, const char *name, int netns_fd,
		    const char *new_name)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, 0);

	if (!d.bad) {
		put_u32(&d, IFLA_NET_NS_FD, (uint32_t)netns_fd);
		if (new_name)
			put_text(&d, IFLA_IFNAME, new_name);
	}
	if (nl_batch_add(b, draft_end(&d), 0, "move %s to another namespace as %s", name,
			 new_name ? new_name : name) == 0 &&
	    index == 0 && new_name)
		nl_batch_fail(b, EINVAL);
}

void link_set_no_addrgen(struct nl_batch *b, int index, const char *name)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, 0);
	struct nlattr *spec = nest(&d, IFLA_AF_SPEC);
	struct nlattr *inet6 = nest(&d, AF_INET6);

	if (!d.bad)
		put_u8(&d, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	unnest(&d, inet6);
	unnest(&d, spec);
	(void)nl_batch_add(b, draft_end(&d), 0, "set link %s to no address of its own",
			   name);
}

static void set_bridge(struct nl_batch *b, int index, const char *name, int type)
{
	struct draft d = change(RTM_NEWLINK, index, name, 0, 0);
	struct nlattr *info = nest(&d, IFLA_LINKINFO), *data;

	if (!d.bad)
		put_text(&d, IFLA_INFO_KIND, "bridge");
	data = nest(&d, IFLA_INFO_DATA);
	if (!d.bad)
		put_u32(&d, type, 0);
	unnest(&d, data);
	unnest(&d, info);
	(void)nl_batch_add(b, draft_end(&d), 0, "set up bridge %s", name);
}

/* One after the other: a delay of 0 is out of range while there is a spanning tree, and
 * the kernel takes the delay first (br_changelink()). */
void link_set_bridge(struct nl_batch *b, int index, const char *name)
{
	set_bridge(b, index, name, IFLA_BR_STP_STATE);
	set_bridge(b, index, name, IFLA_BR_FORWARD_DELAY);
}

void link_delete(struct nl_batch *b, int index, const char *name)
{
	struct draft d = change(RTM_DELLINK, index, name, 0, 0);

	(void)nl_batch_add(b, draft_end(&d), 0, "delete link %s", name);
}

int link_up_loopback(struct err *e)
{
	struct nl *nl = NULL;
	struct nl_batch *b = NULL;
	int r = nl_open(&nl, e);

	if (r < 0)
		return r;
	r = nl_batch_new(nl, &b);
	if (r < 0) {
		r = err_set(e, STAGE_SANDBOX, -r, "set link lo up");
	} else {
		link_set_up(b, LOOPBACK_INDEX, "lo");
		r = nl_batch_send(b, e);
	}
	nl_batch_free(b);
	nl_disconnect(nl);
	return r;
}
