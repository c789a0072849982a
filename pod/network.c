// SPDX-License-Identifier: Apache-2.0
/*
 * network.c - see network.h: the machine's side, and a pod's way through it.
 *
 * Owns: struct network. Plans are made in network_plan.c, rules in network_ports.c.
 */
#include "pod/network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "netlink/nl.h"
#include "pod/host_ports.h"
#include "pod/names.h"
#include "pod/network_private.h"
#include "pod/pod.h"

#define NETNS_DIR        "/run/netns"
#define SETUP_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define MTU_DEFAULT      1500

/* ---- the machine's side ---- */

static int setup_run(void *arg)
{
	const struct network *net = arg;
	struct err e = { 0 };

	if (net_machine_apply(&net->machine, &e) == 0)
		return 0;
	(void)dprintf(STDERR_FILENO, "%s", e.text);
	return 1;
}

/* Pods that wait for the network are started anew: each looks again. */
static void wake_pods(struct network *net)
{
	struct pods *pods = net->pods;

	list_for_each(node, &pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->state == POD_CREATED && pod->net.plan && !pod->net.made &&
		    !child_running(&pod->sandbox.child) && list_empty(&pod->starting) &&
		    !pod->sandbox.retry.loop)
			list_append(&pods->starting, &pod->starting);
	}
	if (!list_empty(&pods->starting))
		(void)loop_timer_set(pods->loop, &pods->start_timer, /* reserved */
				     loop_now(pods->loop));
}

static void tell_waiting(struct network *net)
{
	list_for_each(node, &net->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (pod->state != POD_CREATED || !pod->net.plan || pod->net.made)
			continue;
		sandbox_tell(pod, net->trouble);
	}
}

static void start_setup(struct network *net);

static void retry_due(struct loop_timer *timer)
{
	start_setup(container_of(timer, struct network, retry));
}

static void setup_failed(struct network *net, const char *why)
{
	int64_t delay = backoff_next(&net->backoff, &net->pods->backoff, 0);

	net->state = NETWORK_FAILED;
	(void)snprintf(net->trouble, sizeof(net->trouble), "pod network: %s", why);
	log_error("%s; next try in %lld ms", net->trouble,
		  (long long)(delay / NSEC_PER_MSEC));
	tell_waiting(net);
	net->retry.fn = retry_due;
	(void)loop_timer_set(net->pods->loop, &net->retry,
			     time_add(loop_now(net->pods->loop), delay));
}

static void setup_done(struct child *child)
{
	struct network *net = container_of(child, struct network, setup);

	if (!child_ok(child)) {
		setup_failed(net, child_failure(child));
		return;
	}
	net->state = NETWORK_READY;
	net->trouble[0] = '\0';
	if (net->made_mtu != net->machine.mtu) { /* it changed meanwhile */
		start_setup(net);
		return;
	}
	net->backoff = (struct backoff){ 0 };
	network_rules_base(net);
	wake_pods(net);
}

static void start_setup(struct network *net)
{
	int r;

	if (child_running(&net->setup) || net->pods->stopping)
		return;
	net->state = NETWORK_MAKING;
	net->made_mtu = net->machine.mtu;
	net->setup.name = "network";
	net->setup.run = setup_run;
	net->setup.arg = net;
	net->setup.timeout_ns = SETUP_TIMEOUT_NS;
	net->setup.keep_fd = -1;
	net->setup.done = setup_done;
	r = child_start(net->pods->loop, &net->setup);
	if (r < 0)
		setup_failed(net, strerror(-r));
}

static uint32_t mtu_of(const struct pods *pods)
{
	if (pods->machine->network.mtu)
		return (uint32_t)pods->machine->network.mtu;
	return pods->uplink.mtu ? pods->uplink.mtu : MTU_DEFAULT;
}

void network_uplink_changed(struct network *net)
{
	uint32_t mtu = mtu_of(net->pods);

	if (mtu == net->machine.mtu)
		return;
	net->machine.mtu = mtu;
	if (net->state == NETWORK_READY)
		start_setup(net); /* pods that are there keep their interfaces */
}

bool network_ready(struct pod *pod)
{
	struct network *net = pod->pods->network;

	if (!pod->net.plan)
		return true;
	if (net->state == NETWORK_READY && !network_watch_bridge_lost(net->watch)) {
		network_watch_add(net->watch, pod);
		return true;
	}
	if (net->state == NETWORK_UNUSED || net->state == NETWORK_READY)
		start_setup(net);
	else if (net->state == NETWORK_FAILED)
		sandbox_tell(pod, net->trouble);
	return false;
}

static void init_range(struct number_pool *pool, const struct inet *range,
		       struct inet *gateway)
{
	uint64_t size = inet_size(range);

	/* 0 is the network's own address (or the anycast one of RFC 4291 2.6.1), 1 the
	 * gateway's; IPv4 has a broadcast address at the end. */
	number_pool_init(pool, 2, size - (range->family == AF_INET ? 2 : 1));
	*gateway = range->family ? inet_nth(range, 1) : (struct inet){ 0 };
}

int network_init(struct network **ret, struct pods *pods, struct err *e)
{
	const struct machine_network *m = &pods->machine->network;
	struct network *net = calloc(1, sizeof(*net));

	if (!net)
		return err_set(e, STAGE_SANDBOX, ENOMEM, "pod network");
	net->pods = pods;
	child_init(&net->setup);
	number_pool_init(&net->slots, 0, PODS_MAX - 1);
	init_range(&net->hosts4, &m->pod_range4, &net->machine.gateway4);
	init_range(&net->hosts6, &m->pod_range6, &net->machine.gateway6);
	(void)snprintf(net->machine.bridge, sizeof(net->machine.bridge), "%s", m->bridge);
	net->machine.mtu = mtu_of(pods);
	network_rules_init(net);
	*ret = net;
	if (network_watch_start(&net->watch, net) < 0)
		return err_set(e, STAGE_SANDBOX, ENOMEM, "pod network");
	return 0;
}

/* ---- a pod ---- */

int network_assign(struct pod *pod, struct err *e)
{
	int r = host_ports_check(pod->pods, pod, e);

	if (r == 0 && !pod->spec->host_network)
		r = network_plan_new(pod->pods->network, pod, e);
	if (r < 0)
		return r;
	pod->net.ports_held = true;
	pod->net.filter_wanted = pod->spec->net_policy.n_internal ||
				 pod->spec->net_policy.n_external;
	return 0;
}

void network_forget(struct pod *pod)
{
	pod->net.ports_held = false;
	network_plan_free(pod->pods->network, pod);
}

void network_netns_name(const struct pod *pod, char *buf, size_t size)
{
	/* '_' is in no name of Kubernetes: the two forms cannot meet. */
	if (strcmp(pod->namespace, "default") == 0)
		(void)snprintf(buf, size, "%s", pod->name);
	else
		(void)snprintf(buf, size, "%s_%s", pod->namespace, pod->name);
}

/* For `ip netns` and nsenter(1), both of which open what they find: a link to our
 * descriptor. A bind mount of each namespace would be copied into every member's mount
 * namespace; with a thousand pods that costs more than all the rest of a start. */
static void name_namespace(const struct pod *pod)
{
	char path[PATH_MAX], target[48];
	int n = snprintf(path, sizeof(path), "%s/", NETNS_DIR);

	network_netns_name(pod, path + n, sizeof(path) - (size_t)n);
	(void)snprintf(target, sizeof(target), "/proc/%d/fd/%d", getpid(),
		       pod->sandbox.net_fd);
	(void)mkdir(NETNS_DIR, 0755);
	(void)unlink(path);
	if (symlink(target, path) < 0)
		log_warn("pod %s/%s: %s: %s", pod->namespace, pod->name, path,
			 strerror(errno));
}

static void unname_namespace(const struct pod *pod)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/", NETNS_DIR);

	network_netns_name(pod, path + n, sizeof(path) - (size_t)n);
	(void)unlink(path); /* ENOENT: the sandbox never stood */
}

void network_made(struct pod *pod)
{
	if (!pod->net.plan) {
		names_changed(pod->pods);
		return;
	}
	pod->net.made = true;
	name_namespace(pod);
	names_changed(pod->pods);
	network_rules_add(pod);
}

bool network_up(const struct pod *pod)
{
	const struct pod_net *n = &pod->net;

	if (!n->plan)
		return true;
	/* A packet that leaves before the masquerade is there is lost, and its connection
	 * with it: conntrack remembers that nothing is translated. */
	if (pod->pods->machine->network.uplink.mode != UPLINK_MODE_NONE &&
	    !pod->pods->network->rules.tried)
		return false;
	return n->made && !n->filter_wanted &&
	       (n->rules == RULES_IN || !host_ports_any(pod));
}

void network_end(struct pod *pod)
{
	pod->net.ports_held = false;
	if (!pod->net.plan)
		return;
	if (pod->net.made)
		unname_namespace(pod);
	network_watch_drop(pod->pods->network->watch, pod);
	pod->net.made = false;
	network_rules_remove(pod);
	names_changed(pod->pods);
}

bool network_down(const struct pod *pod)
{
	const struct network *net = pod->pods->network;

	return pod->net.rules == RULES_NONE && net->rules.filter != pod;
}

/* ---- in children ---- */

int network_make(const struct pod *pod, struct nl *machine, struct err *e)
{
	const struct network *net = pod->pods->network;
	_cleanup_close_ int netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct nl *inside = NULL;
	int r;

	if (netns < 0)
		return err_set(e, STAGE_SANDBOX, errno, "open the network namespace");
	r = nl_open(&inside, e);
	if (r < 0)
		return r;
	r = net_plan_apply(pod->net.plan, &net->machine, machine, inside, netns, e);
	nl_disconnect(inside);
	return r;
}

int network_remove(const struct pod *pod, int netns_fd, struct err *e)
{
	_cleanup_close_ int home = -1;
	struct nl *machine = NULL, *inside = NULL;
	int r = nl_open(&machine, e);

	if (r < 0)
		return r;
	home = nl_netns(machine);
	if (netns_fd >= 0)
		r = nl_open_in(netns_fd, &inside, e);
	if (r == 0)
		r = net_plan_remove(pod->net.plan, machine, inside, home, e);
	nl_disconnect(inside);
	nl_disconnect(machine);
	return r;
}

/* ---- who has which address ---- */

size_t network_host_ips(const struct pods *pods, struct inet *ret, size_t max)
{
	const struct inet *gateways[] = { &pods->network->machine.gateway4,
					  &pods->network->machine.gateway6 };
	size_t n = 0;

	for (; n < pods->uplink.n_addrs && n < max; n++)
		ret[n] = pods->uplink.addrs[n];
	/* Without a way out the machine is known by its side of the bridge. */
	for (size_t i = 0; pods->uplink.n_addrs == 0 && i < ARRAY_SIZE(gateways); i++)
		if (gateways[i]->family && n < max)
			ret[n++] = *gateways[i];
	return n;
}

size_t network_ips(const struct pod *pod, struct inet *ret, size_t max)
{
	const struct inet *ips[] = { &pod->net.ip4, &pod->net.ip6 };
	size_t n = 0;

	if (!pod->net.plan)
		return network_host_ips(pod->pods, ret, max);
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++)
		if (ips[i]->family && n < max)
			ret[n++] = *ips[i];
	return n;
}
