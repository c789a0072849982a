// SPDX-License-Identifier: Apache-2.0
/*
 * init_panic.c - a fault in PID 1: words on the console, everybody told and reaped, an
 * end that cannot loop.
 *
 * Each case runs as PID 1 of a pid namespace of its own; without the right to make one
 * (no root, no user namespaces) the tests are skipped.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/proc.h"
#include "base/util.h"
#include "init/panic.h"
#include "init/signals.h"

#define FINAL                                                                          \
	"podinit-final: {\"outcome\":\"failed\",\"exitCode\":125,\"action\":\"exit\"," \
	"\"pods\":[]}\n"

static char said[4096];

struct life {
	pid_t pid;
	int pidfd, console;
};

static void start(struct life *life, enum machine_end how, void (*body)(void))
{
	struct panic_policy policy = { .how = how, .grace_ms = 2000 };
	int fds[2], own_ns;

	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	life->console = fds[0];
	/* fork() and not clone3(): libc has to know its new pid, as it does in a real
	 * PID 1.
	 */
	own_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	assert_true(own_ns >= 0);
	if (unshare(CLONE_NEWPID) < 0)
		skip();
	life->pid = fork();
	assert_true(life->pid >= 0);
	if (life->pid == 0) {
		/* Its own /proc: the address sanitizer looks there for the stack. */
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(89);
		policy.console_fd = fds[1];
		signals_begin();
		if (panic_install(&policy) < 0)
			_exit(90);
		body();
		_exit(91); /* it was no fault */
	}
	(void)close(fds[1]);
	life->pidfd = pidfd_open(life->pid, 0);
	assert_true(life->pidfd >= 0);
	assert_int_equal(setns(own_ns, CLONE_NEWPID), 0); /* for the next children */
	(void)close(own_ns);
}

static void finish(struct life *life, siginfo_t *ret)
{
	struct pollfd p = { .fd = life->console, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(waitid(P_PID, (id_t)life->pid, ret, WEXITED), 0);
	while (poll(&p, 1, 0) > 0) {
		n = read(life->console, said + len, sizeof(said) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	said[len] = '\0';
	(void)close(life->console);
	(void)close(life->pidfd);
}

static void write_to_nowhere(void)
{
	/* Not NULL, which a compiler may take for something that cannot be. */
	volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				     -1, 0);

	*nowhere = 1;
}

static void a_fault_is_told_and_ends_by_policy(void **state)
{
	struct life life;
	siginfo_t si;

	(void)state;
	start(&life, END_POWER_OFF, write_to_nowhere);
	finish(&life, &si);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, END_CODE_PANIC);
	assert_non_null(strstr(said, "podinit: fault in PID 1: SIGSEGV at 0x"));
	assert_non_null(strstr(said, FINAL));
}

static void an_abort_too(void **state)
{
	struct life life;
	siginfo_t si;

	(void)state;
	start(&life, END_REBOOT, abort);
	finish(&life, &si);
	assert_int_equal(si.si_status, END_CODE_PANIC);
	assert_non_null(strstr(said, "SIGABRT"));
	assert_non_null(strstr(said, FINAL));
}

static int recurse(volatile int *p)
{
	volatile char frame[4096];

	if (*p)
		return 0; /* never */
	frame[0] = (char)*p;
	return recurse(p) + frame[0];
}

static void run_out_of_stack(void)
{
	volatile int zero = 0;

	_exit(recurse(&zero));
}

static void a_full_stack_has_another(void **state)
{
	struct life life;
	siginfo_t si;

	(void)state;
	start(&life, END_POWER_OFF, run_out_of_stack);
	finish(&life, &si);
	assert_int_equal(si.si_status, END_CODE_PANIC);
	assert_non_null(strstr(said, FINAL));
}

/* One child ends at SIGTERM, one ignores it, one is a zombie already. */
static void fault_with_children(void)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		_exit(92);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			sigset_t none;

			(void)signal(SIGTERM, i == 1 ? SIG_IGN : SIG_DFL);
			(void)signal(SIGSEGV, SIG_DFL);
			sigemptyset(&none);
			(void)sigprocmask(SIG_SETMASK, &none, NULL);
			if (i == 2 || write(ready[1], "x", 1) != 1)
				_exit(0);
			for (;;)
				(void)pause();
		}
	}
	for (int i = 0; i < 2; i++)
		if (read(ready[0], &byte, 1) != 1)
			_exit(93);
	write_to_nowhere();
}

static void children_are_told_killed_and_reaped(void **state)
{
	struct life life;
	siginfo_t si;

	(void)state;
	start(&life, END_POWER_OFF, fault_with_children);
	finish(&life, &si);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, END_CODE_PANIC);
	assert_non_null(strstr(said, FINAL));
}

/* The handler, given a context that cannot be read: it faults itself. */
static void fault_in_the_handler(void)
{
	siginfo_t si = { 0 };
	struct sigaction sa;

	(void)sigaction(SIGSEGV, NULL, &sa);
	sa.sa_sigaction(SIGSEGV, &si, (void *)8);
}

static void a_fault_while_faulting_does_not_loop(void **state)
{
	struct life life;
	siginfo_t si;
	const char *second;

	(void)state;
	start(&life, END_POWER_OFF, fault_in_the_handler);
	finish(&life, &si);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, END_CODE_PANIC);
	assert_non_null(strstr(said, "fault in PID 1: SIGSEGV"));
	second = strstr(said, FINAL);
	assert_non_null(second);
	assert_null(strstr(second + 1, FINAL));
}

static void stay_holds(void **state)
{
	struct pollfd p;
	struct life life;
	siginfo_t si;

	(void)state;
	start(&life, END_STAY, write_to_nowhere);
	p = (struct pollfd){ .fd = life.console, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 10000), 1); /* it spoke */
	p = (struct pollfd){ .fd = life.pidfd, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 200), 0); /* and lives */
	assert_int_equal(proc_signal(life.pidfd, SIGKILL), 0);
	finish(&life, &si);
	assert_int_equal(si.si_code, CLD_KILLED);
	assert_null(strstr(said, "podinit-final"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_is_told_and_ends_by_policy),
		cmocka_unit_test(an_abort_too),
		cmocka_unit_test(a_full_stack_has_another),
		cmocka_unit_test(children_are_told_killed_and_reaped),
		cmocka_unit_test(a_fault_while_faulting_does_not_loop),
		cmocka_unit_test(stay_holds),
	};

	return cmocka_run_group_tests_name("init panic", tests, NULL, NULL);
}
