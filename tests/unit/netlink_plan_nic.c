// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan_nic.c - macvlan and ipvlan on a NIC, and a NIC lent to a pod.
 */
#include "netlink_plan_fixture.h"

static void run_macvlan(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plan_of(5);
	struct net_if *i = if_of(p, NET_MACVLAN, "eth0", "nic0");

	MUST(shell("ip link add nic0 type veth peer name wire && ip link set wire up"));
	ADDRESS(i, "192.0.2.5/24");
	i->gateway4 = inet_of("192.0.2.1");
	i->mode = NET_MODE_PRIVATE;
	i->has_mac = true;
	memcpy(i->mac, (uint8_t[]){ 2, 0, 0, 0, 0, 9 }, sizeof(i->mac));
	apply(p, &m, &home, &pod);
	MUST(sees_soon(
		&pod, "ip -j -d link show dev eth0",
		".[0] | .linkinfo.info_kind == \"macvlan\" and "
		".linkinfo.info_data.mode == \"private\" and .operstate == \"UP\" and "
		".address == \"02:00:00:00:00:09\""));
	MUST(sees(&pod, "ip -j route show default", ".[0].gateway == \"192.0.2.1\""));
	take_away(p, &home, &pod);
	MUST(sees(&pod, "ip -j link", "[.[].ifname] | index(\"eth0\") == null"));
	MUST(shell("ip link show dev nic0 >/dev/null"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_macvlan_hangs_on_its_nic(void **state)
{
	(void)state;
	in_machine(run_macvlan);
}

/* Where the kernel has no ipvlan the error is what is tested. */
static void run_ipvlan(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plan_of(5);
	struct net_if *i = if_of(p, NET_IPVLAN, "eth0", "nic0");
	struct err e = { 0 };
	int r;

	MUST(shell("ip link add nic0 type veth peer name wire && ip link set wire up"));
	ADDRESS(i, "192.0.2.5/24");
	i->mode = NET_MODE_L3;
	r = net_plan_apply(p, &m, home.nl, pod.nl, pod.fd, &e);
	if (r < 0) {
		MUST(r == -EOPNOTSUPP);
		MUST(!strcmp(e.text, "make ipvlan eth0: kernel module ipvlan is "
				     "missing"));
	} else {
		MUST(sees(&pod, "ip -j -d link show dev eth0",
			  ".[0].linkinfo | .info_kind == \"ipvlan\" and "
			  ".info_data.mode == \"l3\""));
		take_away(p, &home, &pod);
	}
	MUST(sees(&pod, "ip -j link", "[.[].ifname] | index(\"eth0\") == null"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void an_ipvlan_or_why_not(void **state)
{
	(void)state;
	in_machine(run_ipvlan);
}

static void run_device(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plan_of(6);
	struct net_if *i = if_of(p, NET_DEVICE, "eth1", "nic0");

	MUST(shell("ip link add nic0 type veth peer name wire && "
		   "ip link set nic0 alias 'to: the lab' && "
		   "ip link set wire up && ip link set nic0 up"));
	ADDRESS(i, "192.0.2.5/24");
	i->has_mac = true;
	i->mtu = 1400;
	memcpy(i->mac, (uint8_t[]){ 2, 0, 0, 0, 0, 9 }, sizeof(i->mac));
	apply(p, &m, &home, &pod);
	MUST(sees_soon(&pod, "ip -j addr show dev eth1",
		       ".[0] | .operstate == \"UP\" and .mtu == 1400 and "
		       ".address == \"02:00:00:00:00:09\" and "
		       ".addr_info[0].local == \"192.0.2.5\""));
	MUST(sees(NULL, "ip -j link", "[.[].ifname] | index(\"nic0\") == null"));
	/* The pod gives it a name of its own. */
	MUST(shell("nsenter --net=/proc/%d/fd/%d sh -c 'ip link set eth1 down && ip link "
		   "set eth1 name mine'",
		   (int)getpid(), pod.fd));
	take_away(p, &home, &pod);
	MUST(sees(NULL, "ip -j link show dev nic0", ".[0].ifalias == \"to: the lab\""));
	take_away(p, &home, &pod);
	MUST(shell("ip link show dev nic0 >/dev/null"));
	/* A failure after the move brings it back. */
	ADDRESS(i, "192.0.2.5/24");
	fails(p, &m, &home, &pod, -EEXIST, "add address 192.0.2.5/24 to eth1");
	MUST(sees(NULL, "ip -j link show dev nic0", ".[0].ifalias == \"to: the lab\""));
	/* Its name was taken meanwhile: it comes back all the same. */
	i->n_addrs = 1;
	apply(p, &m, &home, &pod);
	MUST(shell("ip link add nic0 type bridge"));
	MUST(net_plan_remove(p, home.nl, pod.nl, home.fd, NULL) == -EEXIST);
	MUST(sees(NULL, "ip -j link show type veth",
		  "[.[] | select(.ifalias == \"to: the lab\")] | length == 1"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_nic_goes_in_and_comes_back(void **state)
{
	(void)state;
	in_machine(run_device);
}

/* The namespace died with it, and the kernel gave it back as it was called there. */
static void run_orphan(void)
{
	struct net_machine m;
	struct space home = machine_up(&m);
	struct net_plan *p = plan_of(6);

	(void)if_of(p, NET_DEVICE, "eth1", "nic0");
	MUST(shell("ip link add dev3 type bridge && "
		   "ip link set dev3 alias podinit:nic0 up"));
	take_away(p, &home, NULL);
	MUST(sees(NULL, "ip -j link show dev nic0",
		  ".[0] | .ifname == \"nic0\" and .ifalias == null"));
	free(p);
	space_end(&home);
}

static void a_nic_of_a_dead_pod_gets_its_name_back(void **state)
{
	(void)state;
	in_machine(run_orphan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_macvlan_hangs_on_its_nic),
		cmocka_unit_test(an_ipvlan_or_why_not),
		cmocka_unit_test(a_nic_goes_in_and_comes_back),
		cmocka_unit_test(a_nic_of_a_dead_pod_gets_its_name_back),
	};

	return cmocka_run_group_tests_name("netlink plan nic", tests, NULL, NULL);
}
