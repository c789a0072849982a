// SPDX-License-Identifier: Apache-2.0
/*
 * caps.h - a member's capabilities.
 *
 * Called by: the launch child, between clone and exec: async-signal-safe.
 */
#ifndef POD_CAPS_H
#define POD_CAPS_H

#include "base/util.h"

/* containerd's default set: CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID
 * SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE. */
uint64_t caps_default(void);

/* Takes everything that is not in keep out of the bounding set. Before the change of
 * user: it needs CAP_SETPCAP. -errno. */
int caps_limit_bounding(uint64_t keep);

/* After the change of user. uid 0: permitted and effective = keep; other users: none.
 * Inheritable and ambient are always empty, as Kubernetes' runtimes have it. */
int caps_apply(uint64_t keep, bool is_root);

#endif
