// SPDX-License-Identifier: Apache-2.0
/*
 * plan.h - the interfaces of one network namespace: made, checked, repaired, removed.
 *
 * Owns: nothing; a struct net_plan is one block without pointers, so that a child that is
 * forked with it, or a later PID 1, can use it as it is.
 * Called by: pod's helper children (sandbox, clean-up, check), never by PID 1's loop:
 * every function here talks to the kernel and may wait for the rtnl lock.
 * Knows links, addresses and routes; does not know pods.
 */
#ifndef NETLINK_PLAN_H
#define NETLINK_PLAN_H

#include "base/err.h"
#include "base/inet.h"

struct nl;

#define NET_NAME_BYTES   16 /* IFNAMSIZ */
#define NET_IFS_MAX      8  /* interfaces of one pod, without lo */
#define NET_ADDRS_MAX    4  /* of one interface */
/* A bridge has at most 1,023 ports (BR_MAX_PORTS, net/bridge/br_private.h). Slot n is a
 * port of bridge n / NET_BRIDGE_PORTS: "pod0", then "pod0.1", ... each joined to the
 * first by a veth pair, so that all are one segment. */
#define NET_BRIDGE_PORTS 1000
/* A pod's namespace has the nsid `slot`, or, while the kernel still clears one away that
 * had it, NET_NSID_SPARE + slot. */
#define NET_NSID_SPARE   0x40000000

static inline uint32_t net_slot_of_nsid(int32_t nsid)
{
	return (uint32_t)nsid & (NET_NSID_SPARE - 1);
}

enum net_kind {
	NET_VETH,    /* veth pair, its host side a port of bridge `parent` */
	NET_MACVLAN, /* on NIC `parent` */
	NET_IPVLAN,  /* on NIC `parent` */
	NET_DEVICE,  /* NIC `parent` itself is moved in, and back at the end */
	NET_KIND_MAX
};

enum net_mode { /* NET_MACVLAN: bridge (default), private, vepa, passthru; NET_IPVLAN: l2
		   (default), l3, l3s */
		NET_MODE_DEFAULT,
		NET_MODE_BRIDGE,
		NET_MODE_PRIVATE,
		NET_MODE_VEPA,
		NET_MODE_PASSTHRU,
		NET_MODE_L2,
		NET_MODE_L3,
		NET_MODE_L3S,
		NET_MODE_MAX
};

struct net_if {
	enum net_kind kind;
	enum net_mode mode;
	char name[NET_NAME_BYTES];      /* in the pod: "eth0", "net1", ... */
	char host_name[NET_NAME_BYTES]; /* NET_VETH: the machine's side */
	char parent[NET_NAME_BYTES];
	bool make_parent; /* NET_VETH: a bridge that is not there is made; it stays */
	bool has_mac;
	uint8_t mac[MAC_BYTES];
	uint32_t mtu; /* 0 = the parent's */
	size_t n_addrs;
	struct inet addrs[NET_ADDRS_MAX];
	struct inet gateway4, gateway6;     /* family 0 = no default route here */
	uint64_t egress_bits, ingress_bits; /* a second, from the pod and to it; 0 = no
					       limit. Ingress: NET_VETH only */
};

struct net_plan {
	uint32_t slot; /* the pod's number on this machine: also its nsid */
	size_t n_ifs;  /* at most NET_IFS_MAX */
	struct net_if ifs[];
};

/* The machine's side: bridge "pod0" with the gateways' addresses, forwarding
 * on. */
struct net_machine {
	char bridge[NET_NAME_BYTES];
	uint32_t mtu;                   /* 0 = 1500 */
	struct inet gateway4, gateway6; /* with the pod range's prefix; family 0 = none */
};

/* Makes it or brings what is there into this shape (an earlier life of podinit); called
 * with the caller in the machine's namespace. 0 or -errno: e names object and errno, and
 * a missing kernel module as such (EOPNOTSUPP from RTM_NEWLINK). */
int net_machine_apply(const struct net_machine *m, struct err *e);

/*
 * machine: a connection opened in the machine's namespace; pod: one opened in the pod's;
 * netns_fd: the pod's namespace. Messages go out in batches (one sendmsg(2) a batch, all
 * acknowledgements read). Sets lo up; makes the interfaces with their addresses (nodad),
 * routes, limits; gives the namespace the nsid `slot` (see NET_NSID_SPARE) in the
 * machine's, so that netlink/monitor.h can tell whose event it hears. IPv6 is left out
 * when the kernel has none and there is IPv4, else -EAFNOSUPPORT. A veth of a host_name
 * that is there already is replaced: it is of a child that was killed half way. A failed
 * step undoes what was done here, and e names object and errno. 0 or -errno.
 */
int net_plan_apply(const struct net_plan *plan, const struct net_machine *m,
		   struct nl *machine, struct nl *pod, int netns_fd, struct err *e);

/* Takes all of it away: host sides deleted, NICs moved back under their own names. What
 * is gone already is no error. pod NULL: the namespace is gone. machine_fd: the
 * namespace NICs go back to. */
int net_plan_remove(const struct net_plan *plan, struct nl *machine, struct nl *pod,
		    int machine_fd, struct err *e);

/*
 * Compares with the kernel, in this order: lo and every link there and up, its host side
 * a port of its bridge, its addresses, its default routes; the pods' own bridge with its
 * addresses. What somebody added is none of its business. 0; or, with e naming the first
 * object that is wrong ("eth0 has no address 10.88.0.2/16"), -ENODEV (a link), -ENETDOWN
 * (down, or no port of its bridge), -EADDRNOTAVAIL, -ENETUNREACH (a route); or another
 * -errno when the kernel cannot be asked.
 */
int net_plan_check(const struct net_plan *plan, const struct net_machine *m,
		   struct nl *machine, struct nl *pod, struct err *e);

/* Puts back what net_plan_check() finds missing; an interface that is gone is made anew.
 * Does not touch what is as planned: running connections go on. 0 or -errno with e. */
int net_plan_repair(const struct net_plan *plan, const struct net_machine *m,
		    struct nl *machine, struct nl *pod, int netns_fd, struct err *e);

#endif
