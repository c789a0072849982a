// SPDX-License-Identifier: Apache-2.0
/*
 * machine.h - /etc/podinit/machine.json: everything optional, everything defaulted.
 *
 * Documented for people in docs/machine.md; the two are kept together.
 */
#ifndef CONFIG_MACHINE_H
#define CONFIG_MACHINE_H

#include "base/arena.h"
#include "base/inet.h"
#include "base/log.h"

struct diag;

#define MACHINE_FILE_BYTES (1u << 20)

enum machine_end { END_POWER_OFF, END_REBOOT, END_HALT, END_STAY, END_MAX };

struct machine_sysctl {
	const char *name; /* "net.ipv4.ip_forward" or with slashes */
	const char *value;
};

enum uplink_mode {
	UPLINK_MODE_NONE,
	UPLINK_MODE_STATIC,
	UPLINK_MODE_DHCP,
	UPLINK_MODE_KERNEL
};

/* Which interface is meant: all that is given must fit; nothing given = the first that is
 * a NIC (has a device below it in sysfs), by index. */
struct machine_match {
	const char *name, *driver; /* NULL = any */
	bool has_mac;
	uint8_t mac[MAC_BYTES];
};

#define MACHINE_UPLINK_ADDRS 8
#define MACHINE_BOND_PORTS   8
/* The bond's name: the module makes a bond0 of its own when it is loaded. */
#define MACHINE_BOND_NAME    "uplink0"

struct machine_uplink {
	enum uplink_mode mode; /* default kernel: nothing is done without ip= */
	struct machine_match match;
	size_t n_addresses;                          /* static only, at least one */
	struct inet addresses[MACHINE_UPLINK_ADDRS]; /* with their prefix */
	struct inet gateway[2];                      /* IPv4, IPv6; family 0 = none */
	int64_t mtu;                                 /* 0 = the driver's */
	int64_t vlan_id;                             /* 0 = none; 1 to 4094 */
	size_t n_bond_ports; /* 0 = no bond; then `match` is not used */
	struct machine_match bond_ports[MACHINE_BOND_PORTS];
	const char
		*bond_mode; /* "active-backup" (default), "802.3ad", "balance-rr", ... */
	int64_t timeout_ms; /* how long pods wait for it, default 10000; 0 = not at all */
};

/* network: {"uplink", "podCidrs", "bridge", "mtu", "dns", "clusterDomain", "repair"} */
struct machine_network {
	struct machine_uplink uplink;
	struct inet pod_range4, pod_range6; /* family 0 = none; default 10.88.0.0/16 and a
					       ULA /64 */
	const char *bridge;                 /* default "pod0" */
	int64_t mtu;                        /* of the pods, 0 = the uplink's, else 1500 */
	/* dns: {"nameservers", "searches", "options"}; none given: the lease's or ip='s,
	 * else the machine's /etc/resolv.conf */
	const char **dns_servers, **dns_searches,
		**dns_options;      /* NULL-terminated, or NULL */
	const char *cluster_domain; /* default "cluster.local" */
	bool repair; /* put back what is taken from a pod's network; default false */
};

struct machine {
	struct arena arena;

	const char *hostname; /* default "podinit" */
	const char **modules; /* NULL-terminated; never NULL */
	bool coldplug;        /* default true: load modules for the hardware found */
	/* Names, or prefixes that end in '*', that pods may have; NULL-terminated, NULL =
	 * none. */
	const char **unsafe_sysctls;
	size_t n_sysctls;
	struct machine_sysctl *sysctls;

	struct machine_network network;

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
