// SPDX-License-Identifier: Apache-2.0
/*
 * inspect.h - a namespace's links, addresses, routes and counters as JSON.
 *
 * Called by: pod's inspect child. Blocks. Dumps that the kernel marks as interrupted
 * (NLM_F_DUMP_INTR) are taken again.
 */
#ifndef NETLINK_INSPECT_H
#define NETLINK_INSPECT_H

#include "base/err.h"

struct json_object;
struct nl;

#define INSPECT_LINKS_MAX 4096 /* more are counted in "omitted" */

/*
 * {"links":[{"name","index","kind","master","peerNsid","state":"up|down|...","carrier",
 *   "mtu","mac","addresses":["10.88.0.2/16",...],
 *   "rxBytes","rxPackets","rxErrors","rxDropped","txBytes",...}],
 *  "routes":[{"destination":"default|CIDR","gateway","interface","source","metric",
 *   "family":"inet|inet6"}]}: main table, unicast. 0 or -errno with e.
 */
int net_inspect(struct nl *nl, struct json_object **ret, struct err *e);

#endif
