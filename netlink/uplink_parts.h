// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_parts.h - what the uplink_*.c files share; private to them.
 */
#ifndef NETLINK_UPLINK_PARTS_H
#define NETLINK_UPLINK_PARTS_H

#include "config/machine.h"
#include "netlink/uplink.h"

#define UPLINK_ROUTES_MAX 16

struct uplink_route {
	struct inet to, gateway; /* gateway family 0 = on the link */
};

/* What an interface is to have; from machine.json, ip=, or a lease. */
struct uplink_settings {
	uint32_t mtu; /* 0 = as it is */
	size_t n_addrs;
	struct inet addrs[UPLINK_ADDRS_MAX];
	struct inet gateway[2]; /* IPv4, IPv6 */
	size_t n_routes;
	struct uplink_route routes[UPLINK_ROUTES_MAX]; /* beside the default ones */
	size_t n_servers;
	struct inet servers[UPLINK_SERVERS_MAX];
	char search[UPLINK_SEARCH_BYTES];
	uint32_t lease_seconds; /* 0 = for ever */
};

/* ---- uplink_match.c ---- */

/* The first interface that fits, by index, as sysfs has it; class_dir: "/sys/class/net".
 * A match by name alone asks the kernel: it needs no sysfs of this namespace. 0, -ENOENT
 * or another -errno. */
int uplink_match_find(const struct machine_match *match, const char *class_dir,
		      char ret[static 16]);

/* ---- uplink_ip.c ---- */

/* The text after "ip=" (Documentation/admin-guide/nfs/nfsroot.rst). 0; -EINVAL with e.
 * *ret_mode: none, static or dhcp; device "" = any. */
struct uplink_ip {
	enum uplink_mode mode;
	char device[16], hostname[65];
	struct uplink_settings settings;
};
int uplink_ip_parse(const char *text, struct uplink_ip *ret, struct err *e);

/* ---- uplink_lease.c ---- */

enum lease_event { LEASE_BOUND, LEASE_RENEW, LEASE_DECONFIG, LEASE_FAIL, LEASE_NAK };

#define UPLINK_LEASE_SOCKET "/run/podinit/lease.sock"

/* A message of our script: "event=bound\nip=...\n". The server is not trusted: what is
 * malformed is left out, and without a usable address there is no lease. 0 or -EINVAL. */
int uplink_lease_parse(char *text, enum lease_event *ret_event,
		       struct uplink_settings *ret);

/* ---- uplink_job.c ---- */

/* Runs in a child. Makes bond and VLAN, sets the link up, replaces what an earlier job of
 * ours gave it. */
struct uplink_job {
	char nic[16];  /* the NIC, or the bond's name */
	char link[16]; /* what gets the addresses: nic, or the VLAN on it */
	int64_t vlan_id;
	const char *bond_mode; /* NULL = no bond */
	size_t n_ports;
	char ports[MACHINE_BOND_PORTS][16];
	uint32_t mtu;
	bool addresses; /* false: links only */
	struct uplink_settings settings, old;
};
int uplink_job_run(void *job);

#endif
