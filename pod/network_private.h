// SPDX-License-Identifier: Apache-2.0
/*
 * network_private.h - struct network, for network*.c only.
 */
#ifndef POD_NETWORK_PRIVATE_H
#define POD_NETWORK_PRIVATE_H

#include "base/child.h"
#include "netlink/plan.h"
#include "pod/backoff.h"
#include "pod/network.h"
#include "pod/number_pool.h"

struct network_watch;

enum network_state {
	NETWORK_UNUSED, /* no pod has asked for it */
	NETWORK_MAKING, /* the set-up child runs */
	NETWORK_READY,
	NETWORK_FAILED, /* the next try is a matter of time */
};

/* The queue to podinit-nft: one helper at a time. */
struct network_rules {
	struct child child;
	struct loop_timer retry; /* of the ports; armed: they wait */
	struct backoff backoff;
	struct loop_timer filter_retry; /* of the filters that failed */
	struct backoff filter_backoff;
	bool reset;         /* what is in the kernel is not known: all of it anew */
	bool tried;         /* the first run is over, well or not: nobody waits for it */
	struct pod *filter; /* whose filter the running helper makes; NULL = ports */
	char netns[48];     /* its argument */
	char trouble[200];  /* why it failed last, "" = it did not */
};

struct network {
	struct pods *pods;
	struct net_machine machine;
	enum network_state state;
	uint32_t made_mtu; /* machine.mtu as the set-up child was given it */
	struct child setup;
	struct loop_timer retry;
	struct backoff backoff;
	char trouble[200]; /* of the machine's side, "" = none */
	struct number_pool slots, hosts4, hosts6;
	struct network_rules rules;
	struct network_watch *watch;
};

/* network_ports.c */
void network_rules_init(struct network *net);
/* The machine's side stands: the table is made. */
void network_rules_base(struct network *net);
/* Asks for what a pod needs. */
void network_rules_add(struct pod *pod);
void network_rules_remove(struct pod *pod);

/* network_watch.c. Without a monitor it watches nothing. */
int network_watch_start(struct network_watch **ret, struct network *net);
/* The pod's interfaces are about to be made (what is heard of them from now on counts; a
 * doubt is cast once they stand); they end. */
void network_watch_add(struct network_watch *w, struct pod *pod);
void network_watch_drop(struct network_watch *w, struct pod *pod);
/* Whether somebody took something from the pods' bridge since the last question. */
bool network_watch_bridge_lost(struct network_watch *w);

/* network_plan.c: -errno as network_assign(). */
int network_plan_new(struct network *net, struct pod *pod, struct err *e);
void network_plan_free(struct network *net, struct pod *pod);

#endif
