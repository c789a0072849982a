// SPDX-License-Identifier: Apache-2.0
/*
 * uplink.h - the machine's way out: found, configured, watched.
 *
 * Owns: what is known of the interface and what comes next, the DHCP client's process.
 * Called by: init at boot; then the loop (rtnetlink events through netlink/monitor.h,
 * child ends, one deadline timer). Never blocks: requests to the kernel go out from a
 * child with a deadline.
 *
 * Modes: static (addresses and gateways of machine.json), dhcp (busybox udhcpc in the
 * foreground, its lease handed over by podinit itself as the script, applied here through
 * netlink), kernel (ip= of the command line, Documentation/admin-guide/nfs/nfsroot.rst:
 * what the kernel did not do itself, because the driver was a module, is done here),
 * none. VLAN and bond are made below the address.
 */
#ifndef NETLINK_UPLINK_H
#define NETLINK_UPLINK_H

#include "base/err.h"
#include "base/inet.h"
#include "base/loop.h"

struct json_object;
struct machine_network;
struct monitor;
struct uplink;

#define UPLINK_ADDRS_MAX    8
#define UPLINK_SERVERS_MAX  3 /* MAXNS of resolv.h */
#define UPLINK_SEARCH_BYTES 512

enum uplink_state {
	UPLINK_NONE,    /* mode none, or kernel without ip= */
	UPLINK_WAITING, /* for the link to appear */
	UPLINK_WORKING, /* link, address or lease is being set up */
	UPLINK_READY,
	UPLINK_NO_CARRIER, /* was ready; the cable is out */
	UPLINK_FAILED, /* the deadline passed; goes on when the link or a lease comes */
	UPLINK_STATE_MAX
};

struct uplink_info {
	enum uplink_state state;
	char name[16]; /* "" = no link yet */
	int index;
	uint32_t mtu;
	size_t n_addrs;
	struct inet addrs[UPLINK_ADDRS_MAX]; /* IPv4 first */
	size_t n_servers;
	struct inet servers[UPLINK_SERVERS_MAX]; /* of the lease or ip= */
	char search[UPLINK_SEARCH_BYTES];        /* of the lease: "a.example b.example" */
	char reason[160];                        /* why it is not ready, "" = it is */
};

struct uplink_hooks {
	/* Something in the info changed (state, address, mtu, servers). Before the first
	 * time that it is READY, NONE or FAILED pods wait. */
	void (*changed)(void *arg, const struct uplink_info *info);
	void *arg;
};

/* ip: the text after "ip=" of the command line, or NULL. Starts at once; `changed` comes
 * from the loop. 0 or -errno with e. */
int uplink_start(struct uplink **ret, struct loop *loop, struct monitor *monitor,
		 const struct machine_network *config, const char *ip,
		 const struct uplink_hooks *hooks, struct err *e);
/* {"mode","state","interface","mtu","carrier","addresses":[],"gateways":[],"servers":[],
 * "reason","lease":{...}} for podinit-info. */
struct json_object *uplink_json(const struct uplink *u);
const char *uplink_state_name(enum uplink_state s);
/* Stops the DHCP client; nothing is taken from the interface. */
void uplink_stop(struct uplink *u); /* NULL allowed */

/* The program's second face: when argv[0] says that udhcpc runs it as its script, prints
 * the lease to the descriptor it inherited and returns the exit code; -1 = it is not. */
int uplink_lease_main(int argc, char *const *argv);

#endif
