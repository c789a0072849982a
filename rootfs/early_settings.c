// SPDX-License-Identifier: Apache-2.0
/*
 * early_settings.c - hostname and kernel settings; declared in early.h.
 *
 * Never stops the boot: each failure is one line in the log.
 */
#include "rootfs/early.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"

/* The kernel takes at most a page of most settings. */
#define VALUE_BYTES 4096

/* sysctl(8): the first separator tells the form. With '.', the other one stands for a
 * dot in a name ("net.ipv4.conf.eth0/100.forwarding"); with '/', it is a path. */
static int sysctl_path(const char *name, char path[static PATH_MAX])
{
	size_t len = strlen(name), first = strcspn(name, "./");
	bool dotted = name[first] == '.', part = false;

	if (len == 0 || len >= PATH_MAX)
		return -EINVAL;
	for (size_t i = 0; i <= len; i++) {
		char c = name[i];

		if (dotted && (c == '.' || c == '/'))
			c = c == '.' ? '/' : '.';
		path[i] = c;
		if (c != '/' && c != '\0') {
			part = true;
			continue;
		}
		/* "", "." and ".." are no names; the last two could lead elsewhere. */
		if (!part || (i >= 1 && path[i - 1] == '.' &&
			      (i == 1 || path[i - 2] == '/' ||
			       (path[i - 2] == '.' && (i == 2 || path[i - 3] == '/')))))
			return -EINVAL;
		part = false;
	}
	return 0;
}

/* With a newline: kernel.printk_devkmsg and others compare the whole line. */
static int sysctl_set(int sys_fd, const char *name, const char *value)
{
	char path[PATH_MAX], line[VALUE_BYTES];
	int r = sysctl_path(name, path);
	int len = snprintf(line, sizeof(line), "%s\n", value);

	if (r == 0 && (len < 0 || (size_t)len >= sizeof(line)))
		r = -E2BIG;
	if (r == 0)
		r = fd_write_file_at(sys_fd, path, line);
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
