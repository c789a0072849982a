// SPDX-License-Identifier: Apache-2.0
/*
 * caps.h - a member's capabilities.
 *
 * Called by: launch.c for what a member may have; its child, between clone and exec, for
 * the rest: that is async-signal-safe.
 */
#ifndef POD_CAPS_H
#define POD_CAPS_H

#include "base/util.h"

struct spec_caps;

/* containerd's default set: CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID
 * SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE. */
uint64_t caps_default(void);

/* The default, or what PID 1 itself has for "ALL" in add, or nothing for "ALL" in drop;
 * then what is added by name, then without what is dropped by name (containerd's order:
 * internal/cri/server, WithCapabilities). A capability that PID 1 has not makes
 * caps_apply() fail. */
uint64_t caps_of(const struct spec_caps *spec);

/* Takes everything that is not in keep out of the bounding set. Before the change of
 * user: it needs CAP_SETPCAP. -errno. */
int caps_limit_bounding(uint64_t keep);

/* After the change of user. uid 0: permitted and effective = keep; other users: none.
 * Inheritable and ambient are always empty, as Kubernetes' runtimes have it. */
int caps_apply(uint64_t keep, bool is_root);

#endif
