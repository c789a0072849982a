// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_nft.c - requests: what is written is read back, what is malformed is refused,
 * and the kernel then has what nft(8) makes of the same rules in its own words.
 */
#include "netlink_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "netlink/nft_job.h"

#define RESET "reset pod0 10.88.0.0/16 fd9c:70d1:8f2e::/64\n"

static struct inet address(const char *text)
{
	struct inet a;

	assert_int_equal(inet_parse(text, &a), 0);
	return a;
}

static struct nft_port port(enum nft_protocol protocol, const char *host, uint16_t from,
			    const char *pod, uint16_t to)
{
	struct nft_port p = { .protocol = protocol,
			      .host_port = from,
			      .pod = address(pod),
			      .pod_port = to };

	if (host)
		p.host = address(host);
	return p;
}

static void assert_text(const struct buf *b, const char *expected)
{
	assert_int_equal(b->len, strlen(expected));
	assert_memory_equal(buf_head(b), expected, b->len);
}

static void test_writers(void **state)
{
	struct nft_base base = { .bridge = "pod0",
				 .range4 = address("10.88.0.0/16"),
				 .range6 = address("fd9c:70d1:8f2e::/64") };
	struct nft_port tcp = port(NFT_TCP, NULL, 8080, "10.88.0.2", 80);
	struct nft_port udp = port(NFT_UDP, "2001:db8::1", 1, "fd9c::2", 65535);
	struct nft_port sctp = port(NFT_SCTP, "192.0.2.1", 9, "10.88.0.3", 10);
	struct inet internal[] = { address("10.0.0.7/8"), address("fd00::/8") };
	struct inet external = address("0.0.0.0/0");
	struct nft_filter filter = { 2, 1, 1, internal, &external, &udp };
	struct buf b;

	(void)state;
	buf_init(&b, NFT_REQUEST_BYTES);
	assert_int_equal(nft_ask_reset(&b, &base), 0);
	assert_int_equal(nft_ask_add(&b, &tcp), 0);
	assert_int_equal(nft_ask_add(&b, &udp), 0);
	assert_int_equal(nft_ask_remove(&b, &sctp), 0);
	assert_int_equal(nft_ask_drop(&b), 0);
	base.range6.family = 0;
	assert_int_equal(nft_ask_reset(&b, &base), 0);
	assert_text(&b, RESET "add tcp * 8080 10.88.0.2 80\n"
			      "add udp 2001:db8::1 1 fd9c::2 65535\n"
			      "remove sctp 192.0.2.1 9 10.88.0.3 10\n"
			      "drop\nreset pod0 10.88.0.0/16 -\n");
	buf_free(&b);
	buf_init(&b, NFT_REQUEST_BYTES);
	assert_int_equal(nft_ask_filter(&b, &filter), 0);
	assert_text(&b, "filter\ninternal 10.0.0.0/8\ninternal fd00::/8\n"
			"external 0.0.0.0/0\nport udp 65535\n");
	buf_free(&b);
}

static void test_writers_when_full(void **state)
{
	struct nft_base base = { .bridge = "pod0" };
	struct nft_port tcp = port(NFT_TCP, NULL, 8080, "10.88.0.2", 80);
	struct nft_filter filter = { .n_ports = 1, .ports = &tcp };
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	assert_int_equal(nft_ask_reset(&b, &base), -ENOBUFS);
	assert_int_equal(nft_ask_add(&b, &tcp), -ENOBUFS);
	assert_int_equal(nft_ask_remove(&b, &tcp), -ENOBUFS);
	assert_int_equal(nft_ask_drop(&b), -ENOBUFS);
	assert_int_equal(nft_ask_filter(&b, &filter), -ENOBUFS);
	buf_free(&b);
}

static void test_read_back(void **state)
{
	static const char text[] = "add tcp * 1 10.0.0.1 1\n" RESET
				   "add tcp * 8080 10.88.0.2 80\n"
				   "remove udp :: 53 fd9c::2 5353\n"
				   "add sctp 192.0.2.1 65535 10.88.0.3 1\n";
	static const char filter[] = "filter\ninternal 10.0.0.0/8\nexternal ::/0\n"
				     "external 0.0.0.0/0\nport sctp 7\n";
	struct nft_job job;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(nft_job_parse(&job, text, sizeof(text) - 1, &e), 0);
	assert_int_equal(job.start, NFT_RESET);
	assert_string_equal(job.base.bridge, "pod0");
	assert_int_equal(job.base.range6.prefix, 64);
	assert_int_equal(job.n_ops, 3);
	assert_false(job.ops[0].remove);
	assert_int_equal(job.ops[0].port.host.family, 0);
	assert_int_equal(job.ops[0].port.host_port, 8080);
	assert_true(job.ops[1].remove);
	assert_int_equal(job.ops[1].port.protocol, NFT_UDP);
	assert_int_equal(job.ops[1].port.host.family, 0);
	assert_int_equal(job.ops[2].port.host.family, AF_INET);
	assert_int_equal(job.ops[2].port.pod_port, 1);
	nft_job_free(&job);
	assert_int_equal(nft_job_parse(&job, filter, sizeof(filter) - 1, &e), 0);
	assert_true(job.is_filter);
	assert_int_equal(job.n_internal, 1);
	assert_int_equal(job.n_external, 2);
	assert_int_equal(job.n_ports, 1);
	assert_int_equal(job.ports[0].pod_port, 7);
	nft_job_free(&job);
}

/* Each as the second line, behind "reset" (add, remove, reset) or "drop" (the rest). */
static const char *const malformed[] = {
	"",
	" ",
	"add",
	"ADD tcp * 1 10.0.0.1 1",
	"add  tcp * 1 10.0.0.1 1",
	" add tcp * 1 10.0.0.1 1",
	"add tcp * 1 10.0.0.1 1 ",
	"add\ttcp * 1 10.0.0.1 1",
	"add tcp * 1 10.0.0.1",
	"add tcp * 1 10.0.0.1 1 1",
	"add tcp * 1 10.0.0.1 1\r",
	"add icmp * 1 10.0.0.1 1",
	"add TCP * 1 10.0.0.1 1",
	"add tcp ** 1 10.0.0.1 1",
	"add tcp - 1 10.0.0.1 1",
	"add tcp * 0 10.0.0.1 1",
	"add tcp * 01 10.0.0.1 1",
	"add tcp * +1 10.0.0.1 1",
	"add tcp * -1 10.0.0.1 1",
	"add tcp * 65536 10.0.0.1 1",
	"add tcp * 99999 10.0.0.1 1",
	"add tcp * 100000 10.0.0.1 1",
	"add tcp * 4294967297 10.0.0.1 1",
	"add tcp * 0x1 10.0.0.1 1",
	"add tcp * 1 10.0.0.1 0",
	"add tcp * 1 10.0.0.1 65536",
	"add tcp * 1 10.0.0.1/32 1",
	"add tcp * 1 10.0.0 1",
	"add tcp * 1 010.0.0.1 1",
	"add tcp * 1 * 1",
	"add tcp * 1 0.0.0.0 1",
	"add tcp * 1 :: 1",
	"add tcp 192.0.2.1 1 fd00::1 1",
	"add tcp :: 1 10.0.0.1 1",
	"add tcp 192.0.2.0/24 1 10.0.0.1 1",
	"remove tcp * 1 10.0.0.256 1",
	"remove",
	"reset",
	"reset pod0",
	"reset pod0 -",
	"reset pod0 - - -",
	"reset a/b - -",
	"reset sixteen-letters- - -",
	"reset pod\x7f - -",
	"reset pod0 10.88.0.1/16 -",
	"reset pod0 10.88.0.0 -",
	"reset pod0 fd00::/8 -",
	"reset pod0 - 10.0.0.0/8",
	"reset pod0 10.0.0.0/33 -",
	"reset pod0 - fd00::/129",
	"drop now",
	"drops",
	"filter",
	"internal 10.0.0.0/8",
	"external 10.0.0.0/8",
	"port tcp 80",
	"#",
	"add tcp * 1 10.0.0.1 1;drop",
};

static const char *const malformed_filter[] = {
	"filter",
	"filter x",
	"internal",
	"internal 10.0.0.1/8",
	"internal 10.0.0.0",
	"internal x",
	"internal 10.0.0.0/8 10.0.0.0/8",
	"external",
	"external fd00::1/8",
	"external -",
	"port",
	"port tcp",
	"port tcp 0",
	"port tcp 65536",
	"port icmp 1",
	"port tcp 1 1",
	"add tcp * 1 10.0.0.1 1",
	"drop",
	"reset pod0 - -",
	"",
};

static void refuses(const char *text, size_t len, const char *where)
{
	struct nft_job job;
	struct err e = { 0 };
	/* Of its exact size, so that a sanitizer sees a step over the end. */
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	if (nft_job_parse(&job, copy, len, &e) != -EINVAL)
		fail_msg("taken: %.*s", (int)len, text);
	if (!strstr(e.text, where))
		fail_msg("%s: no \"%s\"", e.text, where);
	nft_job_free(&job);
	free(copy);
}

static void test_malformed(void **state)
{
	char text[512];
	int len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		len = snprintf(text, sizeof(text), "drop\n%s\n", malformed[i]);
		if (malformed[i][0] == 'a' || malformed[i][0] == 'r')
			len = snprintf(text, sizeof(text), RESET "%s\n", malformed[i]);
		refuses(text, (size_t)len, "line 2: ");
	}
	for (size_t i = 0; i < ARRAY_SIZE(malformed_filter); i++) {
		len = snprintf(text, sizeof(text), "filter\n%s\n", malformed_filter[i]);
		refuses(text, (size_t)len, "line 2: ");
	}
}

static void test_malformed_as_a_whole(void **state)
{
	char text[NFT_LINE_BYTES + 32];
	char *large = malloc(NFT_REQUEST_BYTES + 1);

	(void)state;
	assert_non_null(large);
	refuses("", 0, "0 bytes");
	refuses("drop", 4, "line 1: cut");
	refuses("drop\ndrop", 9, "line 2: cut");
	refuses("dr\0p\n", 5, "line 1: a NUL");
	refuses("drop\nadd tcp * 1 10.0.0.1 1\n", 28, "line 2: a port after drop");
	memset(text, 'x', sizeof(text));
	text[NFT_LINE_BYTES + 1] = '\n';
	refuses(text, NFT_LINE_BYTES + 2, "line 1: too long");
	memset(large, '\n', NFT_REQUEST_BYTES + 1);
	refuses(large, NFT_REQUEST_BYTES + 1, "bytes");
	free(large);
}

/* ---- the kernel's view ---- */

static const char rules[] =
	"table inet podinit {\n"
	"map port4 { type inet_proto . inet_service : ipv4_addr . inet_service;"
	" elements = { tcp . 8080 : 10.88.0.2 . 80 }; }\n"
	"map host4 { type ipv4_addr . inet_proto . inet_service :"
	" ipv4_addr . inet_service;"
	" elements = { 192.0.2.1 . udp . 53 : 10.88.0.3 . 5353 }; }\n"
	"map port6 { type inet_proto . inet_service : ipv6_addr . inet_service;"
	" elements = { sctp . 9 : fd9c:70d1:8f2e::2 . 10 }; }\n"
	"map host6 { type ipv6_addr . inet_proto . inet_service :"
	" ipv6_addr . inet_service;"
	" elements = { 2001:db8::1 . tcp . 443 : fd9c:70d1:8f2e::3 . 8443 }; }\n"
	"chain ports {\n"
	"dnat ip to ip daddr . meta l4proto . th dport map @host4\n"
	"meta nfproto ipv4 dnat ip to meta l4proto . th dport map @port4\n"
	"dnat ip6 to ip6 daddr . meta l4proto . th dport map @host6\n"
	"meta nfproto ipv6 dnat ip6 to meta l4proto . th dport map @port6\n}\n"
	"chain to_pods {\n"
	"ct status dnat ip saddr 10.88.0.0/16 masquerade\n"
	"ip saddr 127.0.0.0/8 masquerade\n"
	"ct status dnat ip6 saddr fd9c:70d1:8f2e::/64 masquerade\n"
	"ip6 saddr ::1 masquerade\n}\n"
	"chain prerouting { type nat hook prerouting priority -100;\n"
	"fib daddr type local jump ports\n}\n"
	"chain output { type nat hook output priority -100;\n"
	"fib daddr type local jump ports\n}\n"
	"chain postrouting { type nat hook postrouting priority 100;\n"
	"oifname lo return\noifname pod0 goto to_pods\n"
	"ip daddr >= 224.0.0.0 return\nip saddr 10.88.0.0/16 masquerade\n"
	"ip6 daddr ff00::/8 return\nip6 saddr fd9c:70d1:8f2e::/64 masquerade\n}\n"
	"chain guard { type filter hook prerouting priority -300;\n"
	"iifname pod0 ip daddr 127.0.0.0/8 drop\n}\n"
	"chain redirects { type filter hook output priority 0;\n"
	"oifname pod0 icmp type redirect drop\n"
	"oifname pod0 icmpv6 type nd-redirect drop\n}\n}\n";

static const char filter_rules[] =
	"table inet podinit {\n"
	"set ports { type inet_proto . inet_service; elements = { tcp . 80, udp . 53 }; "
	"}\n"
	"set internal4 { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }\n"
	"set internal6 { type ipv6_addr; flags interval; elements = { fd00::/8 }; }\n"
	"set external4 { type ipv4_addr; flags interval;"
	" elements = { 192.0.2.0/25, 255.255.255.0/24 }; }\n"
	"chain input { type filter hook input priority 0; policy drop;\n"
	"iifname lo accept\nct state established,related accept\n"
	"meta l4proto 1 accept\nmeta l4proto 58 accept\n"
	"ip saddr @internal4 accept\nip6 saddr @internal6 accept\n"
	"ip saddr @external4 meta l4proto . th dport @ports accept\n}\n}\n";

static void carry_out(const char *text)
{
	struct nft_job job;
	struct nft_batch b;
	const struct nft_op *op;
	struct err e = { 0 };

	MUST_OK(nft_job_parse(&job, text, strlen(text), &e), e);
	nft_batch_begin(&b);
	if (job.is_filter)
		nft_put_filter(&b, &job);
	else if (job.start == NFT_RESET)
		nft_put_base(&b, &job.base);
	else if (job.start == NFT_DROP)
		nft_put_table_away(&b);
	nft_put_ops(&b, &job);
	nft_batch_end(&b);
	MUST_OK(nft_send(&b, &op, &e), e);
	nft_batch_free(&b);
	nft_job_free(&job);
}

/* The table as JSON without the handles, elements in order. */
static void list(char *ret, size_t size)
{
	FILE *out = popen("nft -j list table inet podinit | jq -cS 'walk(if type == "
			  "\"object\" then del(.handle) | if .elem | type == \"array\" "
			  "then .elem |= sort else . end else . end)'",
			  "r");
	size_t n;

	MUST(out);
	n = fread(ret, 1, size - 1, out);
	ret[n] = '\0';
	MUST(pclose(out) == 0 && n > 0 && n < size - 1);
}

static void same_as_nft(const char *text)
{
	static char ours[65536], theirs[65536];
	FILE *nft;

	list(ours, sizeof(ours));
	carry_out("drop\n");
	MUST(!shell("nft list table inet podinit 2>/dev/null"));
	nft = popen("nft -f -", "w");
	MUST(nft && fputs(text, nft) >= 0 && pclose(nft) == 0);
	list(theirs, sizeof(theirs));
	if (strcmp(ours, theirs) != 0) {
		(void)fprintf(stderr, "ours:   %stheirs: %s", ours, theirs);
		_exit(1);
	}
}

static void check_table(void)
{
	carry_out("drop\n");
	carry_out(RESET "add tcp * 8080 10.88.0.2 80\nadd tcp * 1 10.88.0.2 1\n"
			"add udp 192.0.2.1 53 10.88.0.9 5353\n");
	carry_out(
		"remove tcp * 1 10.88.0.2 1\nremove tcp * 2 10.88.0.2 1\n"
		"remove udp 192.0.2.1 53 10.88.0.9 5353\n"
		"add udp 192.0.2.1 53 10.88.0.3 5353\nadd sctp * 9 fd9c:70d1:8f2e::2 10\n"
		"add tcp 2001:db8::1 443 fd9c:70d1:8f2e::3 8443\n"
		"add tcp * 8080 10.88.0.2 80\n");
	same_as_nft(rules);
}

static void check_filter(void)
{
	carry_out("filter\ninternal 1.0.0.0/8\n");
	carry_out(
		"filter\ninternal 10.0.0.0/8\ninternal 10.7.0.0/16\ninternal 10.0.0.0/8\n"
		"internal fd00::/8\nexternal 192.0.2.0/25\nexternal 255.255.255.0/24\n"
		"port tcp 80\nport udp 53\nport tcp 80\n");
	same_as_nft(filter_rules);
	carry_out("filter\nport tcp 80\n");
	MUST(!shell("nft list table inet podinit 2>/dev/null"));
}

/* What the kernel answers when the module of a kind of chain is not there, as with this
 * kind that nobody has: ENOENT, on the message that asks for it. */
static void check_absent_module(void)
{
	static const struct nft_chain chain = { .name = "c",
						.what = "add nat chain c",
						.type = "nonesuch",
						.module = "nft_chain_nat" };
	struct nft_batch b;
	const struct nft_op *op;
	struct err e = { 0 };

	nft_batch_begin(&b);
	nft_put_table(&b);
	nft_put_chain(&b, &chain);
	nft_batch_end(&b);
	MUST(nft_send(&b, &op, &e) == -ENOENT && !op);
	MUST(strstr(e.text, "add nat chain c: the kernel has no nft_chain_nat"));
	nft_batch_free(&b);
	MUST(!shell("nft list table inet podinit 2>/dev/null"));
}

/* Without nfnetlink it is the socket that fails. */
static void check_absent_family(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), (struct sock_filter *)code };
	struct nft_batch b;
	const struct nft_op *op;
	struct err e = { 0 };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	nft_batch_begin(&b);
	nft_put_table(&b);
	nft_batch_end(&b);
	MUST(nft_send(&b, &op, &e) == -EPROTONOSUPPORT && !op);
	MUST(strstr(e.text, "the kernel has no nfnetlink"));
	nft_batch_free(&b);
}

static void test_absent_modules(void **state)
{
	(void)state;
	in_machine(check_absent_module);
	in_machine(check_absent_family);
}

static void test_table(void **state)
{
	(void)state;
	in_machine(check_table);
}

static void test_filter(void **state)
{
	(void)state;
	in_machine(check_filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writers),
		cmocka_unit_test(test_writers_when_full),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_malformed_as_a_whole),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_absent_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
