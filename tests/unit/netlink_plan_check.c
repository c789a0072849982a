// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan_check.c - what somebody takes from a pod is named, and put back.
 */
#include "netlink_plan_fixture.h"

static const struct damage {
	bool inside; /* the pod; else the machine */
	const char *how;
	int code;
	const char *text;
} damages[] = {
	{ true, "ip addr del 10.88.0.2/16 dev eth0", -EADDRNOTAVAIL,
	  "eth0 has no address 10.88.0.2/16" },
	{ true, "ip -6 addr del fd9c::2/64 dev eth0", -EADDRNOTAVAIL,
	  "eth0 has no address fd9c::2/64" },
	{ true, "ip addr del 10.88.0.2/16 dev eth0 && ip addr add 10.88.0.2/24 dev eth0",
	  -EADDRNOTAVAIL, "eth0 has no address 10.88.0.2/16" },
	{ true, "ip route del default", -ENETUNREACH,
	  "eth0 has no default route by 10.88.0.1" },
	{ true, "ip -6 route del default", -ENETUNREACH,
	  "eth0 has no default route by fd9c::1" },
	{ true, "ip route replace default via 10.88.0.9", -ENETUNREACH,
	  "eth0 has no default route by 10.88.0.1" },
	{ true, "ip link set eth0 down", -ENETDOWN, "eth0 is down" },
	{ true, "ip link set lo down", -ENETDOWN, "lo is down" },
	{ true, "ip link del eth0", -ENODEV, "eth0 is gone" },
	{ true, "ip link set eth0 down && ip link set eth0 name x0 up", -ENODEV,
	  "eth0 is gone" },
	{ true, "ip link set eth0 netns $PPID", -ENODEV, "eth0 is gone" },
	{ false, "ip link del pv7", -ENODEV, "eth0 is gone" },
	{ false, "ip link set pv7 down", -ENETDOWN, "pv7 is down" },
	{ false, "ip link set pv7 nomaster", -ENETDOWN, "pv7 is no port of pod0" },
	{ false, "ip link add other type bridge && ip link set pv7 master other",
	  -ENETDOWN, "pv7 is no port of pod0" },
	{ false, "ip link del pod0", -ENODEV, "bridge pod0 is gone" },
	{ false, "ip link set pod0 down", -ENETDOWN, "pod0 is down" },
	{ false, "ip addr del 10.88.0.1/16 dev pod0", -EADDRNOTAVAIL,
	  "pod0 has no address 10.88.0.1/16" },
	{ false, "ip -6 addr del fd9c::1/64 dev pod0", -EADDRNOTAVAIL,
	  "pod0 has no address fd9c::1/64" },
};

static void do_in(const struct space *s, const char *how)
{
	MUST(shell("nsenter --net=/proc/%d/fd/%d sh -c '%s'", (int)getpid(), s->fd, how));
}

static void reaches_the_gateway(const struct space *pod)
{
	MUST(shell("for a in 10.88.0.1 fd9c::1; do "
		   "nsenter --net=/proc/%d/fd/%d busybox ping -c1 -W5 $a >/dev/null || "
		   "exit 1; "
		   "done",
		   (int)getpid(), pod->fd));
}

static void run_one(const struct damage *d)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);
	struct err e = { 0 };
	int r;

	apply(p, &m, &home, &pod);
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	do_in(d->inside ? &pod : &home, d->how);
	r = net_plan_check(p, &m, home.nl, pod.nl, &e);
	if (r != d->code || strcmp(e.text, d->text) != 0) {
		(void)fprintf(stderr, "%s: %d: %s\n", d->how, r, e.text);
		_exit(1);
	}
	e = (struct err){ 0 };
	MUST_OK(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e), e);
	if (net_plan_check(p, &m, home.nl, pod.nl, &e) != 0) {
		(void)fprintf(stderr, "%s: not repaired: %s\n", d->how, e.text);
		_exit(1);
	}
	reaches_the_gateway(&pod);
	take_away(p, &home, &pod);
	MUST(sees(NULL, "ip -j link", "[.[].ifname | select(startswith(\"pv\"))] == []"));
	free(p);
	space_end(&pod);
	space_end(&home);
}

static const struct damage *now;

static void run_now(void)
{
	run_one(now);
}

static void each_damage_is_named_and_repaired(void **state)
{
	(void)state;
	for (now = damages; now < damages + ARRAY_SIZE(damages); now++)
		in_machine(run_now);
}

#define STATE "(ip -j addr show dev eth0; ip -j route; tc qdisc show dev eth0)"

/* What a member adds is its own; what is sound is not touched by a repair. */
static void run_added(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);
	char dir[] = "/tmp/podinit-check-XXXXXX", how[200];
	struct err e = { 0 };

	p->ifs[0].egress_bits = 8000000;
	apply(p, &m, &home, &pod);
	do_in(&pod, "ip addr add 10.88.7.7/16 dev eth0; ip link add d0 type veth; "
		    "ip route add 198.51.100.0/24 via 10.88.0.9");
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	MUST(mkdtemp(dir));
	(void)snprintf(how, sizeof(how), STATE " > %s/before", dir);
	do_in(&pod, how);
	MUST_OK(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e), e);
	(void)snprintf(how, sizeof(how), STATE " | cmp - %s/before", dir);
	do_in(&pod, how);
	MUST(shell("rm -r %s", dir));
	take_away(p, &home, &pod);
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void what_is_sound_is_left_alone(void **state)
{
	(void)state;
	in_machine(run_added);
}

/* What has eth0's name is not eth0; the impostor is nobody's to delete. */
static void run_impostor(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);
	struct err e = { 0 };

	apply(p, &m, &home, &pod);
	do_in(&pod, "ip link set eth0 down && ip link set eth0 name x0 up && "
		    "ip link add eth0 type veth peer name y0 && ip link set eth0 up && "
		    "ip addr add 10.88.0.2/16 dev eth0 && "
		    "ip addr add fd9c::2/64 dev eth0 nodad && "
		    "ip route add default via 10.88.0.1 dev eth0 && "
		    "ip -6 route add default via fd9c::1 dev eth0");
	MUST(net_plan_check(p, &m, home.nl, pod.nl, &e) == -ENODEV);
	MUST(!strcmp(e.text, "eth0 is another interface, not the end of pv7"));
	MUST(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e) == -EEXIST);
	do_in(&pod, "ip link del eth0");
	MUST_OK(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e), e);
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	take_away(p, &home, &pod);
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void an_impostor_is_known(void **state)
{
	(void)state;
	in_machine(run_impostor);
}

/* Two interfaces: only the one that is gone is made anew. */
static void run_second(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);
	struct net_if *i = if_of(p, NET_VETH, "net1", "lab");
	struct err e = { 0 };
	int index;

	i->make_parent = true;
	ADDRESS(i, "192.0.2.5/24");
	apply(p, &m, &home, &pod);
	index = nl_index(pod.nl, "eth0");
	do_in(&home, "ip link del lab");
	MUST(net_plan_check(p, &m, home.nl, pod.nl, &e) == -ENODEV);
	MUST(!strcmp(e.text, "bridge lab is gone"));
	do_in(&pod, "ip link del net1");
	MUST(net_plan_check(p, &m, home.nl, pod.nl, &e) == -ENODEV);
	MUST(!strcmp(e.text, "net1 is gone"));
	MUST_OK(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e), e);
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	MUST(nl_index(pod.nl, "eth0") == index);
	take_away(p, &home, &pod);
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void the_other_interface_stays(void **state)
{
	(void)state;
	in_machine(run_second);
}

/* A NIC that was taken back by hand is lent again, one that is not there is named. */
static void run_nic(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(7, 2);
	struct net_if *i = if_of(p, NET_DEVICE, "lan", "nic0");
	struct err e = { 0 };

	ADDRESS(i, "192.0.2.5/24");
	MUST(shell("ip link add nic0 type veth peer name far0"));
	apply(p, &m, &home, &pod);
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	MUST(shell("nsenter --net=/proc/%d/fd/%d ip link set lan netns %d name nic0",
		   (int)getpid(), pod.fd, (int)getpid()));
	MUST(net_plan_check(p, &m, home.nl, pod.nl, &e) == -ENODEV);
	MUST_OK(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e), e);
	MUST_OK(net_plan_check(p, &m, home.nl, pod.nl, &e), e);
	MUST(sees(&pod, "ip -j link show dev lan", ".[0].ifalias == \"podinit:nic0\""));
	MUST(shell("ip link del far0"));
	MUST(net_plan_check(p, &m, home.nl, pod.nl, &e) == -ENODEV);
	MUST(!strcmp(e.text, "lan is gone"));
	MUST(net_plan_repair(p, &m, home.nl, pod.nl, pod.fd, &e) == -ENODEV);
	MUST(!strcmp(e.text, "find interface nic0: No such device"));
	take_away(p, &home, &pod);
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_nic_is_lent_again(void **state)
{
	(void)state;
	in_machine(run_nic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_damage_is_named_and_repaired),
		cmocka_unit_test(what_is_sound_is_left_alone),
		cmocka_unit_test(an_impostor_is_known),
		cmocka_unit_test(the_other_interface_stays),
		cmocka_unit_test(a_nic_is_lent_again),
	};

	return cmocka_run_group_tests_name("netlink plan check", tests, NULL, NULL);
}
