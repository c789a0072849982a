// SPDX-License-Identifier: Apache-2.0
/*
 * link.h - links: requests that make, change, move and delete them, and what one is.
 *
 * Owns: nothing. Called by: the files of this room, in helper children; init for the
 * machine's loopback. The link_add_*(), link_set_*() functions append one message each to
 * a batch and fail only with it (nl_batch_send()): out of memory, or a name too long.
 * A link is named by its index, or by its name when index is 0; the name is also what an
 * error will say, and is borrowed for the length of the call only.
 */
#ifndef NETLINK_LINK_H
#define NETLINK_LINK_H

#include "base/err.h"
#include "base/inet.h"

struct nl;
struct nl_batch;

#define LINK_NAME_BYTES  16  /* IFNAMSIZ */
#define LINK_ALIAS_BYTES 256 /* IFALIASZ */

/* Sets "lo" up (the kernel then gives it 127.0.0.1/8 and ::1). 0 or -errno with the
 * object and errno in e (may be NULL). Talks to the kernel synchronously; rtnetlink
 * answers at once. */
int link_up_loopback(struct err *e);

/* What a link is made with. A zeroed field leaves it to the kernel. */
struct link_attrs {
	const char *name;
	const uint8_t *mac; /* MAC_BYTES */
	uint32_t mtu;
	int master;    /* index of a bridge or bond */
	int netns_fd;  /* > 0: made in that namespace */
	int parent;    /* index: macvlan, ipvlan, vlan */
	bool has_nsid; /* parent is in the namespace parent_nsid of the connection's */
	int parent_nsid;
	bool up;
};

struct link_bond {
	uint8_t mode;       /* BOND_MODE_*, linux/if_bonding.h */
	uint32_t miimon_ms; /* 0 = the driver's own */
	int primary;        /* index, 0 = none */
};

/* One RTM_NEWLINK makes both ends; peer->netns_fd puts the other one elsewhere. */
void link_add_veth(struct nl_batch *b, const struct link_attrs *host,
		   const struct link_attrs *peer);
/* No spanning tree, forward delay 0: a port forwards at once. */
void link_add_bridge(struct nl_batch *b, const struct link_attrs *a);
void link_add_macvlan(struct nl_batch *b, const struct link_attrs *a, uint32_t mode);
void link_add_ipvlan(struct nl_batch *b, const struct link_attrs *a, uint16_t mode);
void link_add_vlan(struct nl_batch *b, const struct link_attrs *a, uint16_t id);
void link_add_bond(struct nl_batch *b, const struct link_attrs *a,
		   const struct link_bond *bond);

void link_set_up(struct nl_batch *b, int index, const char *name);
void link_set_down(struct nl_batch *b, int index, const char *name);
void link_set_mtu(struct nl_batch *b, int index, const char *name, uint32_t mtu);
void link_set_mac(struct nl_batch *b, int index, const char *name,
		  const uint8_t mac[static MAC_BYTES]);
/* master 0: out of its bridge or bond. A port of a bond must be down. */
void link_set_master(struct nl_batch *b, int index, const char *name, int master);
/* Text of up to 255 bytes that the kernel keeps with the link; "" takes it away. */
void link_set_alias(struct nl_batch *b, int index, const char *name, const char *alias);
/* Older kernels want the link down (before 6.2, without IFF_LIVE_RENAME_OK). */
void link_set_name(struct nl_batch *b, int index, const char *name, const char *new_name);
/* To another namespace, where it is called new_name (NULL: as it is). It arrives down and
 * without addresses. */
void link_set_netns(struct nl_batch *b, int index, const char *name, int netns_fd,
		    const char *new_name);
/* No fe80:: of its own (a port of a bridge needs none): takes effect when set before the
 * link is up. -EAFNOSUPPORT without IPv6. */
void link_set_no_addrgen(struct nl_batch *b, int index, const char *name);
/* A bridge as link_add_bridge() would have made it. */
void link_set_bridge(struct nl_batch *b, int index, const char *name);
void link_delete(struct nl_batch *b, int index, const char *name);

/* What there is. */
struct link_info {
	int index;
	unsigned int flags; /* IFF_* */
	uint8_t operstate;  /* IF_OPER_* (RFC 2863), linux/if.h */
	uint32_t mtu;
	int master;   /* index, 0 = none */
	int parent;   /* IFLA_LINK, 0 = none */
	int32_t nsid; /* of parent; -1 = the same namespace */
	bool has_mac; /* Ethernet-like: 6 bytes */
	uint8_t mac[MAC_BYTES];
	char name[LINK_NAME_BYTES];
	char kind[16]; /* "veth", "bridge", ...; "" = hardware */
	char alias[LINK_ALIAS_BYTES];
	struct link_counters {
		uint64_t rx_bytes, rx_packets, rx_errors, rx_dropped;
		uint64_t tx_bytes, tx_packets, tx_errors, tx_dropped;
	} counters; /* since it was made */
};

/* By index, or by name when index is 0. 0, -ENODEV or another -errno. */
int link_get(struct nl *nl, int index, const char *name, struct link_info *ret);
/* All links of the connection's namespace. fn returns 0 or -errno, which ends it. An
 * interrupted dump is taken again: fn then sees links twice. */
typedef int (*link_fn)(void *arg, const struct link_info *link);
int link_each(struct nl *nl, link_fn fn, void *arg);

#endif
