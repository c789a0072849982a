// SPDX-License-Identifier: Apache-2.0
/*
 * end.c - see end.h.
 */
#include "init/end.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#define HAVE_PORTS 1
#else
#define HAVE_PORTS 0
#endif

#include "base/time.h"

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

/* Collects one child, or with P_ALL all of them, until it is gone or the time is over. */
static void reap(idtype_t type, id_t id, int64_t end_ns)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD); /* sigtimedwait(2) wants it blocked */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		siginfo_t si = { 0 };
		int64_t left_ns = end_ns - time_boot_ns();
		struct timespec left = { .tv_sec = left_ns / NSEC_PER_SEC,
					 .tv_nsec = left_ns % NSEC_PER_SEC };

		if (waitid(type, id, &si, WEXITED | WNOHANG) < 0)
			return; /* ECHILD: gone */
		if (si.si_pid)
			continue;
		if (left_ns <= 0)
			return;
		(void)sigtimedwait(&set, NULL, &left);
	}
}

void end_reap(int64_t wait_ms)
{
	reap(P_ALL, 0, time_add(time_boot_ns(), wait_ms * NSEC_PER_MSEC));
}

/* A copy of us for a call that may never return. Raw: fork() takes locks that code which
 * was interrupted by a fault may hold. */
static long copy_self(void)
{
	return syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL);
}

void end_sync(int64_t wait_ms)
{
	int64_t end_ns = time_add(time_boot_ns(), wait_ms * NSEC_PER_MSEC);
	long root, rest;

	/* Two, as a dead disk elsewhere must not keep the root from it. */
	root = copy_self();
	if (root == 0)
		_exit(mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0);
	rest = copy_self();
	if (rest == 0) {
		sync();
		_exit(0);
	}
	if (root > 0)
		reap(P_PID, (id_t)root, end_ns);
	if (rest > 0)
		reap(P_PID, (id_t)rest, end_ns);
}

void end_drain(int fd, int64_t wait_ms)
{
	long pid;

	if (fd < 0 || !isatty(fd))
		return;
	pid = copy_self();
	if (pid == 0)
		_exit(tcdrain(fd) < 0);
	if (pid > 0)
		reap(P_PID, (id_t)pid, time_add(time_boot_ns(), wait_ms * NSEC_PER_MSEC));
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
