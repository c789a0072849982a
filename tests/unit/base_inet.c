// SPDX-License-Identifier: Apache-2.0
/*
 * base_inet.c - addresses, prefixes and MACs: what is read, what is refused, arithmetic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/inet.h"

static struct inet inet(const char *text)
{
	struct inet a;

	if (inet_parse(text, &a) < 0)
		fail_msg("%s is not read", text);
	return a;
}

static void assert_cidr(const struct inet *a, const char *text)
{
	char buf[INET_TEXT_BYTES];

	assert_string_equal(inet_format_cidr(a, buf), text);
}

static void test_parse(void **state)
{
	static const char *const same[] = { "10.0.0.1/8",           "0.0.0.0/0",
					    "255.255.255.255/32",   "::/0",
					    "fd9c:70d1:8f2e::1/64", "::1/128" };
	static const char *const bad[] = {
		"",
		"/",
		"10.0.0.1/",
		"10.0.0/8",
		"10.0.0.1/33",
		"::/129",
		"10.0.0.1/08",
		"10.0.0.1/+8",
		"10.0.0.1/ 8",
		"10.0.0.1/8/8",
		"::1::",
		"fe80::1%eth0",
		"10.0.0.1 ",
		"10.0.0.256",
		"1/1",
		"10.0.0.1/1000",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/1"
	};
	struct inet a, untouched = { .family = -1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		a = inet(same[i]);
		assert_cidr(&a, same[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		a = untouched;
		if (inet_parse(bad[i], &a) != -EINVAL)
			fail_msg("%s is read", bad[i]);
		assert_int_equal(a.family, -1);
	}
	a = inet("10.0.0.1");
	assert_int_equal(a.prefix, 32);
	assert_int_equal(inet_parse_cidr("10.0.0.1", &a), -EINVAL);
	assert_int_equal(inet_parse_address("10.0.0.1/8", &a), -EINVAL);
	assert_int_equal(inet_parse_address("::1", &a), 0);
	assert_int_equal(a.prefix, 128);
}

static void test_networks(void **state)
{
	struct inet a = inet("10.88.77.66/13"), masked = inet_masked(&a);
	struct inet wide = inet("10.88.0.0/16"), in = inet("10.88.255.1"),
		    out = inet("10.89.0.1"), six = inet("fd00::/8"),
		    six_in = inet("fdff::1");

	(void)state;
	assert_cidr(&masked, "10.88.0.0/13");
	a = inet("fd9c:ffff::1/17");
	masked = inet_masked(&a);
	assert_cidr(&masked, "fd9c:8000::/17");
	assert_true(inet_contains(&wide, &in));
	assert_false(inet_contains(&wide, &out));
	assert_true(inet_contains(&six, &six_in));
	assert_false(inet_contains(&six, &in));
	a = inet("0.0.0.0/0");
	assert_true(inet_contains(&a, &out));
	assert_false(inet_contains(&a, &six));
	a = inet("10.0.0.0/8");
	assert_true(inet_overlap(&a, &wide));
	assert_true(inet_overlap(&wide, &a));
	assert_false(inet_overlap(&wide, &out));
	a = (struct inet){ 0 };
	assert_false(inet_contains(&a, &in));
	assert_false(inet_overlap(&a, &wide));
}

static void test_neighbours(void **state)
{
	struct inet addrs[] = { inet("10.0.0.9/24"), inet("2001:db8::9/64") };
	static const char *const on[] = { "10.0.0.1", "2001:db8::1", "fe80::1",
					  "febf:ffff::1" };
	static const char *const off[] = { "10.0.1.1", "2001:db8:0:1::1", "fec0::1",
					   "fe7f::1", "169.254.0.1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(on); i++) {
		struct inet a = inet(on[i]);

		if (!inet_on_link(addrs, ARRAY_SIZE(addrs), &a))
			fail_msg("%s is no neighbour", on[i]);
		assert_true(inet_link_local(&a) == (i > 1));
	}
	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		struct inet a = inet(off[i]);

		if (inet_on_link(addrs, ARRAY_SIZE(addrs), &a) || inet_link_local(&a))
			fail_msg("%s is a neighbour", off[i]);
	}
	assert_false(inet_on_link(addrs, 0, &addrs[0]));
}

static void test_count(void **state)
{
	struct inet four = inet("10.9.0.8/29"), six = inet("fd00::/64"),
		    one = inet("::1");
	struct inet a = inet_nth(&four, 7);

	(void)state;
	assert_int_equal(inet_size(&four), 8);
	assert_int_equal(inet_size(&one), 1);
	assert_true(inet_size(&six) == UINT64_MAX);
	assert_cidr(&a, "10.9.0.15/29");
	assert_int_equal(inet_nth(&four, 8).family, 0);
	a = inet_nth(&six, 0x1234567890abcdef);
	assert_cidr(&a, "fd00::1234:5678:90ab:cdef/64");
	a = inet("0.0.0.0/0");
	assert_true(inet_size(&a) == (uint64_t)1 << 32);
}

static void test_mac(void **state)
{
	static const char *const bad[] = { "",
					   "02:00:00:00:00",
					   "02:00:00:00:00:0g",
					   "02-00-00-00-00-01",
					   "02:00:00:00:00:01:",
					   "2:0:0:0:0:1" };
	uint8_t mac[MAC_BYTES], untouched[MAC_BYTES] = { 9 };
	char text[MAC_TEXT_BYTES];

	(void)state;
	assert_int_equal(mac_parse("02:aB:00:00:ff:01", mac), 0);
	assert_string_equal(mac_format(mac, text), "02:ab:00:00:ff:01");
	memcpy(mac, untouched, sizeof(mac));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(mac_parse(bad[i], mac), -EINVAL);
	assert_memory_equal(mac, untouched, sizeof(mac));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),      cmocka_unit_test(test_networks),
		cmocka_unit_test(test_neighbours), cmocka_unit_test(test_count),
		cmocka_unit_test(test_mac),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
