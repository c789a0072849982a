// SPDX-License-Identifier: Apache-2.0
/*
 * caps.c - see caps.h. Raw capset(2): libcap allocates, and we stand between clone and
 * exec.
 */
#include "pod/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/pod_spec.h"

#define BIT(cap) (UINT64_C(1) << (cap))

uint64_t caps_default(void)
{
	return BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) |
	       BIT(CAP_FOWNER) | BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) | BIT(CAP_SETGID) |
	       BIT(CAP_SETUID) | BIT(CAP_SETFCAP) | BIT(CAP_SETPCAP) |
	       BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT) | BIT(CAP_KILL) |
	       BIT(CAP_AUDIT_WRITE);
}

/* What this process may have at most. */
static uint64_t caps_own(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	(void)syscall(SYS_capget, &header, data); /* of ourselves: cannot fail */
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

uint64_t caps_of(const struct spec_caps *spec)
{
	uint64_t caps = caps_default();

	if (spec->add_all)
		caps = caps_own();
	if (spec->drop_all)
		caps = 0;
	return (caps | spec->add) & ~spec->drop;
}

int caps_limit_bounding(uint64_t keep)
{
	/* EINVAL marks the first capability that this kernel does not know: the end. */
	for (int cap = 0; cap < 64; cap++) {
		if (keep & BIT(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break;
			return -errno;
		}
	}
	return 0;
}

int caps_apply(uint64_t keep, bool is_root)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (!is_root)
		keep = 0;
	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(keep >> (32 * i));
		data[i].permitted = data[i].effective;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
