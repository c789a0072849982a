// SPDX-License-Identifier: Apache-2.0
/*
 * net.c - the network of one pod: net_plan_apply() against the same requests written by
 * hand, and against ip(8), beside 0 to 1,023 pods.
 *
 * Runs in a user and network namespace of its own. Prints "NAME PODS MEDIAN_US" lines.
 * A pod: unshare(CLONE_NEWNET), a veth pair with its end on the bridge, lo and eth0 up,
 * an address and a default route of each family.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "netlink/nl.h"
#include "netlink/plan.h"

#define ROUNDS   21
#define PODS_MAX 1024

static struct net_machine machine = { .bridge = "pod0", .mtu = 1500 };
static int home = -1, kept[PODS_MAX + 8 * ROUNDS];
static uint32_t slots;

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- by hand ---- */

struct request {
	struct nlmsghdr h;
	char rest[1024];
};

static void *request_begin(struct request *q, int type, int flags, const void *body,
			   size_t len)
{
	memset(q, 0, sizeof(*q));
	q->h.nlmsg_len = NLMSG_LENGTH(len);
	q->h.nlmsg_type = (uint16_t)type;
	q->h.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	return memcpy(NLMSG_DATA(&q->h), body, len);
}

static struct rtattr *put(struct request *q, int type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)q + NLMSG_ALIGN(q->h.nlmsg_len));

	a->rta_type = (uint16_t)type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	q->h.nlmsg_len = NLMSG_ALIGN(q->h.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static void close_nest(struct request *q, struct rtattr *a)
{
	a->rta_len = (uint16_t)((char *)q + q->h.nlmsg_len - (char *)a);
}

static void ask(int fd, struct request *q)
{
	char answer[2048];
	struct nlmsgerr *e = NLMSG_DATA((struct nlmsghdr *)answer);

	if (send(fd, q, q->h.nlmsg_len, 0) < 0 || recv(fd, answer, sizeof(answer), 0) < 0)
		die("netlink");
	errno = -e->error;
	if (e->error)
		die("request");
}

static int open_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		die("socket");
	return fd;
}

static void ask_veth(int fd, const char *name, int bridge, int netns)
{
	struct ifinfomsg link = { .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct ifinfomsg peer = { 0 };
	struct rtattr *info, *data, *other;
	struct request q;

	request_begin(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	put(&q, IFLA_IFNAME, name, strlen(name) + 1);
	put(&q, IFLA_MASTER, &bridge, sizeof(bridge));
	info = put(&q, IFLA_LINKINFO, NULL, 0);
	put(&q, IFLA_INFO_KIND, "veth", 5);
	data = put(&q, IFLA_INFO_DATA, NULL, 0);
	other = put(&q, VETH_INFO_PEER, &peer, sizeof(peer));
	put(&q, IFLA_IFNAME, "eth0", 5);
	put(&q, IFLA_NET_NS_FD, &netns, sizeof(netns));
	close_nest(&q, other);
	close_nest(&q, data);
	close_nest(&q, info);
	ask(fd, &q);
}

static void ask_up(int fd, int index)
{
	struct ifinfomsg link = { .ifi_index = index,
				  .ifi_flags = IFF_UP,
				  .ifi_change = IFF_UP };
	struct request q;

	request_begin(&q, RTM_NEWLINK, 0, &link, sizeof(link));
	ask(fd, &q);
}

static void ask_address(int fd, int index, const struct inet *a)
{
	struct ifaddrmsg m = { .ifa_family = (uint8_t)a->family,
			       .ifa_prefixlen = (uint8_t)a->prefix,
			       .ifa_flags = IFA_F_NODAD,
			       .ifa_index = (uint32_t)index };
	struct request q;

	request_begin(&q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &m, sizeof(m));
	put(&q, IFA_LOCAL, a->bytes, inet_length(a));
	put(&q, IFA_ADDRESS, a->bytes, inet_length(a));
	ask(fd, &q);
}

static void ask_route(int fd, int index, const struct inet *gateway)
{
	struct rtmsg m = { .rtm_family = (uint8_t)gateway->family,
			   .rtm_table = RT_TABLE_MAIN,
			   .rtm_protocol = RTPROT_STATIC,
			   .rtm_scope = RT_SCOPE_UNIVERSE,
			   .rtm_type = RTN_UNICAST };
	struct request q;

	request_begin(&q, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &m, sizeof(m));
	put(&q, RTA_GATEWAY, gateway->bytes, inet_length(gateway));
	put(&q, RTA_OIF, &index, sizeof(index));
	ask(fd, &q);
}

static void by_hand(uint32_t slot, const struct inet *a4, const struct inet *a6)
{
	int outside = open_socket(), bridge = (int)if_nametoindex("pod0"), inside, netns;
	char name[IFNAMSIZ];
	int eth0;

	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	inside = open_socket();
	(void)snprintf(name, sizeof(name), "pv%x", slot);
	ask_veth(outside, name, bridge, netns);
	eth0 = (int)if_nametoindex("eth0");
	ask_up(inside, 1);
	ask_up(inside, eth0);
	ask_address(inside, eth0, a4);
	ask_address(inside, eth0, a6);
	ask_route(inside, eth0, &machine.gateway4);
	ask_route(inside, eth0, &machine.gateway6);
	close(inside);
	close(outside);
	kept[slot] = netns;
}

/* ---- ours ---- */

static void by_plan(uint32_t slot, const struct inet *a4, const struct inet *a6)
{
	struct net_plan *plan = calloc(1, sizeof(*plan) + sizeof(plan->ifs[0]));
	struct net_if *i = plan->ifs;
	struct nl *outside = NULL, *inside = NULL;
	struct err e = { 0 };
	int netns;

	plan->slot = slot;
	plan->n_ifs = 1;
	(void)snprintf(i->name, sizeof(i->name), "eth0");
	(void)snprintf(i->host_name, sizeof(i->host_name), "pv%x", slot);
	(void)snprintf(i->parent, sizeof(i->parent), "pod0");
	i->addrs[i->n_addrs++] = *a4;
	i->addrs[i->n_addrs++] = *a6;
	i->gateway4 = machine.gateway4;
	i->gateway6 = machine.gateway6;
	if (nl_open(&outside, &e) < 0)
		die(e.text);
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (nl_open(&inside, &e) < 0 ||
	    net_plan_apply(plan, &machine, outside, inside, netns, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	nl_disconnect(inside);
	nl_disconnect(outside);
	kept[slot] = netns;
	free(plan);
}

/* ---- with ip(8) ---- */

static void run(const char *fmt, ...)
{
	char command[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		die(command);
}

static void by_ip(uint32_t slot, const struct inet *a4, const struct inet *a6)
{
	char t4[INET_TEXT_BYTES], t6[INET_TEXT_BYTES];
	char g4[INET_TEXT_BYTES], g6[INET_TEXT_BYTES];
	int netns;

	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (setns(home, CLONE_NEWNET) < 0)
		die("setns");
	run("ip link add pv%x type veth peer name eth0 netns /proc/%d/fd/%d", slot,
	    getpid(), netns);
	run("ip link set pv%x master pod0 up", slot);
	if (setns(netns, CLONE_NEWNET) < 0)
		die("setns");
	run("ip link set lo up");
	run("ip link set eth0 up");
	run("ip addr add %s dev eth0", inet_format_cidr(a4, t4));
	run("ip addr add %s dev eth0 nodad", inet_format_cidr(a6, t6));
	run("ip route add default via %s", inet_format(&machine.gateway4, g4));
	run("ip -6 route add default via %s", inet_format(&machine.gateway6, g6));
	kept[slot] = netns;
}

/* ---- rounds ---- */

typedef void (*make_fn)(uint32_t slot, const struct inet *a4, const struct inet *a6);

static int64_t make(make_fn fn)
{
	struct inet a4 = inet_nth(&machine.gateway4, slots + 2);
	struct inet a6 = inet_nth(&machine.gateway6, slots + 2);
	int64_t start = time_boot_ns();

	fn(slots++, &a4, &a6);
	start = time_boot_ns() - start;
	if (setns(home, CLONE_NEWNET) < 0)
		die("setns");
	return start;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* In turns, so that what the machine does beside touches them all; taken away again. */
static void compare(const char *const names[], const make_fn fns[], size_t n)
{
	static int64_t times[3][ROUNDS];
	uint32_t pods = slots;

	for (size_t i = 0; i < ROUNDS; i++)
		for (size_t turn = 0; turn < n; turn++) {
			size_t k = (turn + i) % n; /* each comes after each other */

			times[k][i] = make(fns[k]);
			run("ip link del pv%x", --slots);
			close(kept[slots]);
		}
	for (size_t k = 0; k < n; k++) {
		qsort(times[k], ROUNDS, sizeof(times[k][0]), by_value);
		printf("%s %u %.0f\n", names[k], pods,
		       (double)times[k][ROUNDS / 2] / 1e3);
		(void)fflush(stdout);
	}
}

int main(void)
{
	static const char *const names[] = { "plan", "hand", "ip" };
	static const make_fn fns[] = { by_plan, by_hand, by_ip };
	static const uint32_t steps[] = { 0, 128, 512, 1000 };
	struct rlimit files = { 8192, 8192 };
	struct err e = { 0 };

	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)inet_parse("10.88.0.1/16", &machine.gateway4);
	(void)inet_parse("fd9c:70d1:8f2e::1/64", &machine.gateway6);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (net_machine_apply(&machine, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		while (slots < steps[s])
			(void)make(by_plan);
		/* At a full bridge ip(8), which starts eight programs, adds nothing new.
		 */
		compare(names, fns, s == 0 ? 3 : 2);
	}
	return 0;
}
