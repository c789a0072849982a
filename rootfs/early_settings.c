// SPDX-License-Identifier: Apache-2.0
/*
 * early_settings.c - hostname and kernel settings; declared in early.h.
 *
 * Never stops the boot: each failure is one line in the log.
 */
#include "rootfs/early.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "rootfs/sysctl.h"

static int sysctl_set(int sys_fd, const char *name, const char *value)
{
	int r = sysctl_write(sys_fd, name, value);

	if (r < 0)
		log_warn("cannot set sysctl %s to \"%s\": %s", name, value, strerror(-r));
	return r;
}

int early_settings(const struct machine *machine)
{
	_cleanup_close_ int sys_fd = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int failed = 0;

	if (sethostname(machine->hostname, strlen(machine->hostname)) < 0) {
		log_warn("cannot set hostname %s: %s", machine->hostname,
			 strerror(errno));
		failed++;
	}
	if (sys_fd < 0) {
		log_warn("cannot open /proc/sys: %s", strerror(errno));
		return failed + 1;
	}
	/* Our own words to /dev/kmsg are not to be rate-limited; a container's host keeps
	 * its setting. */
	if (early_initial_pid_ns())
		failed += sysctl_set(sys_fd, "kernel.printk_devkmsg", "on") < 0;
	for (size_t i = 0; i < machine->n_sysctls; i++)
		failed += sysctl_set(sys_fd, machine->sysctls[i].name,
				     machine->sysctls[i].value) < 0;
	return failed;
}
