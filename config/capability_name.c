// SPDX-License-Identifier: Apache-2.0
/*
 * capability_name.c - see capability_name.h. The names of linux/capability.h.
 */
#include "config/capability_name.h"

#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "base/util.h"

static const char *const names[] = {
	[CAP_CHOWN] = "CHOWN",
	[CAP_DAC_OVERRIDE] = "DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "DAC_READ_SEARCH",
	[CAP_FOWNER] = "FOWNER",
	[CAP_FSETID] = "FSETID",
	[CAP_KILL] = "KILL",
	[CAP_SETGID] = "SETGID",
	[CAP_SETUID] = "SETUID",
	[CAP_SETPCAP] = "SETPCAP",
	[CAP_LINUX_IMMUTABLE] = "LINUX_IMMUTABLE",
	[CAP_NET_BIND_SERVICE] = "NET_BIND_SERVICE",
	[CAP_NET_BROADCAST] = "NET_BROADCAST",
	[CAP_NET_ADMIN] = "NET_ADMIN",
	[CAP_NET_RAW] = "NET_RAW",
	[CAP_IPC_LOCK] = "IPC_LOCK",
	[CAP_IPC_OWNER] = "IPC_OWNER",
	[CAP_SYS_MODULE] = "SYS_MODULE",
	[CAP_SYS_RAWIO] = "SYS_RAWIO",
	[CAP_SYS_CHROOT] = "SYS_CHROOT",
	[CAP_SYS_PTRACE] = "SYS_PTRACE",
	[CAP_SYS_PACCT] = "SYS_PACCT",
	[CAP_SYS_ADMIN] = "SYS_ADMIN",
	[CAP_SYS_BOOT] = "SYS_BOOT",
	[CAP_SYS_NICE] = "SYS_NICE",
	[CAP_SYS_RESOURCE] = "SYS_RESOURCE",
	[CAP_SYS_TIME] = "SYS_TIME",
	[CAP_SYS_TTY_CONFIG] = "SYS_TTY_CONFIG",
	[CAP_MKNOD] = "MKNOD",
	[CAP_LEASE] = "LEASE",
	[CAP_AUDIT_WRITE] = "AUDIT_WRITE",
	[CAP_AUDIT_CONTROL] = "AUDIT_CONTROL",
	[CAP_SETFCAP] = "SETFCAP",
	[CAP_MAC_OVERRIDE] = "MAC_OVERRIDE",
	[CAP_MAC_ADMIN] = "MAC_ADMIN",
	[CAP_SYSLOG] = "SYSLOG",
	[CAP_WAKE_ALARM] = "WAKE_ALARM",
	[CAP_BLOCK_SUSPEND] = "BLOCK_SUSPEND",
	[CAP_AUDIT_READ] = "AUDIT_READ",
	[CAP_PERFMON] = "PERFMON",
	[CAP_BPF] = "BPF",
	[CAP_CHECKPOINT_RESTORE] = "CHECKPOINT_RESTORE",
};
_Static_assert(ARRAY_SIZE(names) == CAP_LAST_CAP + 1, "a name for each capability");

static const char *without_prefix(const char *name)
{
	return strncasecmp(name, "CAP_", 4) == 0 ? name + 4 : name;
}

int capability_parse(const char *name)
{
	name = without_prefix(name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

const char *capability_nearest(const char *name)
{
	char upper[32];
	size_t n = 0;

	for (name = without_prefix(name); *name && n < sizeof(upper) - 1; name++)
		upper[n++] = (char)toupper((unsigned char)*name);
	upper[n] = '\0';
	return str_nearest(upper, names, ARRAY_SIZE(names));
}
