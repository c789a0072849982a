// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_uplink.c - ip=, leases and which interface is meant: good and bad ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netlink/uplink_parts.h"

static void assert_inet(const struct inet *a, const char *cidr)
{
	char text[INET_TEXT_BYTES];

	assert_string_equal(inet_format_cidr(a, text), cidr);
}

/* ---- ip= ---- */

static void test_ip(void **state)
{
	struct uplink_ip ip;
	struct err e;

	(void)state;
	assert_int_equal(
		uplink_ip_parse("192.0.2.9:192.0.2.3:192.0.2.1:255.255.255.128:host:"
				"eth1:off:192.0.2.53:192.0.2.54:192.0.2.7",
				&ip, &e),
		0);
	assert_int_equal(ip.mode, UPLINK_MODE_STATIC);
	assert_string_equal(ip.device, "eth1");
	assert_string_equal(ip.hostname, "host");
	assert_inet(&ip.settings.addrs[0], "192.0.2.9/25");
	assert_inet(&ip.settings.gateway[0], "192.0.2.1/32");
	assert_int_equal(ip.settings.n_servers, 2);
	/* The kernel's default mask is the class's. */
	assert_int_equal(uplink_ip_parse("10.1.2.3", &ip, &e), 0);
	assert_inet(&ip.settings.addrs[0], "10.1.2.3/8");
	assert_int_equal(uplink_ip_parse("172.16.0.9::172.16.0.1", &ip, &e), 0);
	assert_inet(&ip.settings.addrs[0], "172.16.0.9/16");
	assert_int_equal(uplink_ip_parse("dhcp", &ip, &e), 0);
	assert_int_equal(ip.mode, UPLINK_MODE_DHCP);
	assert_int_equal(uplink_ip_parse("::::h:eth0:dhcp", &ip, &e), 0);
	assert_int_equal(ip.mode, UPLINK_MODE_DHCP);
	assert_string_equal(ip.device, "eth0");
	assert_int_equal(uplink_ip_parse("off", &ip, &e), 0);
	assert_int_equal(ip.mode, UPLINK_MODE_NONE);
}

static void test_bad_ip(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "rarp", "autoconfiguration \"rarp\"" },
		{ "", "autoconfiguration" },
		{ "10.0.0.300::::::", "client address" },
		{ "10.0.0.1::gw", "gateway \"gw\"" },
		{ "10.0.0.1:::255.0.255.0", "netmask \"255.0.255.0\"" },
		{ "10.0.0.1:::::a/b:off", "interface \"a/b\"" },
		{ "10.0.0.1::::::maybe", "autoconfiguration \"maybe\"" },
		{ "10.0.0.1:::::::x", "name server \"x\"" },
		{ "10.0.0.1::::::off:::::more", "too many fields" },
	};
	struct uplink_ip ip = { .device = "kept" };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (uplink_ip_parse(bad[i].text, &ip, &e) != -EINVAL ||
		    !strstr(e.text, bad[i].words))
			fail_msg("%s: %s", bad[i].text, e.text);
		assert_string_equal(ip.device, "kept");
	}
}

/* ---- leases ---- */

static int lease(const char *text, enum lease_event *event, struct uplink_settings *s)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", text);
	return uplink_lease_parse(copy, event, s);
}

static void test_lease(void **state)
{
	struct uplink_settings s;
	enum lease_event event;

	(void)state;
	assert_int_equal(
		lease("event=bound\nip=192.0.2.50\nmask=24\nrouter=192.0.2.1 192.0.2.2\n"
		      "dns=192.0.2.53 x 192.0.2.54 192.0.2.55 192.0.2.56\n"
		      "search=a.example "
		      "b.example\ndomain=c.example\nmtu=1400\nlease=3600\n",
		      &event, &s),
		0);
	assert_int_equal(event, LEASE_BOUND);
	assert_inet(&s.addrs[0], "192.0.2.50/24");
	assert_inet(&s.gateway[0], "192.0.2.1/32");
	assert_int_equal(s.n_servers, 3);
	assert_inet(&s.servers[1], "192.0.2.54/32");
	assert_string_equal(s.search, "a.example b.example");
	assert_int_equal(s.mtu, 1400);
	assert_int_equal(s.lease_seconds, 3600);
	/* RFC 3442: with classless routes the router does not count. */
	assert_int_equal(
		lease("event=renew\nip=192.0.2.50\nmask=24\nrouter=192.0.2.1\n"
		      "staticroutes=10.0.0.0/8 192.0.2.7 0.0.0.0/0 192.0.2.9 x y\n",
		      &event, &s),
		0);
	assert_inet(&s.gateway[0], "192.0.2.9/32");
	assert_int_equal(s.n_routes, 1);
	assert_inet(&s.routes[0].to, "10.0.0.0/8");
	assert_int_equal(lease("event=deconfig\n", &event, &s), 0);
	assert_int_equal(event, LEASE_DECONFIG);
}

static void test_evil_lease(void **state)
{
	static const char *const none[] = {
		"",
		"event=other\n",
		"ip=192.0.2.1\nmask=24\n",
		"event=bound\n",
		"event=bound\nip=192.0.2.1\n",
		"event=bound\nip=127.0.0.1\nmask=8\n",
		"event=bound\nip=224.0.0.1\nmask=8\n",
		"event=bound\nip=0.0.0.0\nmask=8\n",
		"event=bound\nip=fe80::1\nmask=64\n",
		"event=bound\nip=192.0.2.1\nmask=33\n",
		"event=bound\nip=192.0.2.1\nmask=-1\n",
		"event=bound\nip=192.0.2.1/8\nmask=8x\n",
	};
	struct uplink_settings s;
	enum lease_event event;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (lease(none[i], &event, &s) != -EINVAL)
			fail_msg("a lease: %s", none[i]);
	assert_int_equal(
		lease("event=bound\nip=192.0.2.5\nmask=24\nrouter=255.255.255.255\n"
		      "mtu=68\nlease=99999999999\ndomain=a;b\tc $(x)\n",
		      &event, &s),
		0);
	assert_int_equal(s.gateway[0].family, 0);
	assert_int_equal(s.mtu, 0);
	assert_int_equal(s.lease_seconds, 0);
	assert_string_equal(s.search, "");
}

/* ---- match ---- */

static char sysfs[] = "/tmp/podinit-match-XXXXXX";

static void put(const char *name, const char *attr, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", sysfs, name, attr);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void add(const char *name, int index, const char *mac, const char *driver)
{
	char path[256], target[128], text[16];

	(void)snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(text, sizeof(text), "%d\n", index);
	put(name, "ifindex", text);
	put(name, "address", mac);
	if (!driver)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s/device", sysfs, name);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/%s/device/driver", sysfs, name);
	(void)snprintf(target, sizeof(target), "../../../bus/virtio/drivers/%s", driver);
	assert_int_equal(symlink(target, path), 0);
}

static void test_match(void **state)
{
	struct machine_match any = { 0 }, driver = { .driver = "e1000" };
	struct machine_match mac = { .has_mac = true, .mac = { 2, 0, 0, 0, 0, 3 } };
	struct machine_match both = { .name = "eth0", .driver = "e1000" };
	char name[16] = "kept", command[64];

	(void)state;
	assert_non_null(mkdtemp(sysfs));
	assert_int_equal(uplink_match_find(&any, sysfs, name), -ENOENT);
	add("lo", 1, "00:00:00:00:00:00\n", NULL);
	add("pod0", 2, "02:00:00:00:00:03\n", NULL);
	assert_int_equal(uplink_match_find(&any, sysfs, name), -ENOENT);
	assert_string_equal(name, "kept");
	add("eth1", 5, "02:00:00:00:00:02\n", "virtio_net");
	add("eth0", 4, "02:00:00:00:00:01\n", "virtio_net");
	add("eth2", 9, "02:00:00:00:00:04\n", "e1000");
	assert_int_equal(uplink_match_find(&any, sysfs, name), 0);
	assert_string_equal(name, "eth0"); /* the lowest index, whatever the order */
	assert_int_equal(uplink_match_find(&driver, sysfs, name), 0);
	assert_string_equal(name, "eth2");
	assert_int_equal(uplink_match_find(&mac, sysfs, name), 0);
	assert_string_equal(name, "pod0"); /* asked for by its address: no NIC needed */
	assert_int_equal(uplink_match_find(&both, sysfs, name), -ENOENT);
	(void)snprintf(command, sizeof(command), "rm -r %s", sysfs);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ip),    cmocka_unit_test(test_bad_ip),
		cmocka_unit_test(test_lease), cmocka_unit_test(test_evil_lease),
		cmocka_unit_test(test_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
