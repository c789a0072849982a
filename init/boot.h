// SPDX-License-Identifier: Apache-2.0
/*
 * boot.h - the machine from hand-off to running pods, and who answers to whom then.
 *
 * Owns: everything there is one of: options, machine settings, loop, pods, channel,
 * signals, shutdown. Called by: main, one step after the other.
 * A step returns 0, or -errno with e filled when the boot cannot go on; what the machine
 * can do without is logged by the step itself.
 */
#ifndef INIT_BOOT_H
#define INIT_BOOT_H

#include "base/err.h"
#include "config/machine.h"
#include "init/cmdline.h"
#include "init/helpers.h"
#include "init/manifests.h"
#include "init/network.h"
#include "init/power.h"
#include "init/reap.h"
#include "init/shutdown.h"
#include "init/signals.h"
#include "init/timeline.h"
#include "pod/pods.h"
#include "rootfs/early.h"

struct control;

struct boot {
	char *const *args; /* of main, after the name; NULL-terminated */
	struct timeline timeline;
	struct sandbox_kind kind;
	int console_fd; /* non-blocking, -1 = none */
	struct cmdline cmdline;
	struct machine machine;
	bool machine_refused; /* its file is in error: no pod is started */
	bool ports_open;      /* coldplug is over, the channel's ports were looked for */
	bool loading;         /* manifests are still to come: no pod is the last one */
	struct loop *loop;
	struct pods pods;
	struct control *control;
	struct reap reap;
	struct signals signals;
	struct power power;
	struct helpers helpers;
	struct network_up network;
	bool modules_in; /* the named ones */
	struct manifests manifests;
	struct shutdown shutdown;
};

void boot_init(struct boot *b, char *const *args);

/* The steps, in the order of main's list. */
int boot_detect(struct boot *b, struct err *e);   /* /proc, and whose PID 1 this is */
int boot_console(struct boot *b, struct err *e);  /* stdio and log */
int boot_root(struct boot *b, struct err *e);     /* off the initramfs */
int boot_mounts(struct boot *b, struct err *e);   /* /sys /dev /run cgroup2 ... */
int boot_options(struct boot *b, struct err *e);  /* command line, machine file */
int boot_settings(struct boot *b, struct err *e); /* limits, hostname, sysctls, lo */
int boot_loop(struct boot *b, struct err *e);     /* loop, orphans, requests */
int boot_pods(struct boot *b, struct err *e);     /* cgroups, logs, journals */
int boot_control(struct boot *b, struct err *e);  /* the unix socket */
int boot_network(struct boot *b, struct err *e);  /* the uplink */
int boot_helpers(struct boot *b, struct err *e);  /* modules; pods follow from the loop */

/* A step failed: reports it and ends the machine by policy. */
_Noreturn void boot_fail(struct boot *b, const char *step, const struct err *e);

#endif
