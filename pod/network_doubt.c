// SPDX-License-Identifier: Apache-2.0
/*
 * network_doubt.c - what rtnetlink's events say of the pods: who has to be looked at.
 *
 * Owns: the list of suspects and why they are in it. Called by: the monitor, for every
 * event of the machine and of every pod; so it looks nothing up but by number. An event
 * only casts a doubt; what is wrong is what the child of network_watch.c finds.
 */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "pod/network_private.h"
#include "pod/network_watch.h"

/* Doubts. A pod that is made tells of links that are down and of ports that have no
 * bridge yet: the first doubt on a link goes away when the link is seen well. From then
 * on one has to be looked at even if the link is well again: IPv4 routes go with it, and
 * the kernel does not tell (fib_flush()). */
#define DOUBT_LINK(n)   (1U << (n)) /* n_ifs: lo */
#define DOUBT_HOST(n)   (1U << (NET_IFS_MAX + 1 + (n)))
#define DOUBT_LOOK      (1U << 31)

/* The same for the pods' own bridge, for pods to come. */
#define BRIDGE_LINK     1U
#define BRIDGE_GATEWAY4 2U
#define BRIDGE_GATEWAY6 4U
#define BRIDGE_EVENTS   8U /* some were lost */

/* ---- doubts ---- */

static void doubt(struct network_watch *w, struct pod *pod, unsigned int what)
{
	struct pod_watch *pw = &pod->net.watch;

	if (!pod->net.made)
		return;
	pw->doubts |= what;
	if (list_empty(&pw->node))
		list_append(&w->suspects, &pw->node);
	watch_arm(w);
}

static void reassure(struct pod *pod, unsigned int what)
{
	struct pod_watch *pw = &pod->net.watch;

	pw->doubts &= ~what;
	if (!pw->doubts)
		list_remove(&pw->node);
}

static void on_state(struct network_watch *w, struct pod *pod, unsigned int which,
		     bool well)
{
	struct pod_watch *pw = &pod->net.watch;

	if (well) {
		pw->well |= which;
		reassure(pod, which);
	} else {
		doubt(w, pod, pw->well & which ? DOUBT_LOOK : which);
	}
}

void watch_suspect(struct network_watch *w, struct pod *pod)
{
	doubt(w, pod, DOUBT_LOOK);
}

void watch_clear(struct pod *pod)
{
	reassure(pod, ~0U);
}

static void doubt_all(struct network_watch *w, bool wrong_only)
{
	list_for_each(node, &w->net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->net.made && (!wrong_only || pod->net.watch.wrong))
			doubt(w, pod, DOUBT_LOOK);
	}
}

/* ---- events ---- */

static bool is_planned(const struct net_plan *plan, const struct inet *a)
{
	for (size_t n = 0; n < plan->n_ifs; n++)
		for (size_t k = 0; k < plan->ifs[n].n_addrs; k++)
			if (inet_same(&plan->ifs[n].addrs[k], a))
				return true;
	return false;
}

static bool is_gateway(const struct net_plan *plan, const struct inet *a)
{
	for (size_t n = 0; n < plan->n_ifs; n++)
		if (inet_same(&plan->ifs[n].gateway4, a) ||
		    inet_same(&plan->ifs[n].gateway6, a))
			return true;
	return false;
}

static void on_pod_link(struct network_watch *w, struct pod *pod,
			const struct monitor_event *ev)
{
	const struct net_plan *plan = pod->net.plan;
	size_t n = 0;

	while (n < plan->n_ifs && strcmp(plan->ifs[n].name, ev->name) != 0)
		n++;
	if (n == plan->n_ifs && strcmp(ev->name, "lo") != 0)
		doubt(w, pod, DOUBT_LOOK); /* perhaps one of ours under a new name */
	else
		on_state(w, pod, DOUBT_LINK(n), ev->flags & IFF_UP);
}

static void on_pod_event(struct network_watch *w, struct pod *pod,
			 const struct monitor_event *ev)
{
	const struct net_plan *plan = pod->net.plan;
	bool is_default = ev->addr.prefix == 0;

	if (pod->net.watch.wrong)
		doubt(w, pod, DOUBT_LOOK);
	if (ev->what == MONITOR_LINK)
		on_pod_link(w, pod, ev);
	else if (ev->what == MONITOR_LINK_GONE ||
		 (ev->what == MONITOR_ADDR_GONE && is_planned(plan, &ev->addr)) ||
		 (ev->what == MONITOR_ROUTE_GONE && is_default) ||
		 (ev->what == MONITOR_ROUTE && is_default &&
		  !is_gateway(plan, &ev->gateway)))
		doubt(w, pod, DOUBT_LOOK);
}

/* "pv7" is slot 7's first interface, "pv7.2" its third: see network_plan.c. */
static struct pod *pod_of_port(const struct network_watch *w, const char *name,
			       size_t *ret_n)
{
	struct pod *pod;
	char *end;
	unsigned long slot;

	if (strncmp(name, "pv", 2) != 0)
		return NULL;
	slot = strtoul(name + 2, &end, 16);
	pod = slot < PODS_MAX ? w->by_slot[slot] : NULL;
	if (!pod)
		return NULL;
	for (size_t n = 0; n < pod->net.plan->n_ifs; n++)
		if (!strcmp(pod->net.plan->ifs[n].host_name, name)) {
			*ret_n = n;
			return pod;
		}
	return NULL;
}

static void on_port(struct network_watch *w, struct pod *pod, size_t n,
		    const struct monitor_event *ev)
{
	struct pod_watch *pw = &pod->net.watch;

	pw->port[n] = ev->what == MONITOR_LINK ? ev->index : 0;
	if (ev->what == MONITOR_LINK_GONE || pw->wrong)
		doubt(w, pod, DOUBT_LOOK);
	else
		on_state(w, pod, DOUBT_HOST(n), ev->flags & IFF_UP && ev->master);
	if (ev->master && pw->master[n] && ev->master != pw->master[n])
		doubt(w, pod, DOUBT_LOOK);
	if (ev->master)
		pw->master[n] = ev->master;
}

/* A link that is nobody's by its name: perhaps one of ours under a new name. Only links
 * of others come here, so that a walk over all pods is no burden. */
static void on_stranger(struct network_watch *w, const struct monitor_event *ev)
{
	list_for_each(node, &w->net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		for (size_t n = 0; pod->net.plan && n < pod->net.plan->n_ifs; n++)
			if (pod->net.watch.port[n] == ev->index) {
				if (ev->what == MONITOR_LINK_GONE)
					pod->net.watch.port[n] = 0;
				doubt(w, pod, DOUBT_LOOK);
				return;
			}
	}
}

static void on_bridge(struct network_watch *w, const struct monitor_event *ev)
{
	bool well = ev->what == MONITOR_LINK && ev->flags & IFF_UP;

	w->bridge_index = ev->what == MONITOR_LINK ? ev->index : 0;
	if (well)
		w->bridge_lost &= ~BRIDGE_LINK;
	else
		w->bridge_lost |= BRIDGE_LINK;
	doubt_all(w, well);
}

static void on_gateway(struct network_watch *w, const struct monitor_event *ev)
{
	const struct net_machine *m = &w->net->machine;
	unsigned int which = 0;

	if (inet_same(&ev->addr, &m->gateway4))
		which = BRIDGE_GATEWAY4;
	else if (inet_same(&ev->addr, &m->gateway6))
		which = BRIDGE_GATEWAY6;
	if (ev->what == MONITOR_ADDR)
		w->bridge_lost &= ~which;
	else
		w->bridge_lost |= which;
	if (which)
		doubt_all(w, ev->what == MONITOR_ADDR);
}

static void on_machine_event(struct network_watch *w, const struct monitor_event *ev)
{
	const struct net_machine *m = &w->net->machine;
	bool link = ev->what == MONITOR_LINK || ev->what == MONITOR_LINK_GONE;
	struct pod *pod;
	size_t n;

	if (link && !strcmp(ev->name, m->bridge)) {
		on_bridge(w, ev);
	} else if (link) {
		pod = pod_of_port(w, ev->name, &n);
		if (pod)
			on_port(w, pod, n, ev);
		else
			on_stranger(w, ev);
	} else if ((ev->what == MONITOR_ADDR_GONE || ev->what == MONITOR_ADDR) &&
		   w->bridge_index && ev->index == w->bridge_index) {
		on_gateway(w, ev);
	}
}

void watch_on_event(struct monitor_listener *l, const struct monitor_event *ev)
{
	struct network_watch *w = container_of(l, struct network_watch, listener);
	uint32_t slot = net_slot_of_nsid(ev->nsid);

	if (w->net->pods->stopping)
		return;
	if (ev->what == MONITOR_LOST) {
		w->bridge_lost |= BRIDGE_EVENTS;
		doubt_all(w, false);
	} else if (ev->nsid == MONITOR_MACHINE) {
		on_machine_event(w, ev);
	} else if (slot < PODS_MAX && w->by_slot[slot]) {
		on_pod_event(w, w->by_slot[slot], ev);
	}
}

bool network_watch_bridge_lost(struct network_watch *w)
{
	bool lost = w->bridge_lost;

	w->bridge_lost = 0;
	return lost;
}
