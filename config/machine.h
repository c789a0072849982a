// SPDX-License-Identifier: Apache-2.0
/*
 * machine.h - /etc/podinit/machine.json: everything optional, everything defaulted.
 *
 * Documented for people in docs/machine.md; the two are kept together.
 */
#ifndef CONFIG_MACHINE_H
#define CONFIG_MACHINE_H

#include "base/arena.h"
#include "base/log.h"

struct diag;

#define MACHINE_FILE_BYTES (1u << 20)

enum machine_end { END_POWER_OFF, END_REBOOT, END_HALT, END_STAY, END_MAX };

struct machine_sysctl {
	const char *name; /* "net.ipv4.ip_forward" or with slashes */
	const char *value;
};

struct machine {
	struct arena arena;

	const char *hostname; /* default "podinit" */
	const char **modules; /* NULL-terminated; never NULL */
	bool coldplug;        /* default true: load modules for the hardware found */
	size_t n_sysctls;
	struct machine_sysctl *sysctls;

	const char *image_dir;    /* default "/var/lib/podinit/images" */
	const char *manifest_dir; /* default "/etc/podinit/pods" */

	/* logs: {"dir", "maxBytes", "maxFiles", "tailBytes", "console"} */
	const char *log_dir;    /* default "/var/log/pods" */
	int64_t log_max_bytes;  /* per file before rotation, default 10 MiB */
	int64_t log_max_files;  /* kept files per attempt with the live one, default 5 */
	int64_t log_tail_bytes; /* in memory per member, default 64 KiB */
	bool log_console;       /* copy members' lines to the console, default false */
	enum log_level log_level; /* podinit's own words, default info */

	/* restart: {"backoffBaseMs", "backoffMaxMs", "backoffResetMs"} */
	int64_t backoff_base_ms;  /* default 10000 */
	int64_t backoff_max_ms;   /* default 300000 */
	int64_t backoff_reset_ms; /* default 600000 */

	/* control: {"unix", "vsockPort", "ports": [...]} */
	const char *control_unix;   /* default "/run/podinit/control.sock"; "" = none */
	int64_t control_vsock_port; /* default 1024 (0x400); -1 = none */
	bool control_vsock_local; /* default false: processes of this machine may not use
				     vsock, members could (it is in no namespace) */
	const char **control_ports; /* virtio-serial port names or tty paths; default
				       "org.podinit.control.0"; absent ones are waited for
				       only as long as the boot's coldplug */

	enum machine_end on_pods_done;   /* default power-off; only pods that can end */
	enum machine_end on_boot_failed; /* default power-off */
	int64_t shutdown_timeout_ms; /* whole shutdown after the grace, default 30000 */
	bool debug_exit;         /* write the outcome to isa-debug-exit, default false */
	int64_t debug_exit_port; /* default 0xf4 */
};

/* Fills ret with the defaults. 0 or -ENOMEM. */
int machine_defaults(struct machine *ret);

/* Defaults overlaid with the file's values. 0, -EINVAL with reasons, -ENOMEM. */
int machine_parse(const char *text, size_t len, struct diag *diag, struct machine *ret);
void machine_free(struct machine *m);

const char *machine_end_name(enum machine_end end); /* "power-off", "reboot", ... */
int machine_end_parse(const char *name);            /* enum machine_end or -EINVAL */

#endif
