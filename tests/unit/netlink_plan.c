// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan.c - the interfaces of pods made and removed, as iproute2 sees them.
 */
#include "netlink_plan_fixture.h"

#include <dirent.h>
#include <malloc.h>

/* ---- the machine ---- */

static void run_machine(void)
{
	struct net_machine m;
	struct space home = machine_up(&m);

	MUST(sees(NULL, "ip -j -d link show dev pod0",
		  ".[0] | .linkinfo.info_kind == \"bridge\" and .mtu == 1500 and "
		  ".linkinfo.info_data.stp_state == 0 and "
		  ".linkinfo.info_data.forward_delay == 0 and "
		  "(.flags | index(\"UP\") != null) and "
		  ".address == \"06:00:0a:58:00:01\""));
	MUST(sees(NULL, "ip -j addr show dev pod0",
		  "[.[0].addr_info[] | select(.scope == \"global\") | "
		  "\"\\(.local)/\\(.prefixlen)\"] == [\"10.88.0.1/16\",\"fd9c::1/64\"]"));
	MUST(sees(NULL, "ip -j addr show dev pod0",
		  "[.[0].addr_info[] | select(.tentative)] == []"));
	MUST(shell("test $(cat /proc/sys/net/ipv4/ip_forward) = 1 && "
		   "test $(cat /proc/sys/net/ipv6/conf/all/forwarding) = 1"));
	space_end(&home);
}

static void the_machines_side_stands(void **state)
{
	(void)state;
	in_machine(run_machine);
}

/* Of an earlier life: another range, whose address is the first of a subnet that holds
 * the gateway too; down, with a spanning tree and a short MTU. */
static void run_again(void)
{
	struct net_machine m = machine_plan();
	struct err e = { 0 };

	MUST(shell("ip link add pod0 mtu 1300 type bridge stp_state 1 && "
		   "ip addr add 10.88.0.9/16 dev pod0 && "
		   "ip addr add 10.88.0.1/16 dev pod0 && "
		   "ip addr add 10.99.0.1/24 dev pod0 && "
		   "ip addr add fd00::1/64 dev pod0"));
	for (int i = 0; i < 2; i++) {
		MUST_OK(net_machine_apply(&m, &e), e);
		MUST(sees(NULL, "ip -j -d link show dev pod0",
			  ".[0] | .mtu == 1500 and "
			  ".linkinfo.info_data.stp_state == 0 and "
			  "(.flags | index(\"UP\") != null) and "
			  ".address == \"06:00:0a:58:00:01\""));
		MUST(sees(NULL, "ip -j addr show dev pod0",
			  "[.[0].addr_info[] | select(.scope == \"global\") | .local] "
			  "== [\"10.88.0.1\",\"fd9c::1\"]"));
	}
	MUST(shell("ip link del pod0 && ip link add pod0 type veth"));
	MUST(net_machine_apply(&m, &e) == -EEXIST);
	MUST(!strcmp(e.text, "pod0 is there already, and it is no bridge"));
}

static void what_is_there_is_brought_into_shape(void **state)
{
	(void)state;
	in_machine(run_again);
}

/* ---- a pod ---- */

static void run_pod(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);

	apply(p, &m, &home, &pod);
	MUST(sees_soon(
		&pod, "ip -j -d addr show dev eth0",
		".[0] | .operstate == \"UP\" and .mtu == 1500 and "
		".address == \"02:58:0a:58:00:02\" and "
		"([.addr_info[] | select(.scope == \"global\") | "
		"\"\\(.local)/\\(.prefixlen)\"] == "
		"[\"10.88.0.2/16\",\"fd9c::2/64\"]) and "
		"([.addr_info[] | select(.scope == \"global\" and .tentative)] == [])"));
	MUST(sees(&pod, "ip -j route",
		  "[.[] | select(.dst == \"default\") | .gateway] == [\"10.88.0.1\"]"));
	MUST(sees(&pod, "ip -j -6 route",
		  "[.[] | select(.dst == \"default\") | .gateway] == [\"fd9c::1\"]"));
	MUST(sees(&pod, "ip -j link show dev lo", ".[0].flags | index(\"UP\") != null"));
	MUST(sees_soon(NULL, "ip -j -d link show dev pv7",
		       ".[0] | .master == \"pod0\" and .operstate == \"UP\" and "
		       ".link_netnsid == 7 and .inet6_addr_gen_mode == \"none\""));
	MUST(sees(NULL, "ip -j addr show dev pv7", ".[0].addr_info == []"));
	MUST(sees_soon(
		NULL, "bridge -j link show",
		"[.[] | select(.ifname == \"pv7\") | .state] == [\"forwarding\"]"));
	MUST(shell("nsenter --net=/proc/%d/fd/%d sh -c 'test $(cat "
		   "/proc/sys/net/ipv6/conf/eth0/accept_ra) = 0 && test $(cat "
		   "/proc/sys/net/ipv6/conf/eth0/accept_dad) = 0'",
		   (int)getpid(), pod.fd));
	/* The caller is where it was. */
	MUST(shell("test /proc/%d/ns/net -ef /proc/%d/fd/%d", (int)getpid(),
		   (int)getpid(), home.fd));
	take_away(p, &home, &pod);
	MUST(sees(NULL, "ip -j link", "[.[].ifname] | index(\"pv7\") == null"));
	MUST(sees(&pod, "ip -j link", "[.[].ifname] | index(\"eth0\") == null"));
	take_away(p, &home, &pod); /* gone already */
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_pod_gets_its_interface(void **state)
{
	(void)state;
	in_machine(run_pod);
}

/* A number is taken by a namespace that dies slowly; the pod starts all the same. */
static void run_number(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), old = space_new(&home),
		     pod = space_new(&home);
	struct net_plan *p = plain(7, 2), *q = plain(7, 2);

	apply(p, &m, &home, &old);
	/* Its veth is left by a child that was killed: replaced. */
	apply(q, &m, &home, &pod);
	MUST(sees(NULL, "ip -j link show dev pv7", ".[0].link_netnsid == 1073741831"));
	MUST(net_slot_of_nsid(1073741831) == 7 && net_slot_of_nsid(7) == 7);
	MUST(sees(&old, "ip -j link", "[.[].ifname] | index(\"eth0\") == null"));
	free(p);
	free(q);
	space_end(&pod);
	space_end(&old);
	space_end(&home);
}

static void a_number_in_use_fails_nobody(void **state)
{
	(void)state;
	in_machine(run_number);
}

/* ---- failures ---- */

static void run_failures(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(1, 2);
	struct net_if *i = &p->ifs[0], *second;

	i->gateway4 = inet_of("224.0.0.1");
	fails(p, &m, &home, &pod, -EINVAL,
	      "add route default by 224.0.0.1 on eth0: Invalid argument");
	i->gateway4 = inet_of("10.88.0.1");
	ADDRESS(i, "10.88.0.2/16");
	fails(p, &m, &home, &pod, -EEXIST,
	      "add address 10.88.0.2/16 to eth0: File exists");
	i->n_addrs--;
	i->egress_bits = UINT64_MAX;
	fails(p, &m, &home, &pod, -ERANGE, "Numerical result out of range");
	i->egress_bits = 0;
	(void)strcpy(i->parent, "br7");
	fails(p, &m, &home, &pod, -ENODEV, "find bridge br7: No such device");
	(void)strcpy(i->parent,
		     "lo"); /* no bridge: the veth is made, its master not set */
	fails(p, &m, &home, &pod, -EINVAL, "make veth pv1");
	(void)strcpy(i->parent, "pod0");
	second = if_of(p, NET_MACVLAN, "eth1", "nic7");
	fails(p, &m, &home, &pod, -ENODEV, "find interface nic7: No such device");
	/* The second is not made: the first goes again. */
	p->n_ifs--;
	second = if_of(p, NET_VETH, "eth0", "pod0");
	(void)strcpy(second->host_name, "pvx");
	fails(p, &m, &home, &pod, -EEXIST, "make veth pvx: File exists");
	p->n_ifs = NET_IFS_MAX + 1;
	fails(p, &m, &home, &pod, -EINVAL, "9 interfaces are too many");
	p->n_ifs = 1;
	apply(p, &m, &home, &pod);
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_failure_leaves_nothing(void **state)
{
	(void)state;
	in_machine(run_failures);
}

/* What was there before the call is not undone with it. */
static void run_others(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(1, 2);
	struct err e = { 0 };

	MUST(shell("ip link add pv1 type bridge"));
	MUST(net_plan_apply(p, &m, home.nl, pod.nl, pod.fd, &e) == -EEXIST);
	MUST(shell("ip link show dev pv1 >/dev/null"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void others_links_are_left(void **state)
{
	(void)state;
	in_machine(run_others);
}

/* ---- limits ---- */

static void run_limit(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(4, 2);

	p->ifs[0].egress_bits = 10000000;
	p->ifs[0].ingress_bits = 2000000000;
	apply(p, &m, &home, &pod);
	MUST(sees(&pod, "tc -j qdisc show dev eth0",
		  ".[0] | .kind == \"tbf\" and .root and .options.rate == 1250000 and "
		  ".options.burst >= 15000"));
	MUST(sees(NULL, "tc -j qdisc show dev pv4",
		  ".[0] | .kind == \"tbf\" and .root and .options.rate == 250000000 and "
		  ".options.burst >= 2400000"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_limit_is_a_token_bucket(void **state)
{
	(void)state;
	in_machine(run_limit);
}

/* ---- leaks ---- */

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	MUST(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static void run_cycles(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(8, 2);
	size_t before = 0;
	int fds = 0;

	p->ifs[0].egress_bits = p->ifs[0].ingress_bits = 10000000;
	for (int i = 0; i < 200; i++) {
		if (i == 100) {
			fds = count_fds();
			before = mallinfo2().uordblks;
		}
		apply(p, &m, &home, &pod);
		take_away(p, &home, &pod);
	}
	/* Less than malloc's smallest block (32 bytes) a cycle; it counts those that it
	 * keeps at hand as used. */
	MUST(mallinfo2().uordblks < before + (size_t)100 * 16);
	MUST(count_fds() == fds);
	MUST(sees(NULL, "ip -j link", "[.[].ifname | select(startswith(\"pv\"))] == []"));
	MUST(sees(&pod, "ip -j link", "[.[].ifname] | index(\"eth0\") == null"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void cycles_leave_nothing(void **state)
{
	(void)state;
	in_machine(run_cycles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_machines_side_stands),
		cmocka_unit_test(what_is_there_is_brought_into_shape),
		cmocka_unit_test(a_pod_gets_its_interface),
		cmocka_unit_test(a_number_in_use_fails_nobody),
		cmocka_unit_test(a_failure_leaves_nothing),
		cmocka_unit_test(others_links_are_left),
		cmocka_unit_test(a_limit_is_a_token_bucket),
		cmocka_unit_test(cycles_leave_nothing),
	};

	return cmocka_run_group_tests_name("netlink plan", tests, NULL, NULL);
}
