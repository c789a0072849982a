// SPDX-License-Identifier: Apache-2.0
/*
 * mount_table.c - see mount_table.h.
 */
#include "rootfs/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* A mount takes some 100 bytes of the table; a machine has a few dozen, and the search
 * for parents is quadratic. */
#define MOUNTINFO_BYTES (8u << 20)
#define MOUNTS_MAX      16384u
/* Nothing of these reaches a device or a server: their end is the kernel's. */
static const char *const pseudo_types[] = {
	"autofs",     "binfmt_misc", "bpf",       "cgroup",   "cgroup2", "configfs",
	"debugfs",    "devpts",      "devtmpfs",  "efivarfs", "fusectl", "hugetlbfs",
	"mqueue",     "nsfs",        "proc",      "pstore",   "ramfs",   "rootfs",
	"rpc_pipefs", "securityfs",  "selinuxfs", "sysfs",    "tmpfs",   "tracefs",
};

static bool is_pseudo(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_types); i++)
		if (strcmp(type, pseudo_types[i]) == 0)
			return true;
	return false;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blanks, tabs, newlines and backslashes stand as \ooo in the table (proc(5)). */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
		    is_octal(text[3])) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
					(text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool parse_line(char *line, struct mount_entry *ret)
{
	char *fields[6], *rest, *options, *minor;
	uint64_t device;
	struct mount_entry m = { 0 };

	rest = strstr(line, " - ");
	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strsep(&line, " ");
		if (!fields[i])
			return false;
	}
	m.id = strtoul(fields[0], NULL, 10);
	m.parent = strtoul(fields[1], NULL, 10);
	device = strtoul(fields[2], &minor, 10) << 32;
	m.device = device | (*minor == ':' ? strtoul(minor + 1, NULL, 10) : 0);
	m.point = fields[4];
	unescape(m.point);
	m.type = strsep(&rest, " ");
	options = rest && strsep(&rest, " ") ? rest : NULL;
	if (!options)
		return false;
	m.read_only = strcmp(options, "ro") == 0 || strncmp(options, "ro,", 3) == 0;
	/* Subtypes: "fuse.sshfs". */
	m.pseudo = is_pseudo(m.type);
	*ret = m;
	return true;
}

static int table_read_text(char **ret)
{
	_cleanup_close_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t len = 0, size = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (size - len < 4096) {
			char *more;

			if (size >= MOUNTINFO_BYTES)
				break; /* the rest stays mounted, which the caller will
					  see */
			size = size ? 2 * size : 65536;
			more = realloc(text, size + 1);
			if (!more)
				return -ENOMEM;
			text = more;
		}
		n = read(fd, text + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	*ret = ptr_steal(&text);
	return 0;
}

void mount_table_free(struct mount_table *table)
{
	free(table->entries);
	free(table->text);
}

/* A pseudo file system that hangs on one with data keeps it busy. Parents may stand
 * after their children once something was moved, hence the rounds. */
static void table_pin(struct mount_table *table)
{
	bool changed;

	do {
		changed = false;
		for (size_t i = 0; i < table->n; i++) {
			struct mount_entry *m = &table->entries[i];

			for (size_t k = 0; k < table->n && m->pseudo && !m->pinned; k++) {
				const struct mount_entry *below = &table->entries[k];

				if (below->id != m->parent ||
				    strcmp(below->point, "/") == 0)
					continue;
				m->pinned = !below->pseudo || below->pinned;
				changed |= m->pinned;
			}
		}
	} while (changed);
}

int mount_table_read(struct mount_table *ret)
{
	struct mount_table table = { 0 };
	char *at, *line;
	size_t lines = 1;
	int r = table_read_text(&table.text);

	if (r < 0)
		return r;
	for (at = table.text; *at; at++)
		lines += *at == '\n';
	lines = MIN(lines, MOUNTS_MAX);
	table.entries = calloc(lines, sizeof(*table.entries));
	if (!table.entries) {
		mount_table_free(&table);
		return -ENOMEM;
	}
	for (at = table.text; (line = strsep(&at, "\n")) && table.n < lines;)
		if (parse_line(line, &table.entries[table.n]))
			table.n++;
	table_pin(&table);
	*ret = table;
	return 0;
}
