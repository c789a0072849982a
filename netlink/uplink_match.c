// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_match.c - which interface a machine.json means; see uplink_parts.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/uplink_parts.h"

/* A text attribute without its newline; false when it cannot be read. */
static bool read_attr(int dir_fd, const char *name, const char *attr, char *ret,
		      size_t size)
{
	char path[NAME_MAX + 32];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", name, attr);
	n = fd_read_file_at(dir_fd, path, ret, size);
	if (n < 0)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

/* Hardware has a device below it; a bridge or a veth has not. */
static bool is_nic(int dir_fd, const char *name)
{
	char path[NAME_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/device", name);
	return faccessat(dir_fd, path, F_OK, 0) == 0;
}

static bool has_driver(int dir_fd, const char *name, const char *driver)
{
	char path[NAME_MAX + 32], target[PATH_MAX];
	const char *base;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/device/driver", name);
	n = readlinkat(dir_fd, path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	return strcmp(base ? base + 1 : target, driver) == 0;
}

static bool has_mac(int dir_fd, const char *name, const uint8_t *mac)
{
	uint8_t found[MAC_BYTES];
	char text[64];

	return read_attr(dir_fd, name, "address", text, sizeof(text)) &&
	       mac_parse(text, found) == 0 && memcmp(found, mac, MAC_BYTES) == 0;
}

static bool fits(int dir_fd, const char *name, const struct machine_match *m)
{
	if (m->name && strcmp(m->name, name) != 0)
		return false;
	if (m->has_mac && !has_mac(dir_fd, name, m->mac))
		return false;
	if (m->driver && !has_driver(dir_fd, name, m->driver))
		return false;
	return m->name || m->has_mac || m->driver || is_nic(dir_fd, name);
}

int uplink_match_find(const struct machine_match *m, const char *class_dir,
		      char ret[static 16])
{
	long best = LONG_MAX;
	struct dirent *entry;
	DIR *d;

	if (m->name && !m->driver && !m->has_mac) {
		if (!if_nametoindex(m->name))
			return -ENOENT;
		(void)snprintf(ret, 16, "%s", m->name);
		return 0;
	}
	d = opendir(class_dir);
	if (!d)
		return -errno;
	while ((entry = readdir(d))) {
		char text[32];
		long index;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= 16 ||
		    !fits(dirfd(d), entry->d_name, m) ||
		    !read_attr(dirfd(d), entry->d_name, "ifindex", text, sizeof(text)))
			continue;
		index = strtol(text, NULL, 10);
		if (index >= best)
			continue;
		best = index;
		(void)snprintf(ret, 16, "%.15s", entry->d_name);
	}
	(void)closedir(d);
	return best == LONG_MAX ? -ENOENT : 0;
}
