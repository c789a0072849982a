// SPDX-License-Identifier: Apache-2.0
/*
 * modules.h - kernel modules: what the hardware asks for and what the machine names.
 *
 * Runs in a helper child (base/child): walking /sys and modprobe may take long.
 */
#ifndef ROOTFS_MODULES_H
#define ROOTFS_MODULES_H

#include "base/util.h"

struct modules_job {
	const char *const *names; /* NULL-terminated */
	bool coldplug;            /* walk /sys/devices for "modalias" files */
};

/* child.run: collects the modaliases (each once), and execs the system's modprobe with
 * all names and aliases in batches (-a -b -q ...; both kmod's and busybox's understand
 * them). Says on stderr what failed. Exit code 0 when the named modules loaded or are
 * built in; an alias without a module is no failure. */
int modules_run(void *job);

#endif
