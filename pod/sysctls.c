// SPDX-License-Identifier: Apache-2.0
/*
 * sysctls.c - see sysctls.h.
 */
#include "pod/sysctls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "config/machine.h"
#include "config/pod_spec.h"
#include "rootfs/sysctl.h"

enum owner { OWNER_MACHINE, OWNER_IPC, OWNER_NET };

static const char *const safe[] = {
	"kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
	"net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
	"net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem",
};

/* Which namespace a setting belongs to; '*' as in allowedUnsafeSysctls. */
static const struct {
	const char *pattern;
	enum owner owner;
} owners[] = {
	{ "kernel.sem", OWNER_IPC },  { "kernel.shm*", OWNER_IPC },
	{ "kernel.msg*", OWNER_IPC }, { "fs.mqueue.*", OWNER_IPC },
	{ "net.*", OWNER_NET },
};

static bool matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strcmp(name, pattern) == 0;
}

static enum owner owner_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (matches(owners[i].pattern, name))
			return owners[i].owner;
	return OWNER_MACHINE;
}

static bool is_allowed(const struct machine *machine, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		if (!strcmp(safe[i], name))
			return true;
	for (const char **p = machine->unsafe_sysctls; p && *p; p++)
		if (matches(*p, name))
			return true;
	return false;
}

int sysctls_check(const struct machine *machine, const struct pod_spec *spec,
		  struct err *e)
{
	for (size_t i = 0; i < spec->n_sysctls; i++) {
		const char *name = spec->sysctls[i].key, *why = NULL;
		enum owner owner = owner_of(name);

		if (!is_allowed(machine, name) || owner == OWNER_MACHINE)
			why = "not allowlisted";
		else if (owner == OWNER_NET && spec->host_network)
			why = "not allowed with hostNetwork";
		else if (owner == OWNER_IPC && spec->host_ipc)
			why = "not allowed with hostIPC";
		if (why)
			return err_setx(e, STAGE_CONFIG, EPERM,
					"forbidden sysctl: \"%.100s\" %s", name, why);
	}
	return 0;
}

int sysctls_apply(const struct pod_spec *spec, struct err *e)
{
	_cleanup_close_ int sys_fd = -1;

	if (!spec->n_sysctls)
		return 0;
	sys_fd = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sys_fd < 0)
		return err_set(e, STAGE_SANDBOX, errno, "open /proc/sys");
	for (size_t i = 0; i < spec->n_sysctls; i++) {
		const struct spec_pair *s = &spec->sysctls[i];
		int r = sysctl_write(sys_fd, s->key, s->value);

		if (r < 0)
			return err_set(e, STAGE_SANDBOX, -r,
				       "set sysctl %.100s to \"%.64s\"", s->key,
				       s->value);
	}
	return 0;
}
