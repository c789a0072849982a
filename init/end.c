// SPDX-License-Identifier: Apache-2.0
/*
 * end.c - see end.h.
 */
#include "init/end.h"

#include <errno.h>
#include <signal.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#define HAVE_PORTS 1
#else
#define HAVE_PORTS 0
#endif

#define PORT_VALUE_MAX 127

int end_port_value(int exit_code)
{
	if (exit_code < 0)
		return PORT_VALUE_MAX;
	return MIN(exit_code, PORT_VALUE_MAX);
}

/* Where the device exists this does not return: QEMU ends within the instruction. */
static void tell_vmm(const struct end *end, int exit_code)
{
#if HAVE_PORTS
	if (!end->debug_exit || end->debug_exit_port < 0 || end->debug_exit_port > 0xffff)
		return;
	if (ioperm((unsigned long)end->debug_exit_port, 1, 1) == 0)
		outb((unsigned char)end_port_value(exit_code),
		     (unsigned short)end->debug_exit_port);
#else
	(void)end;
	(void)exit_code;
#endif
}

int end_now(const struct end *end, enum machine_end how, int exit_code)
{
	int command = RB_POWER_OFF;

	if (!end->initial_pid_ns)
		_exit(exit_code);
	tell_vmm(end, exit_code);
	if (how == END_REBOOT)
		command = RB_AUTOBOOT;
	else if (how == END_HALT)
		command = RB_HALT_SYSTEM;
	return reboot(command) < 0 ? -errno : 0;
}

void end_hold(void)
{
	sigset_t set;
	siginfo_t si;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) < 0 || si.si_pid == 0)
			(void)sigwaitinfo(&set, NULL);
	}
}
