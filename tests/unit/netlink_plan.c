// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan.c - the interfaces of pods made and removed, as iproute2 sees them.
 */
#include "netlink_fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <poll.h>

#define ADDRESS(i, text) ((i)->addrs[(i)->n_addrs++] = inet_of(text))

static struct net_machine machine_plan(void)
{
	return (struct net_machine){ .bridge = "pod0",
				     .gateway4 = inet_of("10.88.0.1/16"),
				     .gateway6 = inet_of("fd9c::1/64") };
}

/* Room for every interface a test may ask for. */
static struct net_plan *plan_of(uint32_t slot)
{
	struct net_plan *p = calloc(1, sizeof(*p) + 3 * sizeof(p->ifs[0]));

	MUST(p);
	p->slot = slot;
	return p;
}

static struct net_if *if_of(struct net_plan *p, enum net_kind kind, const char *name,
			    const char *parent)
{
	struct net_if *i = &p->ifs[p->n_ifs++];

	i->kind = kind;
	(void)snprintf(i->name, sizeof(i->name), "%s", name);
	(void)snprintf(i->parent, sizeof(i->parent), "%s", parent);
	if (kind == NET_VETH)
		(void)snprintf(i->host_name, sizeof(i->host_name), "pv%x%.*s", p->slot,
			       strcmp(name, "eth0") ? 5 : 0, name);
	return i;
}

/* The pod every manifest without wishes gets. */
static struct net_plan *plain(uint32_t slot, unsigned int host)
{
	struct net_plan *p = plan_of(slot);
	struct net_if *i = if_of(p, NET_VETH, "eth0", "pod0");
	char text[32];

	(void)snprintf(text, sizeof(text), "10.88.%u.%u/16", host / 256, host % 256);
	ADDRESS(i, text);
	(void)snprintf(text, sizeof(text), "fd9c::%x/64", host);
	ADDRESS(i, text);
	i->gateway4 = inet_of("10.88.0.1");
	i->gateway6 = inet_of("fd9c::1");
	i->has_mac = true;
	memcpy(i->mac,
	       (uint8_t[]){ 2, 0x58, 10, 88, (uint8_t)(host / 256), (uint8_t)host },
	       sizeof(i->mac));
	return p;
}

static struct space machine_up(struct net_machine *ret)
{
	struct err e = { 0 };

	*ret = machine_plan();
	MUST_OK(net_machine_apply(ret, &e), e);
	return space_here();
}

static void apply(const struct net_plan *p, const struct net_machine *m,
		  const struct space *home, const struct space *pod)
{
	struct err e = { 0 };

	MUST_OK(net_plan_apply(p, m, home->nl, pod->nl, pod->fd, &e), e);
}

static void take_away(const struct net_plan *p, const struct space *home,
		      const struct space *pod)
{
	struct err e = { 0 };

	MUST_OK(net_plan_remove(p, home->nl, pod ? pod->nl : NULL, home->fd, &e), e);
}

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
		   "test $(cat /proc/sys/net/ipv4/conf/pod0/route_localnet) = 1 && "
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
	MUST(sees(
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
	MUST(sees(NULL, "ip -j -d link show dev pv7",
		  ".[0] | .master == \"pod0\" and .operstate == \"UP\" and "
		  ".link_netnsid == 7 and .inet6_addr_gen_mode == \"none\""));
	MUST(sees(NULL, "ip -j addr show dev pv7", ".[0].addr_info == []"));
	MUST(sees(NULL, "bridge -j link show",
		  "[.[] | select(.ifname == \"pv7\") | .state] == [\"forwarding\"]"));
	MUST(shell("nsenter --net=/proc/%d/fd/%d sh -c 'test $(cat "
		   "/proc/sys/net/ipv6/conf/eth0/accept_ra) = 0'",
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

static void fails(const struct net_plan *p, const struct net_machine *m,
		  const struct space *home, const struct space *pod, int code,
		  const char *text)
{
	struct err e = { 0 };
	int r = net_plan_apply(p, m, home->nl, pod->nl, pod->fd, &e);

	if (r != code || !strstr(e.text, text)) {
		(void)fprintf(stderr, "%d: %s; not %d: %s\n", r, e.text, code, text);
		_exit(1);
	}
	MUST(sees(NULL, "ip -j link", "[.[].ifname | select(startswith(\"pv\"))] == []"));
	MUST(sees(pod, "ip -j link", "[.[].ifname | select(startswith(\"eth\"))] == []"));
}

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

/* ---- more than one bridge, more than one interface ---- */

/* Over the wire: a TCP connection from one pod to the other. */
static bool reaches(const struct space *home, const struct space *from,
		    const struct space *to, const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(4242) };
	struct pollfd poller = { .events = POLLOUT };
	int server, client, code = 1;
	socklen_t len = sizeof(code);

	MUST(setns(to->fd, CLONE_NEWNET) == 0);
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(inet_pton(AF_INET, address, &a.sin_addr) == 1);
	MUST(bind(server, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	     listen(server, 1) == 0);
	MUST(setns(from->fd, CLONE_NEWNET) == 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)connect(client, (struct sockaddr *)&a, sizeof(a));
	poller.fd = client;
	MUST(poll(&poller, 1, 5000) >= 0);
	MUST(getsockopt(client, SOL_SOCKET, SO_ERROR, &code, &len) == 0);
	MUST(setns(home->fd, CLONE_NEWNET) == 0);
	(void)close(client);
	(void)close(server);
	return (poller.revents & POLLOUT) && code == 0;
}

static void run_far(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), near = space_new(&home),
		     far = space_new(&home), third = space_new(&home);
	struct net_plan *p = plain(0, 2), *q = plain(1000, 1002), *r = plain(12345, 2000);

	apply(p, &m, &home, &near);
	apply(q, &m, &home, &far);
	apply(r, &m, &home, &third);
	MUST(sees(NULL, "ip -j link show dev pv3e8", ".[0].master == \"pod0.1\""));
	MUST(sees(NULL, "ip -j link show dev pv3039", ".[0].master == \"pod0.12\""));
	MUST(sees(NULL, "ip -j link show dev pod0.1",
		  ".[0].address == \"06:01:0a:58:00:01\""));
	MUST(reaches(&home, &far, &near, "10.88.0.2"));
	MUST(reaches(&home, &third, &far, "10.88.3.234"));
	MUST(reaches(&home, &far, &home, "10.88.0.1"));
	/* A joint that was left half way is finished by the next. */
	take_away(q, &home, &far);
	MUST(shell("ip link set pj1b nomaster"));
	apply(q, &m, &home, &far);
	MUST(reaches(&home, &far, &near, "10.88.0.2"));
	(void)strcpy(m.bridge, "a-bridge-of-15b");
	(void)strcpy(q->ifs[0].parent, m.bridge);
	{
		struct err e = { 0 };

		MUST(net_plan_apply(q, &m, home.nl, far.nl, far.fd, &e) == -ENAMETOOLONG);
	}
	free(p);
	free(q);
	free(r);
	space_end(&near);
	space_end(&far);
	space_end(&third);
	space_end(&home);
}

static void slot_1000_reaches_slot_0(void **state)
{
	(void)state;
	in_machine(run_far);
}

/* Several children make the same further bridge at the same time. */
static void run_race(void)
{
	struct net_machine m;
	struct space home = machine_up(&m);
	pid_t children[6];

	for (unsigned int i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct space mine = space_here(), pod = space_new(&mine);
			struct net_plan *p = plain(2000 + i, 1000 + i);

			apply(p, &m, &mine, &pod);
			/* The veth goes with the namespace: look first. */
			MUST(shell("test $(cat /proc/self/net/dev | grep -c pv7d%x:) = 1",
				   i));
			_exit(0);
		}
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(children); i++) {
		int status = 1;

		MUST(waitpid(children[i], &status, 0) == children[i] && status == 0);
	}
	MUST(sees(NULL, "ip -j link show type bridge",
		  "[.[].ifname] | sort == [\"pod0\",\"pod0.2\"]"));
	MUST(sees(NULL, "bridge -j link show",
		  "[.[] | select(.ifname | startswith(\"pj\")) | "
		  "\"\\(.ifname) \\(.master) \\(.state)\"] | sort == "
		  "[\"pj2a pod0 forwarding\",\"pj2b pod0.2 forwarding\"]"));
	space_end(&home);
}

static void children_race_for_a_bridge(void **state)
{
	(void)state;
	in_machine(run_race);
}

static void run_several(void)
{
	struct net_machine m;
	struct space home = machine_up(&m), pod = space_new(&home);
	struct net_plan *p = plain(3, 2);
	struct net_if *i = if_of(p, NET_VETH, "net1", "lab");

	ADDRESS(i, "192.0.2.5/24");
	i->gateway4 = inet_of("198.51.100.1"); /* outside of the subnet */
	i->make_parent = true;
	i->mtu = 1400;
	apply(p, &m, &home, &pod);
	MUST(sees(&pod, "ip -j link show dev net1", ".[0].mtu == 1400"));
	MUST(sees(NULL, "ip -j link show dev pv3net1",
		  ".[0] | .mtu == 1400 and .master == \"lab\""));
	MUST(sees(&pod, "ip -j route show default",
		  "map([.gateway, .dev, .metric, (.flags | index(\"onlink\") != null)]) "
		  "== [[\"10.88.0.1\",\"eth0\",null,false],"
		  "[\"198.51.100.1\",\"net1\",1025,true]]"));
	take_away(p, &home, NULL); /* without the pod's namespace */
	MUST(sees(NULL, "ip -j link",
		  "[.[].ifname] == [\"lo\",\"pod0\",\"lab\"] or "
		  "([.[].ifname | select(startswith(\"pv\"))] == [])"));
	MUST(shell("ip link show dev lab >/dev/null")); /* it stays */
	free(p);
	space_end(&pod);
	space_end(&home);
}

static void a_second_interface_on_a_named_bridge(void **state)
{
	(void)state;
	in_machine(run_several);
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

/* ---- NICs ---- */

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
	MUST(sees(&pod, "ip -j -d link show dev eth0",
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
	MUST(sees(&pod, "ip -j addr show dev eth1",
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
		cmocka_unit_test(slot_1000_reaches_slot_0),
		cmocka_unit_test(children_race_for_a_bridge),
		cmocka_unit_test(a_second_interface_on_a_named_bridge),
		cmocka_unit_test(a_limit_is_a_token_bucket),
		cmocka_unit_test(a_macvlan_hangs_on_its_nic),
		cmocka_unit_test(an_ipvlan_or_why_not),
		cmocka_unit_test(a_nic_goes_in_and_comes_back),
		cmocka_unit_test(a_nic_of_a_dead_pod_gets_its_name_back),
		cmocka_unit_test(cycles_leave_nothing),
	};

	return cmocka_run_group_tests_name("netlink plan", tests, NULL, NULL);
}
