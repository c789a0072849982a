// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_link.c - the loopback of a new network namespace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netlink/link.h"

static int in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(run());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As iproute2 sees it: the flags and the addresses that the kernel gives with it. */
static bool ip_sees_up(bool addresses)
{
	FILE *pipe = popen("ip -j addr show dev lo", "re");
	char text[4096];
	size_t len = pipe ? fread(text, 1, sizeof(text) - 1, pipe) : 0;

	text[len] = '\0';
	if (!pipe || pclose(pipe) != 0)
		return false;
	return strstr(text, "\"UP\"") &&
	       (!addresses || (strstr(text, "\"127.0.0.1\"") && strstr(text, "\"::1\"")));
}

static bool can_bind_loopback(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

	(void)close(fd);
	return ok;
}

static int set_up(void)
{
	struct err e = { 0 };

	if (unshare(CLONE_NEWNET) < 0)
		return 2;
	if (ip_sees_up(false))
		return 3;
	if (link_up_loopback(&e) != 0 || e.code != 0)
		return 4;
	if (!ip_sees_up(true) || !can_bind_loopback())
		return 5;
	/* Up already: nothing to complain about. */
	return link_up_loopback(NULL) == 0 ? 0 : 6;
}

static void loopback_comes_up(void **state)
{
	(void)state;
	assert_int_equal(in_child(set_up), 0);
}

static int set_up_unprivileged(void)
{
	struct err e = { 0 };

	if (unshare(CLONE_NEWNET) < 0 || setuid(65534) < 0)
		return 2;
	if (link_up_loopback(&e) != -EPERM)
		return 3;
	if (e.code != EPERM || strcmp(e.text, "set link lo up: Operation not permitted"))
		return 4;
	return link_up_loopback(NULL) == -EPERM ? 0 : 5;
}

static void refusal_keeps_the_kernels_errno(void **state)
{
	(void)state;
	assert_int_equal(in_child(set_up_unprivileged), 0);
}

static int set_up_without_descriptors(void)
{
	struct rlimit none = { 0, 0 };
	struct err e = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		return 2;
	if (link_up_loopback(&e) != -EMFILE || e.code != EMFILE)
		return 3;
	return strstr(e.text, "open a netlink socket") ? 0 : 4;
}

static void socket_failure_is_named(void **state)
{
	(void)state;
	assert_int_equal(in_child(set_up_without_descriptors), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_comes_up),
		cmocka_unit_test(refusal_keeps_the_kernels_errno),
		cmocka_unit_test(socket_failure_is_named),
	};

	return cmocka_run_group_tests_name("netlink link", tests, NULL, NULL);
}
