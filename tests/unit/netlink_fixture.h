// SPDX-License-Identifier: Apache-2.0
/*
 * netlink_fixture.h - a machine and pods of network namespaces, looked at by iproute2.
 */
#ifndef TESTS_UNIT_NETLINK_FIXTURE_H
#define TESTS_UNIT_NETLINK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan.h"

/* In a test's child: says where it went wrong, and ends it. */
#define MUST(what)                                                                       \
	do {                                                                             \
		if (!(what)) {                                                           \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

#define MUST_OK(what, e)                                                                 \
	do {                                                                             \
		int code_ = (what);                                                      \
		if (code_ != 0) {                                                        \
			(void)fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, \
				      #what, code_, (e).text);                           \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

struct space {
	int fd;
	struct nl *nl;
};

/* In a child with a network namespace of its own: the machine. */
static inline void in_machine(void (*run)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		MUST(unshare(CLONE_NEWNET) == 0);
		run();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static inline struct space space_here(void)
{
	struct space s = { .fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) };
	struct err e = { 0 };

	MUST(s.fd >= 0);
	MUST_OK(nl_open(&s.nl, &e), e);
	return s;
}

/* A further namespace; the caller stays in `home`. */
static inline struct space space_new(const struct space *home)
{
	struct space s;

	MUST(unshare(CLONE_NEWNET) == 0);
	s = space_here();
	MUST(setns(home->fd, CLONE_NEWNET) == 0);
	return s;
}

static inline void space_end(struct space *s)
{
	nl_disconnect(s->nl);
	MUST(close(s->fd) == 0);
}

static inline bool shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline bool shell(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

/* The command's JSON, in the namespace s (NULL: here), fulfils the jq expression. */
static inline bool sees(const struct space *s, const char *command, const char *jq)
{
	char enter[64] = "";

	if (s)
		(void)snprintf(enter, sizeof(enter), "nsenter --net=/proc/%d/fd/%d ",
			       (int)getpid(), s->fd);
	return shell("out=$(%s%s) && printf %%s \"$out\" | jq -e '%s' >/dev/null", enter,
		     command, jq);
}

/* The same of what the kernel does behind a request: carrier and what hangs on it
 * (operstate, a port's state) come from a work queue (net/core/link_watch.c). */
static inline bool sees_soon(const struct space *s, const char *command, const char *jq)
{
	for (int i = 0; i < 100; i++) {
		if (sees(s, command, jq))
			return true;
		(void)usleep(50000);
	}
	return false;
}

static inline struct inet inet_of(const char *text)
{
	struct inet a;

	MUST(inet_parse(text, &a) == 0);
	return a;
}

#endif
