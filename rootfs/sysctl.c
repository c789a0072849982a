// SPDX-License-Identifier: Apache-2.0
/*
 * sysctl.c - see sysctl.h.
 */
#include "rootfs/sysctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

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
int sysctl_write(int sys_fd, const char *name, const char *value)
{
	char path[PATH_MAX], line[VALUE_BYTES];
	int r = sysctl_path(name, path);
	int len = snprintf(line, sizeof(line), "%s\n", value);

	if (r == 0 && (len < 0 || (size_t)len >= sizeof(line)))
		r = -E2BIG;
	return r < 0 ? r : fd_write_file_at(sys_fd, path, line);
}
