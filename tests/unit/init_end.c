// SPDX-License-Identifier: Apache-2.0
/*
 * init_end.c - the last act, outside a machine: it exits with the code; holding reaps.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/proc.h"
#include "init/end.h"

static void the_port_has_seven_bits(void **state)
{
	(void)state;
	assert_int_equal(end_port_value(0), 0);
	assert_int_equal(end_port_value(1), 1);
	assert_int_equal(end_port_value(125), 125);
	assert_int_equal(end_port_value(127), 127);
	assert_int_equal(end_port_value(128), 127);
	assert_int_equal(end_port_value(137), 127);
	assert_int_equal(end_port_value(255), 127);
	assert_int_equal(end_port_value(-1), 127);
}

static void in_a_container_the_end_is_an_exit(void **state)
{
	/* The port must not be touched: an outb here would be the host's. */
	const struct end end = { .debug_exit = true, .debug_exit_port = 0xf4 };
	siginfo_t si = { 0 };
	int pidfd;
	pid_t pid = proc_clone(0, -1, &pidfd);

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)end_now(&end, END_REBOOT, 137);
		_exit(1);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, 137);
	(void)close(pidfd);
}

/* The holder's children end; it is alive and has no zombie, as the pipe's end tells: the
 * last child closes it, and its exit is taken before the holder could be killed. */
static void holding_reaps_for_ever(void **state)
{
	siginfo_t si = { 0 };
	int fds[2], pidfd;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = proc_clone(0, -1, &pidfd);
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(fds[0]);
		/* The second child ends only when the first one is gone for good. */
		for (int i = 0; i < 2; i++) {
			static pid_t first;
			pid_t child = fork();

			if (child == 0 && i == 0)
				_exit(0);
			if (child == 0) {
				while (kill(first, 0) == 0)
					(void)usleep(1000);
				_exit(write(fds[1], "x", 1) != 1);
			}
			first = child;
		}
		(void)close(fds[1]);
		end_hold();
	}
	(void)close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	assert_int_equal(proc_signal(pidfd, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	assert_int_equal(si.si_code, CLD_KILLED);
	(void)close(fds[0]);
	(void)close(pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_has_seven_bits),
		cmocka_unit_test(in_a_container_the_end_is_an_exit),
		cmocka_unit_test(holding_reaps_for_ever),
	};

	return cmocka_run_group_tests_name("init end", tests, NULL, NULL);
}
