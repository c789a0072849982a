// SPDX-License-Identifier: Apache-2.0
/*
 * config_machine.c - machine.json: defaults, every key, refusals, and its document.
 *
 * In the texts ' stands for ".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/diag.h"
#include "config/machine.h"

static struct diag diag;

static int parse(const char *text, struct machine *ret)
{
	char json[2048], *p;

	(void)snprintf(json, sizeof(json), "%s", text);
	for (p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	diag_init(&diag, "machine.json");
	return machine_parse(json, strlen(json), &diag, ret);
}

static void check_defaults(const struct machine *m)
{
	assert_string_equal(m->hostname, "podinit");
	assert_null(m->modules[0]);
	assert_true(m->coldplug);
	assert_int_equal(m->n_sysctls, 0);
	assert_string_equal(m->image_dir, "/var/lib/podinit/images");
	assert_string_equal(m->manifest_dir, "/etc/podinit/pods");
	assert_string_equal(m->log_dir, "/var/log/pods");
	assert_int_equal(m->log_max_bytes, 10 << 20);
	assert_int_equal(m->log_max_files, 5);
	assert_int_equal(m->log_tail_bytes, 65536);
	assert_false(m->log_console);
	assert_int_equal(m->log_level, LOG_INFO);
	assert_int_equal(m->backoff_base_ms, 10000);
	assert_int_equal(m->backoff_max_ms, 300000);
	assert_int_equal(m->backoff_reset_ms, 600000);
	assert_string_equal(m->control_unix, "/run/podinit/control.sock");
	assert_int_equal(m->control_vsock_port, 1024);
	assert_string_equal(m->control_ports[0], "org.podinit.control.0");
	assert_null(m->control_ports[1]);
	assert_int_equal(m->on_pods_done, END_POWER_OFF);
	assert_int_equal(m->on_boot_failed, END_POWER_OFF);
	assert_int_equal(m->shutdown_timeout_ms, 30000);
	assert_false(m->debug_exit);
	assert_int_equal(m->debug_exit_port, 0xf4);
}

static void test_defaults(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(machine_defaults(&m), 0);
	check_defaults(&m);
	machine_free(&m);
	assert_int_equal(parse("{}", &m), 0);
	check_defaults(&m);
	machine_free(&m);
	assert_int_equal(
		parse("{'hostname':null,'logs':null,'control':{'unix':null}}", &m), 0);
	check_defaults(&m);
	machine_free(&m);
}

static void check_every_key(const struct machine *m)
{
	assert_string_equal(m->hostname, "shop-1");
	assert_string_equal(m->modules[0], "virtio_net");
	assert_string_equal(m->modules[1], "virtio-rng");
	assert_null(m->modules[2]);
	assert_false(m->coldplug);
	assert_int_equal(m->n_sysctls, 2);
	assert_string_equal(m->sysctls[0].name, "net.ipv4.ip_forward");
	assert_string_equal(m->sysctls[0].value, "1");
	assert_string_equal(m->sysctls[1].name, "net/ipv4/ip_local_port_range");
	assert_string_equal(m->sysctls[1].value, "20000 30000");
	assert_string_equal(m->unsafe_sysctls[0], "kernel.msg*");
	assert_string_equal(m->unsafe_sysctls[1], "net.core.somaxconn");
	assert_null(m->unsafe_sysctls[2]);
	assert_int_equal(m->network.uplink.mode, UPLINK_MODE_STATIC);
	assert_string_equal(m->network.uplink.match.driver, "virtio_net");
	assert_int_equal(m->network.uplink.n_addresses, 2);
	assert_int_equal(m->network.uplink.gateway[1].bytes[15], 1);
	assert_int_equal(m->network.uplink.mtu, 1500);
	assert_int_equal(m->network.uplink.vlan_id, 7);
	assert_int_equal(m->network.uplink.timeout_ms, 5000);
	assert_int_equal(m->network.pod_range4.prefix, 20);
	assert_int_equal(m->network.pod_range6.prefix, 64);
	assert_string_equal(m->network.bridge, "pods");
	assert_int_equal(m->network.mtu, 1400);
	assert_string_equal(m->network.dns_servers[0], "192.0.2.53");
	assert_string_equal(m->network.dns_searches[0], "example.net");
	assert_string_equal(m->network.dns_options[0], "ndots:2");
	assert_string_equal(m->network.cluster_domain, "shop.test");
	assert_string_equal(m->image_dir, "/data/images");
	assert_string_equal(m->manifest_dir, "/data/pods");
	assert_string_equal(m->log_dir, "/data/logs");
	assert_int_equal(m->log_max_bytes, 1 << 20);
	assert_int_equal(m->log_max_files, 2);
	assert_int_equal(m->log_tail_bytes, 0);
	assert_true(m->log_console);
	assert_int_equal(m->log_level, LOG_DEBUG);
	assert_int_equal(m->backoff_base_ms, 100);
	assert_int_equal(m->backoff_max_ms, 2000);
	assert_int_equal(m->backoff_reset_ms, 5000);
	assert_string_equal(m->control_unix, "");
	assert_int_equal(m->control_vsock_port, -1);
	assert_string_equal(m->control_ports[0], "/dev/ttyS1");
	assert_null(m->control_ports[1]);
	assert_int_equal(m->on_pods_done, END_STAY);
	assert_int_equal(m->on_boot_failed, END_REBOOT);
	assert_int_equal(m->shutdown_timeout_ms, 1500);
	assert_true(m->debug_exit);
	assert_int_equal(m->debug_exit_port, 0x501);
}

/* The example of docs/machine.md is the one text with every key: it must hold. */
static void test_document(void **state)
{
	FILE *f = fopen("docs/machine.md", "re");
	char text[32768], *start, *end;
	struct machine m;
	size_t n;

	(void)state;
	if (!f)
		fail_msg("docs/machine.md: run this from the top of the source");
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	start = strstr(text, "```json\n");
	assert_non_null(start);
	start += strlen("```json\n");
	end = strstr(start, "```");
	assert_non_null(end);
	diag_init(&diag, "docs/machine.md");
	if (machine_parse(start, (size_t)(end - start), &diag, &m) < 0)
		fail_msg("%s: %s", diag.items[0].pointer, diag.items[0].text);
	check_every_key(&m);
	machine_free(&m);
}

static const struct {
	const char *text;
	enum diag_kind kind;
	const char *pointer, *words;
} bad[] = {
	{ "", DIAG_SYNTAX, "", "ends here" },
	{ "[]", DIAG_TYPE, "", "object" },
	{ "{'hostnam':'x'}", DIAG_UNKNOWN, "/hostnam", "\"hostname\"?" },
	{ "{'hostname':''}", DIAG_VALUE, "/hostname", "must not be empty" },
	{ "{'hostname':'A'}", DIAG_VALUE, "/hostname", "DNS" },
	{ "{'hostname':7}", DIAG_TYPE, "/hostname", "string" },
	{ "{'hostname':'"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaaaa'}",
	  DIAG_VALUE, "/hostname", "at most 64" },
	{ "{'modules':'x'}", DIAG_TYPE, "/modules", "list" },
	{ "{'modules':['a','b c']}", DIAG_VALUE, "/modules/1", "module" },
	{ "{'modules':['-r']}", DIAG_VALUE, "/modules/0", "module" },
	{ "{'modules':['']}", DIAG_VALUE, "/modules/0", "module" },
	{ "{'sysctls':[]}", DIAG_TYPE, "/sysctls", "object" },
	{ "{'sysctls':{'a..b':'1'}}", DIAG_VALUE, "/sysctls/a..b", "sysctl" },
	{ "{'sysctls':{'../../etc/x':'1'}}", DIAG_VALUE, "/sysctls/..~1..~1etc~1x",
	  "sysctl" },
	{ "{'sysctls':{'net/../x':'1'}}", DIAG_VALUE, "/sysctls/net~1..~1x", "sysctl" },
	{ "{'sysctls':{'a':true}}", DIAG_TYPE, "/sysctls/a", "whole number" },
	{ "{'sysctls':{'a':1.5}}", DIAG_TYPE, "/sysctls/a", "whole number" },
	{ "{'allowedUnsafeSysctls':['a.*.b']}", DIAG_VALUE, "/allowedUnsafeSysctls/0",
	  "sysctl" },
	{ "{'allowedUnsafeSysctls':['*']}", DIAG_VALUE, "/allowedUnsafeSysctls/0",
	  "sysctl" },
	{ "{'allowedUnsafeSysctls':['net/ipv4']}", DIAG_VALUE, "/allowedUnsafeSysctls/0",
	  "sysctl" },
	{ "{'imageDir':'images'}", DIAG_VALUE, "/imageDir", "absolute" },
	{ "{'imageDir':'/a/../b'}", DIAG_VALUE, "/imageDir", "\"..\"" },
	{ "{'logs':{'maxBytes':1}}", DIAG_VALUE, "/logs/maxBytes", "4096" },
	{ "{'logs':{'maxBytes':4096.0}}", DIAG_TYPE, "/logs/maxBytes", "whole" },
	{ "{'logs':{'maxFiles':0}}", DIAG_VALUE, "/logs/maxFiles", "between 1" },
	{ "{'logs':{'maxfiles':1}}", DIAG_UNKNOWN, "/logs/maxfiles", "\"maxFiles\"?" },
	{ "{'logs':{'tailBytes':99999999}}", DIAG_VALUE, "/logs/tailBytes", "16" },
	{ "{'logs':{'console':'yes'}}", DIAG_TYPE, "/logs/console", "boolean" },
	{ "{'logLevel':'loud'}", DIAG_VALUE, "/logLevel", "\"debug\"" },
	{ "{'restart':{'backoffBaseMs':0}}", DIAG_VALUE, "/restart/backoffBaseMs",
	  "between 1" },
	{ "{'restart':{'backoffBaseMs':500000}}", DIAG_VALUE, "/restart",
	  "less than backoffBaseMs" },
	{ "{'control':{'unix':'sock'}}", DIAG_VALUE, "/control/unix", "absolute" },
	{ "{'control':{'vsockPort':4294967295}}", DIAG_VALUE, "/control/vsockPort",
	  "4294967294" },
	{ "{'control':{'ports':['a/b']}}", DIAG_VALUE, "/control/ports/0", "tty" },
	{ "{'control':{'ports':['']}}", DIAG_VALUE, "/control/ports/0", "tty" },
	{ "{'onPodsDone':'poweroff'}", DIAG_VALUE, "/onPodsDone", "power-off" },
	{ "{'onBootFailed':''}", DIAG_VALUE, "/onBootFailed", "power-off" },
	{ "{'shutdownTimeoutMs':0}", DIAG_VALUE, "/shutdownTimeoutMs", "1" },
	{ "{'debugExitPort':65536}", DIAG_VALUE, "/debugExitPort", "65535" },
	{ "{'coldplug':true,'coldplug':true}", DIAG_DUPLICATE, "/coldplug", "duplicate" },
};

static void test_bad(void **state)
{
	struct machine m = { .hostname = "untouched" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (parse(bad[i].text, &m) != -EINVAL || diag.errors != 1 ||
		    diag.items[0].kind != bad[i].kind ||
		    strcmp(diag.items[0].pointer, bad[i].pointer) != 0 ||
		    !strstr(diag.items[0].text, bad[i].words))
			fail_msg("%s: %zu errors, %s: %s", bad[i].text, diag.errors,
				 diag.items[0].pointer, diag.items[0].text);
		assert_string_equal(m.hostname, "untouched");
	}
	assert_int_equal(parse("{'a':1,'b':2,'hostname':3}", &m), -EINVAL);
	assert_int_equal(diag.errors, 3);
}

static void test_ends(void **state)
{
	int end;

	(void)state;
	for (end = 0; end < END_MAX; end++)
		assert_int_equal(machine_end_parse(machine_end_name(end)), end);
	assert_int_equal(machine_end_parse("poweroff"), -EINVAL);
	assert_string_equal(machine_end_name(END_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
