// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_plan_bridge.c - pods on further bridges and on named ones.
 */
#include "netlink_plan_fixture.h"

#include <arpa/inet.h>
#include <poll.h>

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
	MUST(sees_soon(NULL, "bridge -j link show",
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_1000_reaches_slot_0),
		cmocka_unit_test(children_race_for_a_bridge),
		cmocka_unit_test(a_second_interface_on_a_named_bridge),
	};

	return cmocka_run_group_tests_name("netlink plan bridge", tests, NULL, NULL);
}
