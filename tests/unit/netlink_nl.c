// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_nl.c - batches of requests, their acknowledgements and their errors.
 */
#include "netlink_fixture.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "netlink/address.h"
#include "netlink/qdisc.h"
#include "netlink/route.h"

static struct nl_batch *batch_of(struct nl *nl)
{
	struct nl_batch *b = NULL;

	MUST(nl_batch_new(nl, &b) == 0);
	return b;
}

/* More than one sendmsg(2) takes, and more than the receive buffer holds answers for. */
static void run_many(void)
{
	struct space m = space_here();
	struct nl_batch *b = batch_of(m.nl);
	struct err e = { 0 };
	struct inet net = inet_of("10.0.0.0/8");

	link_set_up(b, 1, "lo");
	for (unsigned int i = 1; i <= 1000; i++) {
		struct inet a = inet_nth(&net, i);

		a.prefix = 32;
		address_add(b, 1, "lo", &a);
	}
	MUST(nl_batch_count(b) == 1001);
	MUST_OK(nl_batch_send(b, &e), e);
	MUST(nl_batch_count(b) == 0 && nl_batch_done(b, 1000) && !nl_batch_done(b, 1001));
	MUST(sees(NULL, "ip -j addr show dev lo",
		  "[.[0].addr_info[] | select(.local | startswith(\"10.\"))] | "
		  "length == 1000"));
	nl_batch_free(b);
	space_end(&m);
}

static void many_go_out(void **state)
{
	(void)state;
	in_machine(run_many);
}

static void run_first(void)
{
	struct space m = space_here();
	struct nl_batch *b = batch_of(m.nl);
	struct err e = { 0 };
	struct inet one = inet_of("10.0.0.1/24"), two = inet_of("10.0.0.2/24");

	address_add(b, 1, "lo", &one);
	address_add(b, 1, "lo", &one);
	link_set_up(b, 0, "nowhere");
	address_add(b, 1, "lo", &two);
	MUST(nl_batch_send(b, &e) == -EEXIST);
	MUST(strncmp(e.text, "add address 10.0.0.1/24 to lo: File exists", 42) == 0);
	MUST(e.code == EEXIST && e.stage == STAGE_SANDBOX);
	MUST(nl_batch_done(b, 0) && !nl_batch_done(b, 1) && !nl_batch_done(b, 2) &&
	     nl_batch_done(b, 3));
	/* The same again with an errno that counts as success. */
	address_add(b, 1, "lo", &one);
	nl_batch_ignore(b, EEXIST);
	MUST_OK(nl_batch_send(b, &e), e);
	MUST(!nl_batch_done(b, 0));
	/* What the kernel says beyond the errno. */
	link_set_mtu(b, 1, "lo", 1);
	link_set_up(b, 0, "nowhere");
	MUST(nl_batch_send(b, &e) == -ENODEV);
	nl_batch_free(b);
	space_end(&m);
}

static void the_first_failure_is_named(void **state)
{
	(void)state;
	in_machine(run_first);
}

static void run_words(void)
{
	struct space m = space_here();
	struct nl_batch *b = batch_of(m.nl);
	struct route r = { .index = 1,
			   .to = inet_of("10.9.0.0/16"),
			   .gateway = inet_of("224.0.0.1") };
	struct err e = { 0 };

	link_set_up(b, 1, "lo");
	route_add(b, "lo", &r);
	MUST(nl_batch_send(b, &e) == -ENETUNREACH);
	MUST(strcmp(e.text, "add route 10.9.0.0/16 by 224.0.0.1 on lo: Network is "
			    "unreachable (Nexthop has invalid gateway)") == 0);
	nl_batch_free(b);
	space_end(&m);
}

static void the_kernels_words_are_told(void **state)
{
	(void)state;
	in_machine(run_words);
}

static void run_unbuilt(void)
{
	struct space m = space_here();
	struct nl_batch *b = batch_of(m.nl);
	struct err e = { 0 };

	MUST(nl_batch_add(b, NULL, 0, "nothing") == -ENOMEM);
	link_set_up(b, 1, "lo");
	MUST(nl_batch_send(b, &e) == -ENOMEM && e.code == ENOMEM);
	MUST(sees(NULL, "ip -j link show dev lo", ".[0].flags | index(\"UP\") == null"));
	/* It was said: the batch is good for another row. */
	qdisc_add_limit(b, 1, "lo", UINT64_MAX, 0);
	MUST(nl_batch_send(b, &e) == -ERANGE);
	link_set_name(b, 0, "lo", "low");
	MUST(nl_batch_send(b, &e) == -EINVAL);
	link_set_up(b, 1, "lo");
	MUST_OK(nl_batch_send(b, &e), e);
	MUST_OK(nl_batch_send(b, &e), e);
	nl_batch_free(b);
	nl_batch_free(NULL);
	nl_disconnect(NULL);
	space_end(&m);
}

static void what_cannot_be_built_is_not_sent(void **state)
{
	(void)state;
	in_machine(run_unbuilt);
}

/* A kind that no kernel has. */
static void run_module(void)
{
	struct space m = space_here();
	struct nl_batch *b = batch_of(m.nl);
	struct ifinfomsg link = { 0 };
	struct err e = { 0 };

	MUST(nl_batch_add(b, nl_msg_new(RTM_NEWLINK, NLM_F_CREATE, &link, sizeof(link)),
			  0, "make it") == 0);
	nl_batch_module(b, "wormhole");
	MUST(nl_batch_send(b, &e) < 0);
	if (e.code == EOPNOTSUPP)
		MUST(strcmp(e.text, "make it: kernel module wormhole is missing") == 0);
	nl_batch_free(b);
	space_end(&m);
}

static void a_missing_module_is_said(void **state)
{
	(void)state;
	in_machine(run_module);
}

static uint32_t port_of(int fd)
{
	struct sockaddr_nl own = { 0 };
	socklen_t len = sizeof(own);

	MUST(getsockname(fd, (struct sockaddr *)&own, &len) == 0);
	return own.nl_pid;
}

/* A process may write to another's netlink socket: its text is no acknowledgement. */
static void run_forged(void)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr answer;
	} lie = { .h = { .nlmsg_len = sizeof(lie),
			 .nlmsg_type = NLMSG_ERROR,
			 .nlmsg_seq = 1 },
		  .answer = { .error = -EPERM } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int next = dup(fd);
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct nl_batch *b;
	struct nl *nl = NULL;
	struct err e = { 0 };

	MUST(fd >= 0 && next >= 0 && close(next) == 0);
	MUST_OK(nl_open(&nl, &e), e);
	to.nl_pid = port_of(next); /* the lowest free descriptor was taken */
	MUST(sendto(fd, &lie, sizeof(lie), 0, (struct sockaddr *)&to, sizeof(to)) ==
	     (ssize_t)sizeof(lie));
	b = batch_of(nl);
	link_set_up(b, 1, "lo");
	MUST_OK(nl_batch_send(b, &e), e);
	MUST(sees(NULL, "ip -j link show dev lo", ".[0].flags | index(\"UP\") != null"));
	nl_batch_free(b);
	nl_disconnect(nl);
}

static void forged_answers_are_not_believed(void **state)
{
	(void)state;
	in_machine(run_forged);
}

static void run_elsewhere(void)
{
	struct space m = space_here(), pod = space_new(&m);
	struct nl *nl = NULL;
	struct err e = { 0 };
	struct nl_batch *b;
	int fd;

	MUST_OK(nl_open_in(pod.fd, &nl, &e), e);
	b = batch_of(nl);
	link_set_up(b, 0, "lo");
	MUST_OK(nl_batch_send(b, &e), e);
	MUST(sees(&pod, "ip -j link show dev lo", ".[0].flags | index(\"UP\") != null"));
	MUST(sees(NULL, "ip -j link show dev lo", ".[0].flags | index(\"UP\") == null"));
	MUST(nl_index(nl, "lo") == 1 && nl_mtu(nl, "lo") == 65536);
	MUST(nl_index(nl, "eth9") == -ENODEV);
	MUST(nl_index(nl, "a-name-that-is-too-long") == -ENODEV);
	fd = nl_netns(nl);
	MUST(fd >= 0 && shell("test /proc/%d/fd/%d -ef /proc/%d/fd/%d", (int)getpid(), fd,
			      (int)getpid(), pod.fd));
	MUST(close(fd) == 0);
	MUST(nl_open_in(STDERR_FILENO, &nl, &e) < 0);
	MUST(strstr(e.text, "enter a network namespace"));
	nl_batch_free(b);
	nl_disconnect(nl);
	space_end(&pod);
	space_end(&m);
}

static void a_connection_stays_in_its_namespace(void **state)
{
	(void)state;
	in_machine(run_elsewhere);
}

static int count_links(void *arg, const struct link_info *link)
{
	++*(int *)arg;
	return link->index > 0 && link->name[0] ? 0 : -EBADMSG;
}

static int stop_at_once(void *arg, const struct link_info *link)
{
	(void)link;
	++*(int *)arg;
	return -ECANCELED;
}

static int take_address(void *arg, const struct address_info *a)
{
	if (a->addr.family == AF_INET)
		*(struct address_info *)arg = *a;
	return 0;
}

static int take_route(void *arg, const struct route_info *r)
{
	if (r->to.prefix == 0)
		*(struct route_info *)arg = *r;
	return 0;
}

static void run_read(void)
{
	struct space m = space_here();
	struct link_info link;
	struct address_info a = { 0 };
	struct route_info r = { 0 };
	struct inet gw = inet_of("192.0.2.1");
	int n = 0;

	MUST(shell("ip link add va mtu 1400 address 02:00:00:00:00:07 type veth peer "
		   "name vb && ip link add pod9 type bridge && "
		   "ip link set va master pod9 && ip link set va up && "
		   "ip link set vb up alias spare && ip addr add 192.0.2.9/24 dev vb && "
		   "ip route add default via 192.0.2.1 metric 7"));
	MUST(link_get(m.nl, 0, "va", &link) == 0);
	MUST(link.mtu == 1400 && link.flags & IFF_UP && !strcmp(link.kind, "veth"));
	MUST(link.has_mac && link.mac[5] == 7 && link.nsid == -1 &&
	     link.parent == nl_index(m.nl, "vb") &&
	     link.master == nl_index(m.nl, "pod9"));
	MUST(link_get(m.nl, nl_index(m.nl, "vb"), NULL, &link) == 0);
	MUST(!strcmp(link.name, "vb") && !strcmp(link.alias, "spare"));
	MUST(link_get(m.nl, 0, "vc", &link) == -ENODEV);
	MUST(link_each(m.nl, count_links, &n) == 0 && n >= 4);
	n = 0;
	MUST(link_each(m.nl, stop_at_once, &n) == -ECANCELED && n == 1);
	/* The connection is in step after an end half way. */
	MUST(link_get(m.nl, 0, "va", &link) == 0);
	MUST(address_each(m.nl, nl_index(m.nl, "vb"), take_address, &a) == 0);
	MUST(a.addr.prefix == 24 && a.addr.bytes[3] == 9);
	MUST(route_each(m.nl, AF_INET, take_route, &r) == 0);
	MUST(inet_same(&r.gateway, &gw) && r.metric == 7 &&
	     r.index == nl_index(m.nl, "vb"));
	space_end(&m);
}

static void what_is_there_is_read(void **state)
{
	(void)state;
	in_machine(run_read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_go_out),
		cmocka_unit_test(the_first_failure_is_named),
		cmocka_unit_test(the_kernels_words_are_told),
		cmocka_unit_test(what_cannot_be_built_is_not_sent),
		cmocka_unit_test(a_missing_module_is_said),
		cmocka_unit_test(forged_answers_are_not_believed),
		cmocka_unit_test(a_connection_stays_in_its_namespace),
		cmocka_unit_test(what_is_there_is_read),
	};

	return cmocka_run_group_tests_name("netlink nl", tests, NULL, NULL);
}
