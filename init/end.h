// SPDX-License-Identifier: Apache-2.0
/*
 * end.h - the very last act: exit code to the VMM, then reboot(2) or _exit(2).
 *
 * Called by: shutdown's last step, a failed boot, the panic path. Async-signal-safe.
 */
#ifndef INIT_END_H
#define INIT_END_H

#include "base/util.h"
#include "config/machine.h"

/* Exit codes of podinit's own faults, beside the members': as container tools have it. */
#define END_CODE_BOOT_FAILED 125
#define END_CODE_PANIC       125

struct end {
	bool initial_pid_ns;
	bool debug_exit;
	int64_t debug_exit_port;
};

/* What isa-debug-exit is told: 7 bits, as QEMU exits with (value << 1) | 1. Codes above
 * 127 (a member ended by a signal) become 127; the final line has the true one. */
int end_port_value(int exit_code);

/* The next three are for the way there, when no loop runs any more. They wait for at most
 * wait_ms, whatever the kernel does to the process that makes the call that blocks. */

/* Collects what ends, until no child is left. */
void end_reap(int64_t wait_ms);

/* Writes back what is in memory, and makes "/" read-only: its journal is clean then. Only
 * for the initial pid namespace: elsewhere the super blocks are the host's. */
void end_sync(int64_t wait_ms);

/* Until the terminal has sent what was written: it takes bytes faster than it sends them,
 * and no power-off waits for it. Nothing to do for what is no terminal. */
void end_drain(int fd, int64_t wait_ms);

/* Returns only when the kernel refuses: -errno. Outside the initial pid namespace the
 * action is to exit with the code. */
int end_now(const struct end *end, enum machine_end how, int exit_code);

/* Collects whatever ends, for ever. For when nothing else is left to do. */
_Noreturn void end_hold(void);

#endif
