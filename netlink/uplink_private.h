// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_private.h - struct uplink, for uplink*.c only.
 */
#ifndef NETLINK_UPLINK_PRIVATE_H
#define NETLINK_UPLINK_PRIVATE_H

#include "base/child.h"
#include "netlink/monitor.h"
#include "netlink/uplink_parts.h"

struct uplink {
	struct loop *loop;
	const struct machine_uplink *config;
	struct uplink_hooks hooks;
	enum uplink_mode mode; /* what machine.json or ip= says in the end */
	struct machine_match match;
	char device[16]; /* of ip= */

	/* What is known. */
	char link[16];
	int index; /* 0 = no link */
	bool up;   /* IFF_UP, once it is prepared */
	bool carrier;
	uint32_t mtu;
	bool prepared;   /* bond, VLAN and link are up */
	bool have_lease; /* or static: `want` is valid */
	bool renewed;    /* `want` is another than `now` */
	bool applied;    /* the interface has `now` */
	bool late;       /* the deadline has passed */
	bool missed;     /* something was taken away while a job ran */
	bool told, stopped;
	struct uplink_settings want, now;
	char reason[160];
	struct uplink_info info; /* as last told */

	struct uplink_job job;
	struct child child;      /* runs the job */
	struct loop_timer retry; /* after a failure; armed: nothing is started */
	struct loop_timer deadline;
	struct monitor_listener listener;

	/* uplink_client.c */
	struct child client; /* udhcpc */
	bool client_bound;   /* it has had a lease since it was started */
	int lease_fd;        /* our end, -1 = none */
	struct loop_src lease_src;
};

/* Looks at everything and makes the next step; safe to call any time. */
void uplink_advance(struct uplink *u);

/* ---- uplink_client.c ---- */

/* Harmless while it runs. */
void uplink_client_start(struct uplink *u);
/* Asks for a new lease, when it runs. */
void uplink_client_renew(struct uplink *u);
void uplink_client_stop(struct uplink *u);

#endif
