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

/* Returns only when the kernel refuses: -errno. Outside the initial pid namespace the
 * action is to exit with the code. */
int end_now(const struct end *end, enum machine_end how, int exit_code);

/* Collects whatever ends, for ever. For when nothing else is left to do. */
_Noreturn void end_hold(void);

#endif
