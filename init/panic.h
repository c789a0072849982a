// SPDX-License-Identifier: Apache-2.0
/*
 * panic.h - a fault in PID 1 itself: the kernel would panic when it dies, so it does not.
 *
 * Owns: the handlers of the fault signals, their stack, the words prepared for the end.
 * Called by: main at first, boot when it knows the policy.
 * On a fault: a line on the console; then, by policy, everything is told to end, killed,
 * synced, and the machine ends; what ends meanwhile is reaped. A fault on this path skips
 * to the last act, one there to plain reaping: it cannot loop. Async-signal-safe, uses
 * nothing of the running program but what was handed over here.
 */
#ifndef INIT_PANIC_H
#define INIT_PANIC_H

#include "init/end.h"

struct panic_policy {
	struct end end;
	enum machine_end how; /* END_STAY: keep reaping, members go on */
	int console_fd;       /* borrowed; -1 = none */
	/* For members to end after SIGTERM, then for the sync; 0 = no time at all. */
	int64_t grace_ms, sync_ms;
};

/* May be called again with a better policy. Without a stack of its own (-errno) faults
 * are handled on the faulting one. */
int panic_install(const struct panic_policy *policy);

#endif
