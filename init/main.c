// SPDX-License-Identifier: Apache-2.0
/*
 * main.c - PID 1's main(): the order of the boot, on one screen.
 *
 * Up to the marked line a failure ends the machine by policy; below it nothing exits.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "init/boot.h"
#include "init/end.h"
#include "init/panic.h"
#include "pod/pause.h"

static const struct {
	const char *stage;
	int (*run)(struct boot *b, struct err *e);
} steps[] = {
	{ "detect", boot_detect },
	{ "console", boot_console }, /* early: what follows has something to say */
	{ "root", boot_root },       /* before the mounts, which it would have to move */
	{ "mounts", boot_mounts },
	{ "options", boot_options },   /* /proc/cmdline, files */
	{ "settings", boot_settings }, /* /proc/sys, as the options say */
	{ "loop", boot_loop },         /* before the first child */
	{ "pods", boot_pods },
	{ "control", boot_control }, /* before the pods: a person can watch them start */
	{ "network", boot_network },
	{ "helpers", boot_helpers },
};

static int not_pid1(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("podinit " PODINIT_VERSION);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		puts("podinit is PID 1 of a machine or container: the kernel or a\n"
		     "container tool starts it. See podinit(8); podctl(1) talks to it.\n"
		     "\n"
		     "  podinit --version   print the version\n"
		     "  podinit --help      print this");
		return 0;
	}
	fputs("podinit: not PID 1: boot it with init=, or as the first process of a pid "
	      "namespace; --help says more\n",
	      stderr);
	return 2;
}

int main(int argc, char *argv[])
{
	static struct boot boot;
	/* Until the options are read: the defaults of a machine. */
	const struct panic_policy early = { .end = { .initial_pid_ns = true },
					    .how = END_POWER_OFF,
					    .console_fd = STDERR_FILENO };
	struct err e = { 0 };

	if (argc && strcmp(argv[0], PAUSE_ARGV0) == 0)
		pause_main();
	if (getpid() != 1) {
		int code = uplink_lease_main(argc, argv);

		return code >= 0 ? code : not_pid1(argc, argv);
	}

	signals_begin();
	boot_init(&boot, argc ? argv + 1 : argv);
	(void)panic_install(&early); /* works on this stack too */
	(void)umask(0022);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i].run(&boot, &e) < 0)
			boot_fail(&boot, steps[i].stage, &e);
		timeline_stamp(&boot.timeline, steps[i].stage);
	}

	/* ======== below this line nothing exits =======================================
	 */

	for (;;) {
		int r = loop_run(boot.loop);

		/* Only a broken descriptor of our own ends it: no fault to go on with. */
		log_error("the event loop ended (%d)", r);
		abort();
	}
}
