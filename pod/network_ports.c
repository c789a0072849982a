// SPDX-License-Identifier: Apache-2.0
/*
 * network_ports.c - the queue to podinit-nft: host ports and filters of pods.
 *
 * Owns: struct network_rules. One helper runs at a time; everything that waits meanwhile
 * goes out with the next one, in one transaction. When a helper failed or was killed it
 * is not known what the kernel has, so the next request makes the whole table anew from
 * what the pods want.
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
#include "netlink/nft.h"
#include "pod/host_ports.h"
#include "pod/network_private.h"
#include "pod/pod.h"

#define NFT_PROGRAM    "/sbin/podinit-nft"
#define NFT_TIMEOUT_NS (10 * NSEC_PER_SEC)

static void rules_run(struct network *net);

void network_rules_init(struct network *net)
{
	child_init(&net->rules.child);
	net->rules.reset = true; /* an earlier life may have left a table */
}

/* ---- requests ---- */

static int ask_add(void *arg, const char *member, const struct nft_port *port)
{
	(void)member;
	return nft_ask_add(arg, port);
}

static int ask_remove(void *arg, const char *member, const struct nft_port *port)
{
	(void)member;
	return nft_ask_remove(arg, port);
}

static int ask_base(const struct network *net, struct buf *b)
{
	const struct machine_network *m = &net->pods->machine->network;
	struct nft_base base = { .range4 = m->pod_range4, .range6 = m->pod_range6 };

	(void)snprintf(base.bridge, sizeof(base.bridge), "%s", net->machine.bridge);
	return nft_ask_reset(b, &base);
}

/* First what goes out: a port can be given up by one pod and asked for by another. */
static int ask_removals(struct network *net, struct buf *b)
{
	int r = 0;

	list_for_each(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->net.rules != RULES_UNWANTED)
			continue;
		if (!net->rules.reset)
			r = host_ports_each(pod, ask_remove, b);
		if (r < 0)
			return r;
		pod->net.rules = RULES_REMOVING;
	}
	return 0;
}

static int ask_additions(struct network *net, struct buf *b)
{
	list_for_each(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);
		bool again = net->rules.reset && pod->net.rules == RULES_IN;
		int r;

		if (pod->net.rules != RULES_WANTED && !again)
			continue;
		r = host_ports_each(pod, ask_add, b);
		if (r < 0)
			return r;
		if (!again)
			pod->net.rules = RULES_ADDING;
	}
	return 0;
}

static int ask_filter(const struct pod *pod, struct buf *b)
{
	const struct spec_net_policy *policy = &pod->spec->net_policy;
	struct nft_filter f = { .n_internal = policy->n_internal,
				.n_external = policy->n_external,
				.internal = policy->internal,
				.external = policy->external };
	struct nft_port *ports;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < pod->spec->n_members; i++)
		n += pod->spec->members[i].n_ports;
	ports = calloc(n + 1, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	for (size_t i = 0; i < pod->spec->n_members; i++)
		for (size_t p = 0; p < pod->spec->members[i].n_ports; p++) {
			const struct spec_port *from = &pod->spec->members[i].ports[p];

			ports[f.n_ports++] = (struct nft_port){
				.protocol = (enum nft_protocol)from->protocol,
				.pod_port = from->container_port,
			};
		}
	f.ports = ports;
	r = nft_ask_filter(b, &f);
	free(ports);
	return r;
}

/* The request as a file that the helper reads from its start. -errno. */
static int request_file(const struct buf *b)
{
	_cleanup_close_ int fd = memfd_create("nft-request", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, buf_head(b), b->len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return fd_steal(&fd);
}

/* ---- the end of a run ---- */

/* What the states become; nobody is told yet. After a failure the reset that follows
 * takes out what nobody wants: a pod that ends does not wait for it. */
static void settle_pod(struct pod_net *n, bool ok)
{
	n->rules_settled = n->rules == RULES_ADDING || n->rules == RULES_REMOVING;
	if (n->rules == RULES_ADDING)
		n->rules = ok ? RULES_IN : RULES_WANTED;
	else if (n->rules == RULES_REMOVING)
		n->rules = RULES_NONE;
	/* Stopped while they were on their way in. */
	if (!n->made && n->rules == RULES_IN)
		n->rules = RULES_UNWANTED;
	if (!n->made && n->rules == RULES_WANTED)
		n->rules = RULES_NONE;
}

/* A hostPort asked for at 127.0.0.1 is translated to a pod, and the answer comes in by
 * the bridge (Documentation/networking/ip-sysctl.rst, route_localnet). Only behind the
 * table's guard, see netlink/nft.h. */
static void open_localnet(const struct network *net)
{
	char path[80];
	int r;

	if (!net->machine.gateway4.family)
		return;
	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/route_localnet",
		       net->machine.bridge);
	r = fd_write_file_at(AT_FDCWD, path, "1");
	if (r < 0)
		log_warn("%s: %s: no host port by 127.0.0.1", path, strerror(-r));
}

/* All states first: a pod that goes on may ask for the next run. */
static void settle(struct network *net, bool ok)
{
	bool first = !net->rules.tried;

	if (ok && net->rules.reset)
		open_localnet(net);
	net->rules.reset = !ok;
	net->rules.tried = true;
	list_for_each(node, &net->pods->list)
		settle_pod(&list_entry(node, struct pod, node)->net, ok);
	list_for_each_safe(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if ((first && pod->net.made) ||
		    (pod->net.rules_settled && (ok || pod_ended(pod))))
			pod_advance(pod);
	}
}

static void retry_due(struct loop_timer *timer)
{
	struct network_rules *rules = container_of(timer, struct network_rules, retry);

	rules_run(container_of(rules, struct network, rules));
}

static void filter_retry_due(struct loop_timer *timer)
{
	struct network_rules *rules = container_of(timer, struct network_rules,
						   filter_retry);
	struct network *net = container_of(rules, struct network, rules);

	list_for_each(node, &net->pods->list)
		list_entry(node, struct pod, node)->net.filter_failed = false;
	rules_run(net);
}

static void tell_pods(struct network *net)
{
	list_for_each(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->state != POD_CREATED || !pod->net.made || network_up(pod))
			continue;
		sandbox_tell(pod, net->rules.trouble);
	}
}

/* A pod's own table says nothing of the machine's, and the others do not wait for it. */
static void filter_failed(struct network *net, struct pod *pod, const char *why)
{
	struct network_rules *rules = &net->rules;
	int64_t delay;
	char text[200];

	if (pod_ended(pod)) { /* its end stopped the helper */
		pod_advance(pod);
		return;
	}
	/* One that failed before is not put off by this one. */
	delay = rules->filter_retry.loop ?
			rules->filter_retry.at_ns - loop_now(net->pods->loop) :
			backoff_next(&rules->filter_backoff, &net->pods->backoff, 0);
	(void)snprintf(text, sizeof(text), "%s --netns: %.150s", NFT_PROGRAM, why);
	log_error("pod %s/%s: %s; next try in %lld ms", pod->namespace, pod->name, text,
		  (long long)(delay / NSEC_PER_MSEC));
	sandbox_tell(pod, text);
	pod->net.filter_failed = true;
	rules->filter_retry.fn = filter_retry_due;
	(void)loop_timer_set(net->pods->loop, &rules->filter_retry,
			     time_add(loop_now(net->pods->loop), delay));
}

static void ports_failed(struct network *net, const char *why)
{
	struct network_rules *rules = &net->rules;
	int64_t delay = backoff_next(&rules->backoff, &net->pods->backoff, 0);
	bool known = rules->trouble[0];

	/* Armed first: a pod that goes on below must not start the next run. */
	rules->retry.fn = retry_due;
	(void)loop_timer_set(net->pods->loop, &rules->retry,
			     time_add(loop_now(net->pods->loop), delay));
	settle(net, false);
	(void)snprintf(rules->trouble, sizeof(rules->trouble), "%s: %.160s", NFT_PROGRAM,
		       why);
	tell_pods(net);
	/* Once is enough for a machine without nftables. */
	log_at(known ? LOG_DEBUG : LOG_ERROR, "%s; next try in %lld ms", rules->trouble,
	       (long long)(delay / NSEC_PER_MSEC));
}

/* What is next waits for who called, or for one of the two timers: not every pod has to
 * find out that there is no process to be had. */
static void rules_failed(struct network *net, const char *why)
{
	struct pod *pod = net->rules.filter;

	net->rules.filter = NULL;
	if (pod)
		filter_failed(net, pod, why);
	else
		ports_failed(net, why);
}

static void rules_done(struct child *child)
{
	struct network_rules *rules = container_of(child, struct network_rules, child);
	struct network *net = container_of(rules, struct network, rules);
	struct pod *pod = rules->filter;

	if (!child_ok(child)) {
		rules_failed(net, child_failure(child));
		rules_run(net);
		return;
	}
	rules->filter = NULL;
	if (pod) {
		rules->filter_backoff = (struct backoff){ 0 };
		pod->net.filter_wanted = false;
		pod_advance(pod);
	} else {
		if (rules->trouble[0])
			log_info("%s works again", NFT_PROGRAM);
		rules->trouble[0] = '\0';
		rules->backoff = (struct backoff){ 0 };
		settle(net, true);
	}
	rules_run(net);
}

/* ---- the start of a run ---- */

static void rules_start(struct network *net, int request)
{
	static char program[] = NFT_PROGRAM, option[] = "--netns";
	static char *plain[] = { program, NULL }, *inside[4];
	struct network_rules *rules = &net->rules;
	int r;

	inside[0] = program;
	inside[1] = option;
	inside[2] = rules->netns;
	inside[3] = NULL;
	rules->child.name = "podinit-nft";
	rules->child.argv = rules->filter ? inside : plain;
	rules->child.timeout_ns = NFT_TIMEOUT_NS;
	rules->child.keep_fd = request;
	rules->child.done = rules_done;
	r = child_start(net->pods->loop, &rules->child);
	if (r < 0)
		rules_failed(net, strerror(-r));
}

static struct pod *next_filter(const struct network *net)
{
	list_for_each(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->net.filter_wanted && pod->net.made && !pod->net.filter_failed)
			return pod;
	}
	return NULL;
}

static bool ports_wait(const struct network *net)
{
	if (net->rules.retry.loop)
		return false;
	if (net->rules.reset && net->state == NETWORK_READY)
		return true; /* the table itself, for the masquerade */
	list_for_each(node, &net->pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (pod->net.rules == RULES_WANTED || pod->net.rules == RULES_UNWANTED)
			return true;
	}
	return false;
}

static void rules_run(struct network *net)
{
	struct network_rules *rules = &net->rules;
	_cleanup_close_ int request = -1;
	struct buf b;
	bool ports;
	int r = 0;

	/* At the machine's end the kernel's rules end with it. */
	if (child_running(&rules->child) || net->pods->stopping)
		return;
	/* Ports first: they are everybody's, and a filter is one pod's. */
	ports = ports_wait(net);
	rules->filter = ports ? NULL : next_filter(net);
	if (!ports && !rules->filter)
		return;
	buf_init(&b, NFT_REQUEST_BYTES);
	if (rules->filter) {
		(void)snprintf(rules->netns, sizeof(rules->netns), "/proc/%d/fd/%d",
			       getpid(), rules->filter->sandbox.net_fd);
		r = ask_filter(rules->filter, &b);
	} else {
		if (rules->reset)
			r = ask_base(net, &b);
		if (r == 0)
			r = ask_removals(net, &b);
		if (r == 0)
			r = ask_additions(net, &b);
	}
	request = r < 0 ? r : request_file(&b);
	buf_free(&b);
	if (request < 0)
		rules_failed(net, strerror(-request));
	else
		rules_start(net, request);
}

void network_rules_base(struct network *net)
{
	rules_run(net);
}

void network_rules_add(struct pod *pod)
{
	if (host_ports_any(pod))
		pod->net.rules = RULES_WANTED;
	rules_run(pod->pods->network);
}

void network_rules_remove(struct pod *pod)
{
	struct pod_net *n = &pod->net;
	struct network *net = pod->pods->network;

	n->filter_wanted = false;
	if (net->rules.filter == pod)
		child_cancel(&net->rules.child);
	if (n->rules == RULES_WANTED)
		n->rules = RULES_NONE; /* they never were on their way, or a reset is */
	else if (n->rules == RULES_IN)
		n->rules = net->rules.reset && !child_running(&net->rules.child) ?
				   RULES_NONE :
				   RULES_UNWANTED;
	rules_run(net);
}
