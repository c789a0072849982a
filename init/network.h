// SPDX-License-Identifier: Apache-2.0
/*
 * network.h - the machine's network as the boot sees it: monitor, uplink, name servers.
 *
 * Owns: the rtnetlink monitor, the uplink, /run/podinit/resolv.conf. Called by: boot.
 * Pods are created when the uplink is there, or is known not to come in time.
 */
#ifndef INIT_NETWORK_H
#define INIT_NETWORK_H

#include "base/err.h"
#include "netlink/monitor.h"
#include "netlink/uplink.h"

struct json_object;
struct machine;
struct pods;

struct network_up {
	struct loop *loop;
	struct pods *pods;
	const struct machine *machine;
	struct monitor monitor;
	struct uplink *uplink;
	bool resolv_filled; /* our resolv.conf has text, which may have to go */
	bool settled; /* the uplink is ready, has failed or is none: pods may start */
	/* Called once, from the loop, when that is so. */
	void (*on_settled)(void *arg);
	void *arg;
};

/* Before pods_init(), which is given the monitor. Without one (a kernel without
 * rtnetlink) nobody hears of changes: logged. */
void network_up_monitor(struct network_up *n, struct loop *loop);

/* ip: of the command line, "" = none. A bad ip= is logged and is none. 0 or -errno. */
int network_up_start(struct network_up *n, struct pods *pods,
		     const struct machine *machine, const char *ip, struct err *e);
void network_up_stop(struct network_up *n);

/* Adds "uplink" to info. */
void network_up_describe(const struct network_up *n, struct json_object *info);

#endif
