// SPDX-License-Identifier: Apache-2.0
/*
 * network_watch.c - what somebody takes from a pod's network is seen, told and put back.
 *
 * Owns: struct network_watch, the child that looks at those whom network_doubt.c
 * suspects. One child at a time looks at a bounded number of pods, and it looks no more
 * than a tenth of the time: a member that breaks its network in a loop costs no more than
 * that. It is put back at once, and then with the back-off of restarts. Only a look that
 * finds nothing clears pod->net.watch.wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "netlink/nl.h"
#include "pod/network_private.h"
#include "pod/network_watch.h"

#define LOOK_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define SETTLE_NS       (20 * NSEC_PER_MSEC) /* what is half done is perhaps done by then */
#define PAUSE_MIN_NS    (100 * NSEC_PER_MSEC)
#define PAUSE_FACTOR    10
#define FAILED_PAUSE_NS NSEC_PER_SEC

/* The child's answer for one pod. */
struct finding {
	int code;               /* of net_plan_check(): 0 or positive */
	bool repaired;          /* it was tried */
	char text[160];         /* what is wrong */
	char not_repaired[160]; /* why not, "" = it was */
};

void watch_arm(struct network_watch *w)
{
	struct loop *loop = w->net->pods->loop;
	int64_t at = time_add(loop_now(loop), SETTLE_NS);

	if (list_empty(&w->suspects) || child_running(&w->child) || w->timer.loop)
		return;
	(void)loop_timer_set(loop, &w->timer, MAX(at, w->not_before_ns)); /* reserved */
}

/* ---- the look, in a child ---- */

#define FINDINGS 3              /* child.keep_fd */
#define NETNS(k) (4 + (int)(k)) /* child.more_fds */

static void look_at(const struct network_watch *w, size_t k, struct nl *machine,
		    struct finding *f)
{
	const struct pod *pod = w->pods[k];
	const struct net_machine *m = &w->net->machine;
	int netns = NETNS(k), r;
	struct nl *inside = NULL;
	struct err e = { 0 };

	r = nl_open_in(netns, &inside, &e);
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

	watch_suspect(pod->pods->network->watch, pod);
}

/* When it may be put back the next time. */
static void schedule_repair(struct network_watch *w, struct pod *pod,
			    const struct finding *f)
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
		watch_suspect(w, pod); /* is it? */
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
	schedule_repair(w, pod, f);
}

/* Those from k on; the one that the child was at comes last, so that it does not keep the
 * others waiting again. */
static void look_again(struct network_watch *w, size_t k)
{
	for (size_t i = 1; i <= w->n - k; i++) {
		struct pod *pod = w->pods[k + i % (w->n - k)];

		if (pod)
			watch_suspect(w, pod);
	}
}

static void look_failed(struct network_watch *w, const char *why)
{
	int64_t at = time_add(loop_now(w->net->pods->loop), FAILED_PAUSE_NS);

	log_warn("looking at the pods' networks: %s", why);
	w->not_before_ns = MAX(w->not_before_ns, at);
}

static void look_done(struct child *child)
{
	struct network_watch *w = container_of(child, struct network_watch, child);
	int64_t now = loop_now(w->net->pods->loop);
	struct finding found[WATCH_BATCH];
	ssize_t bytes = -1;
	size_t n;

	w->not_before_ns = time_add(
		now, MAX(PAUSE_MIN_NS, PAUSE_FACTOR * (now - w->began_ns)));
	if (lseek(w->findings_fd, 0, SEEK_SET) == 0)
		bytes = fd_read_full(w->findings_fd, (char *)found, sizeof(found));
	/* What it wrote before it ended is good. */
	n = bytes < 0 ? 0 : MIN((size_t)bytes / sizeof(found[0]), w->n);
	if (!child_ok(child) && !w->cancelled)
		look_failed(w, child_failure(child));
	else if (n < w->n && !w->cancelled)
		look_failed(w, "what was found is cut off");
	for (size_t k = 0; k < n; k++)
		if (w->pods[k])
			take_finding(w, w->pods[k], &found[k]);
	look_again(w, n);
	w->n = 0;
	fd_close(&w->findings_fd);
	watch_arm(w);
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
	while (w->n < WATCH_BATCH && !list_empty(&w->suspects)) {
		struct pod_watch *pw = list_entry(w->suspects.next, struct pod_watch,
						  node);
		struct pod_net *net = container_of(pw, struct pod_net, watch);

		w->repair[w->n] = pods->machine->network.repair &&
				  w->began_ns >= pw->repair_after_ns;
		w->pods[w->n] = container_of(net, struct pod, net);
		w->netns[w->n] = w->pods[w->n]->sandbox.net_fd;
		watch_clear(w->pods[w->n++]);
	}
	if (w->n == 0)
		return;
	w->findings_fd = memfd_create("findings", MFD_CLOEXEC);
	w->child.keep_fd = w->findings_fd;
	w->child.more_fds = w->netns;
	w->child.n_more_fds = w->n;
	r = w->findings_fd < 0 ? -errno : child_start(pods->loop, &w->child);
	if (r < 0) {
		look_failed(w, strerror(-r));
		look_again(w, 0);
		fd_close(&w->findings_fd);
		w->n = 0;
		watch_arm(w);
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
	w->listener.fn = watch_on_event;
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
	pod->net.watch.well = 0;
}

void network_watch_drop(struct network_watch *w, struct pod *pod)
{
	struct pod_watch *pw = &pod->net.watch;

	if (w->by_slot[pod->net.plan->slot] == pod)
		w->by_slot[pod->net.plan->slot] = NULL;
	watch_clear(pod);
	loop_timer_cancel(&pw->repair);
	pw->wrong = NULL;
	for (size_t k = 0; k < w->n; k++) {
		if (w->pods[k] != pod)
			continue;
		w->pods[k] = NULL;
		/* Else it might put back what the end takes away. */
		w->cancelled = true;
		child_cancel(&w->child);
	}
}
