// SPDX-License-Identifier: Apache-2.0
/*
 * link.h - links of the network namespace the caller is in, by libnl.
 *
 * Called by: init for the machine's loopback, pod's sandbox child for a pod's.
 */
#ifndef NETLINK_LINK_H
#define NETLINK_LINK_H

#include "base/err.h"

/* Sets "lo" up (the kernel then gives it 127.0.0.1/8 and ::1). 0 or -errno with the
 * object and errno in e (may be NULL). Talks to the kernel synchronously; rtnetlink
 * answers at once. */
int link_up_loopback(struct err *e);

#endif
