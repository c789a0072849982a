// SPDX-License-Identifier: Apache-2.0
/*
 * network_watch.c - what somebody takes from a pod's network is seen, told and put back.
 *
 * Owns: struct network_watch: who is suspected, the child that looks. An event only casts
 * a doubt; what is wrong is what the child finds. One child at a time looks at a bounded
 * number of pods, and it looks no more than a tenth of the time: a member that breaks its
 * network in a loop costs no more than that. It is put back at once, and then with the
 * back-off of restarts. Only a look that finds nothing clears pod->net.watch.wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "netlink/monitor.h"
#include "netlink/nl.h"
#include "pod/network_private.h"
#include "pod/pod.h"

#define BATCH_PODS      64
#define LOOK_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define SETTLE_NS       (20 * NSEC_PER_MSEC) /* what is half done is perhaps done by then */
#define PAUSE_MIN_NS    (100 * NSEC_PER_MSEC)
#define PAUSE_FACTOR    10
#define FAILED_PAUSE_NS NSEC_PER_SEC

/* Doubts. Those of links go away when the link is seen well again: a pod that is made
 * tells of links that are down and of ports that have no bridge yet. */
#define DOUBT_LINK(n)   (1U << (n))
#define DOUBT_HOST(n)   (1U << (NET_IFS_MAX + (n)))
#define DOUBT_LOOK      (1U << 31)

/* The same for the pods' own bridge, for pods to come. */
#define BRIDGE_LINK     1U
#define BRIDGE_GATEWAY4 2U
#define BRIDGE_GATEWAY6 4U
#define BRIDGE_EVENTS   8U /* some were lost */

/* The child's answer for one pod. */
struct finding {
	int code;               /* of net_plan_check(): 0 or positive */
	bool repaired;          /* it was tried */
	char text[160];         /* what is wrong */
	char not_repaired[160]; /* why not, "" = it was */
};

struct network_watch {
	struct network *net;
	struct monitor_listener listener;
	struct pod *by_slot[PODS_MAX]; /* those whose interfaces stand */
	int bridge_index;              /* as last heard of; 0 = never */
	unsigned int bridge_lost;      /* BRIDGE_* */
	struct list suspects;          /* pod_watch.node */
	struct loop_timer timer;
	int64_t not_before_ns; /* CLOCK_BOOTTIME */

	/* The child that looks, and at whom. */
	struct child child;
	int findings_fd; /* memfd */
	int64_t began_ns;
	size_t n;
	struct pod *pods[BATCH_PODS]; /* NULL: it has ended meanwhile */
	bool repair[BATCH_PODS];
	bool cancelled; /* for the end of one of them */
};

/* ---- doubts ---- */

static void arm(struct network_watch *w)
{
	struct loop *loop = w->net->pods->loop;
	int64_t at = time_add(loop_now(loop), SETTLE_NS);

	if (list_empty(&w->suspects) || child_running(&w->child) || w->timer.loop)
		return;
	(void)loop_timer_set(loop, &w->timer, MAX(at, w->not_before_ns)); /* reserved */
}

static void doubt(struct network_watch *w, struct pod *pod, unsigned int what)
{
	struct pod_watch *pw = &pod->net.watch;

	pw->doubts |= what;
	if (list_empty(&pw->node))
		list_append(&w->suspects, &pw->node);
	arm(w);
}

static void reassure(struct pod *pod, unsigned int what)
{
	struct pod_watch *pw = &pod->net.watch;

	pw->doubts &= ~what;
	if (!pw->doubts)
		list_remove(&pw->node);
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
	else if (ev->flags & IFF_UP)
		reassure(pod, DOUBT_LINK(n));
	else
		doubt(w, pod, DOUBT_LINK(n));
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

	if (ev->what == MONITOR_LINK_GONE || pw->wrong)
		doubt(w, pod, DOUBT_LOOK);
	else if (!(ev->flags & IFF_UP) || !ev->master)
		doubt(w, pod, DOUBT_HOST(n));
	else
		reassure(pod, DOUBT_HOST(n));
	if (ev->master && pw->master[n] && ev->master != pw->master[n])
		doubt(w, pod, DOUBT_LOOK);
	if (ev->master)
		pw->master[n] = ev->master;
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
	} else if ((ev->what == MONITOR_ADDR_GONE || ev->what == MONITOR_ADDR) &&
		   w->bridge_index && ev->index == w->bridge_index) {
		on_gateway(w, ev);
	}
}

static void on_event(struct monitor_listener *l, const struct monitor_event *ev)
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

/* ---- the look, in a child ---- */

#define FINDINGS 3 /* child.keep_fd */

static void look_at(const struct network_watch *w, size_t k, struct nl *machine,
		    struct finding *f)
{
	const struct pod *pod = w->pods[k];
	const struct net_machine *m = &w->net->machine;
	_cleanup_close_ int netns = -1;
	struct nl *inside = NULL;
	struct err e = { 0 };
	char path[48];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", getppid(),
		       pod->sandbox.net_fd);
	netns = open(path, O_RDONLY | O_CLOEXEC);
	r = netns < 0 ? err_set(&e, STAGE_SANDBOX, errno, "open the namespace") :
			nl_open_in(netns, &inside, &e);
	if (r == 0)
		r = net_plan_check(pod->net.plan, m, machine, inside, &e);
	f->code = -r;
	(void)snprintf(f->text, sizeof(f->text), "%.150s", r < 0 ? e.text : "");
	if (r < 0 && inside && w->repair[k]) {
		f->repaired = true;
		if (net_plan_repair(pod->net.plan, m, machine, inside, netns, &e) < 0)
			(void)snprintf(f->not_repaired, sizeof(f->not_repaired), "%.150s",
				       e.text);
	}
	nl_disconnect(inside);
}

static int look_run(void *arg)
{
	const struct network_watch *w = arg;
	struct nl *machine = NULL;
	struct err e = { 0 };
	int r = nl_open(&machine, &e);

	for (size_t k = 0; r == 0 && k < w->n; k++) {
		struct finding f = { 0 };

		look_at(w, k, machine, &f);
		r = fd_write_full(FINDINGS, &f, sizeof(f));
		if (r < 0)
			(void)err_set(&e, STAGE_SANDBOX, -r, "write what was found");
	}
	nl_disconnect(machine);
	if (r < 0)
		(void)dprintf(STDERR_FILENO, "%s", e.text);
	return r < 0;
}

/* ---- what was found ---- */

static const char *reason_of(int code)
{
	switch (code) {
	case ENODEV:
		return "InterfaceMissing";
	case ENETDOWN:
		return "InterfaceDown";
	case EADDRNOTAVAIL:
		return "AddressMissing";
	case ENETUNREACH:
		return "RouteMissing";
	default:
		return "NetworkCheckFailed";
	}
}

static void repair_due(struct loop_timer *timer)
{
	struct pod_watch *pw = container_of(timer, struct pod_watch, repair);
	struct pod_net *net = container_of(pw, struct pod_net, watch);
	struct pod *pod = container_of(net, struct pod, net);

	doubt(pod->pods->network->watch, pod, DOUBT_LOOK);
}

/* When it may be put back the next time. */
static void plan_repair(struct network_watch *w, struct pod *pod, const struct finding *f)
{
	struct pods *pods = w->net->pods;
	struct pod_watch *pw = &pod->net.watch;
	int64_t now = loop_now(pods->loop);

	if (!pods->machine->network.repair)
		return;
	if (f->repaired) {
		pw->repair_after_ns = time_add(now,
					       backoff_next(&pw->backoff, &pods->backoff,
							    now - pw->repaired_ns));
		pw->repaired_ns = now;
	}
	if (f->repaired && !*f->not_repaired) {
		doubt(w, pod, DOUBT_LOOK); /* is it? */
		return;
	}
	pw->repair.fn = repair_due;
	(void)loop_timer_set(pods->loop, &pw->repair, /* reserved */
			     MAX(pw->repair_after_ns, time_add(now, FAILED_PAUSE_NS)));
}

static void take_finding(struct network_watch *w, struct pod *pod,
			 const struct finding *f)
{
	struct pod_watch *pw = &pod->net.watch;
	bool news = !pw->wrong || strcmp(pw->text, f->text) != 0;

	if (f->code == 0) {
		if (pw->wrong)
			log_info("pod %s/%s: its network is whole again", pod->namespace,
				 pod->name);
		pw->wrong = NULL;
		pw->text[0] = '\0';
		loop_timer_cancel(&pw->repair);
		pod_update_status(pod);
		return;
	}
	pw->wrong = reason_of(f->code);
	(void)snprintf(pw->text, sizeof(pw->text), "%s", f->text);
	if (news || f->repaired)
		log_warn("pod %s/%s: %s%s%s", pod->namespace, pod->name, f->text,
			 !f->repaired     ? "" :
			 *f->not_repaired ? "; not put back: " :
					    "; put back",
			 f->not_repaired);
	pod_update_status(pod);
	plan_repair(w, pod, f);
}

static void look_again(struct network_watch *w)
{
	for (size_t k = 0; k < w->n; k++)
		if (w->pods[k])
			doubt(w, w->pods[k], DOUBT_LOOK);
}

static void look_failed(struct network_watch *w, const char *why)
{
	int64_t at = time_add(loop_now(w->net->pods->loop), FAILED_PAUSE_NS);

	log_warn("looking at the pods' networks: %s", why);
	w->not_before_ns = MAX(w->not_before_ns, at);
	look_again(w);
}

static void look_done(struct child *child)
{
	struct network_watch *w = container_of(child, struct network_watch, child);
	int64_t now = loop_now(w->net->pods->loop);
	struct finding found[BATCH_PODS];
	size_t bytes = w->n * sizeof(found[0]);

	w->not_before_ns = time_add(
		now, MAX(PAUSE_MIN_NS, PAUSE_FACTOR * (now - w->began_ns)));
	if (w->cancelled)
		look_again(w);
	else if (!child_ok(child))
		look_failed(w, child_failure(child));
	else if (lseek(w->findings_fd, 0, SEEK_SET) < 0 ||
		 fd_read_full(w->findings_fd, (char *)found, bytes) != (ssize_t)bytes)
		look_failed(w, "what was found is cut off");
	else
		for (size_t k = 0; k < w->n; k++)
			if (w->pods[k])
				take_finding(w, w->pods[k], &found[k]);
	w->n = 0;
	fd_close(&w->findings_fd);
	arm(w);
}

static void look_due(struct loop_timer *timer)
{
	struct network_watch *w = container_of(timer, struct network_watch, timer);
	const struct pods *pods = w->net->pods;
	int r;

	if (child_running(&w->child) || pods->stopping)
		return;
	w->n = 0;
	w->cancelled = false;
	w->began_ns = loop_now(pods->loop);
	while (w->n < BATCH_PODS && !list_empty(&w->suspects)) {
		struct pod_watch *pw = list_entry(w->suspects.next, struct pod_watch,
						  node);
		struct pod_net *net = container_of(pw, struct pod_net, watch);

		w->repair[w->n] = pods->machine->network.repair &&
				  w->began_ns >= pw->repair_after_ns;
		w->pods[w->n++] = container_of(net, struct pod, net);
		reassure(w->pods[w->n - 1], ~0U);
	}
	if (w->n == 0)
		return;
	w->findings_fd = memfd_create("findings", MFD_CLOEXEC);
	w->child.keep_fd = w->findings_fd;
	r = w->findings_fd < 0 ? -errno : child_start(pods->loop, &w->child);
	if (r < 0) {
		look_failed(w, strerror(-r));
		fd_close(&w->findings_fd);
		w->n = 0;
		arm(w);
	}
}

/* ---- life ---- */

int network_watch_start(struct network_watch **ret, struct network *net)
{
	struct network_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->net = net;
	w->findings_fd = -1;
	w->listener.fn = on_event;
	w->timer.fn = look_due;
	list_init(&w->suspects);
	child_init(&w->child);
	w->child.name = "network-check";
	w->child.run = look_run;
	w->child.arg = w;
	w->child.timeout_ns = LOOK_TIMEOUT_NS;
	w->child.done = look_done;
	if (net->pods->monitor && net->pods->monitor->fd >= 0)
		monitor_listen(net->pods->monitor, &w->listener);
	*ret = w;
	return 0;
}

void network_watch_add(struct network_watch *w, struct pod *pod)
{
	w->by_slot[pod->net.plan->slot] = pod;
}

void network_watch_drop(struct network_watch *w, struct pod *pod)
{
	struct pod_watch *pw = &pod->net.watch;

	if (w->by_slot[pod->net.plan->slot] == pod)
		w->by_slot[pod->net.plan->slot] = NULL;
	reassure(pod, ~0U);
	loop_timer_cancel(&pw->repair);
	pw->wrong = NULL;
	for (size_t k = 0; k < w->n; k++) {
		if (w->pods[k] != pod)
			continue;
		w->pods[k] = NULL;
		/* The number of its descriptor is another pod's before long. */
		w->cancelled = true;
		child_cancel(&w->child);
	}
}

bool network_watch_bridge_lost(struct network_watch *w)
{
	bool lost = w->bridge_lost;

	w->bridge_lost = 0;
	return lost;
}
