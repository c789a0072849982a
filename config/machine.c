// SPDX-License-Identifier: Apache-2.0
/*
 * machine.c - see machine.h: the table of machine.json's keys, and their defaults.
 *
 * docs/machine.md says the same for people; tests/unit/config_machine.c reads its
 * example.
 */
#include "config/machine.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "config/json_doc.h"
#include "config/json_field.h"
#include "config/machine_network.h"
#include "config/name_check.h"

/* Every string of a file of MACHINE_FILE_BYTES with the arrays that hold them. */
#define MACHINE_ARENA_BYTES (8u << 20)

#define HOSTNAME_BYTES      64 /* HOST_NAME_MAX of Linux */
#define MODULE_NAME_BYTES   55 /* MODULE_NAME_LEN with its NUL, include/linux/module.h */
#define PORT_NAME_BYTES     255
#define DAY_MS              (24 * 3600 * 1000)
#define VSOCK_PORT_LAST     4294967294 /* 0xffffffff is VMADDR_PORT_ANY */

static const char *const end_words[] = {
	[END_POWER_OFF] = "power-off", [END_REBOOT] = "reboot", [END_HALT] = "halt",
	[END_STAY] = "stay",           [END_MAX] = NULL,
};

static const char *const level_words[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warn",    [LOG_INFO] = "info",
	[LOG_DEBUG] = "debug", [LOG_LEVEL_MAX] = NULL,
};

/* FIELD_WORD stores an int into these. */
_Static_assert(sizeof(enum machine_end) == sizeof(int), "enum as int");
_Static_assert(sizeof(enum log_level) == sizeof(int), "enum as int");

static const char *machine_check_hostname(const char *s)
{
	if (strlen(s) > HOSTNAME_BYTES)
		return "at most 64 bytes";
	return name_check_subdomain(s);
}

static const char *machine_check_module(const char *s)
{
	static const char rule[] =
		"a module's name: at most 55 of A-Z, a-z, 0-9, '-', '_'";
	size_t n = strlen(s);

	if (n == 0 || n > MODULE_NAME_BYTES || s[0] == '-')
		return rule;
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789-_") == n ?
		       NULL :
		       rule;
}

static const char *machine_check_unix(const char *s)
{
	if (strlen(s) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return "shorter than the 108 bytes of a unix socket's address";
	return *s ? name_check_path(s) : NULL;
}

static const char *machine_check_port(const char *s)
{
	if (*s == '/')
		return name_check_path(s);
	return *s && strlen(s) <= PORT_NAME_BYTES && !strchr(s, '/') ?
		       NULL :
		       "the name of a virtio-serial port or the absolute path of a tty";
}

/* Dots and slashes both separate, as in sysctl(8); a name may not leave /proc/sys. */
static const char *machine_check_sysctl(const char *s)
{
	static const char rule[] = "a sysctl's name such as \"net.ipv4.ip_forward\"";
	const char *p;

	if (!*s || strlen(s) > PORT_NAME_BYTES || strchr("./", *s))
		return rule;
	for (p = s; *p; p++)
		if (*p <= ' ' || *p > '~' || (strchr("./", p[0]) && strchr("./", p[1])))
			return rule;
	return NULL;
}

/* Of the kubelet's --allowed-unsafe-sysctls. */
static const char *machine_check_pattern(const char *s)
{
	size_t len = strlen(s), plain = strcspn(s, "*");

	return len > 1 && len <= PORT_NAME_BYTES && plain + 1 >= len &&
			       !strpbrk(s, "/ \t") ?
		       NULL :
		       "a sysctl's name with dots, or the beginning of one and '*'";
}

static void machine_read_sysctl(struct json_reader *r, const struct json_at *at,
				struct machine_sysctl *ret)
{
	const char *wrong = machine_check_sysctl(at->key);
	char number[24];

	if (wrong)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", at->key, wrong);
	ret->name = json_keep(r, at->key);
	/* Not json-c's text of a number: it is NULL when memory is short. */
	if (json_object_is_type(at->value, json_type_string)) {
		ret->value = json_keep(r, json_text(at));
	} else if (json_object_is_type(at->value, json_type_int)) {
		(void)snprintf(number, sizeof(number), "%lld",
			       (long long)json_object_get_int64(at->value));
		ret->value = json_keep(r, number);
	} else {
		json_fault(r, at, DIAG_TYPE, "must be a string or a whole number");
	}
}

static void machine_read_sysctls(struct json_reader *r, const struct json_at *at,
				 void *out)
{
	struct machine *m = out;

	m->sysctls = json_keep_array(r, json_length(at), sizeof(*m->sysctls));
	if (!m->sysctls)
		return;
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };

		if (value)
			machine_read_sysctl(r, &member, &m->sysctls[m->n_sysctls++]);
	}
}

static const struct field logs_fields[] = {
	FIELD_AT("dir", FIELD_STRING, struct machine, log_dir, .check = name_check_path),
	FIELD_AT("maxBytes", FIELD_INT, struct machine, log_max_bytes, .min = 4096,
		 .max = 1ll << 40),
	FIELD_AT("maxFiles", FIELD_INT, struct machine, log_max_files, .min = 1,
		 .max = 1000),
	FIELD_AT("tailBytes", FIELD_INT, struct machine, log_tail_bytes, .min = 0,
		 .max = 16 << 20),
	FIELD_AT("console", FIELD_BOOL, struct machine, log_console),
	FIELD_TABLE_END,
};

static const struct field restart_fields[] = {
	FIELD_AT("backoffBaseMs", FIELD_INT, struct machine, backoff_base_ms, .min = 1,
		 .max = DAY_MS),
	FIELD_AT("backoffMaxMs", FIELD_INT, struct machine, backoff_max_ms, .min = 1,
		 .max = DAY_MS),
	FIELD_AT("backoffResetMs", FIELD_INT, struct machine, backoff_reset_ms, .min = 1,
		 .max = DAY_MS),
	FIELD_TABLE_END,
};

static const struct field control_fields[] = {
	FIELD_AT("unix", FIELD_STRING, struct machine, control_unix,
		 .check = machine_check_unix),
	FIELD_AT("vsockPort", FIELD_INT, struct machine, control_vsock_port, .min = -1,
		 .max = VSOCK_PORT_LAST),
	FIELD_AT("vsockLocal", FIELD_BOOL, struct machine, control_vsock_local),
	FIELD_AT("ports", FIELD_STRINGS, struct machine, control_ports,
		 .check = machine_check_port),
	FIELD_TABLE_END,
};

static void machine_read_logs(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, logs_fields, out);
}

static void machine_read_restart(struct json_reader *r, const struct json_at *at,
				 void *out)
{
	struct machine *m = out;

	json_fields_read(r, at, restart_fields, m);
	if (m->backoff_max_ms < m->backoff_base_ms)
		json_fault(
			r, at, DIAG_VALUE,
			"backoffMaxMs (%lld) must not be less than backoffBaseMs (%lld)",
			(long long)m->backoff_max_ms, (long long)m->backoff_base_ms);
}

static void machine_read_control(struct json_reader *r, const struct json_at *at,
				 void *out)
{
	json_fields_read(r, at, control_fields, out);
}

static const struct field machine_fields[] = {
	FIELD_AT("hostname", FIELD_STRING, struct machine, hostname,
		 .check = machine_check_hostname),
	FIELD_AT("modules", FIELD_STRINGS, struct machine, modules,
		 .check = machine_check_module),
	FIELD_AT("coldplug", FIELD_BOOL, struct machine, coldplug),
	FIELD_CALL("sysctls", FIELD_OBJECT, machine_read_sysctls),
	FIELD_AT("allowedUnsafeSysctls", FIELD_STRINGS, struct machine, unsafe_sysctls,
		 .check = machine_check_pattern),
	FIELD_CALL("network", FIELD_OBJECT, machine_read_network),
	FIELD_AT("imageDir", FIELD_STRING, struct machine, image_dir,
		 .check = name_check_path),
	FIELD_AT("manifestDir", FIELD_STRING, struct machine, manifest_dir,
		 .check = name_check_path),
	FIELD_CALL("logs", FIELD_OBJECT, machine_read_logs),
	FIELD_AT("logLevel", FIELD_WORD, struct machine, log_level, .words = level_words),
	FIELD_CALL("restart", FIELD_OBJECT, machine_read_restart),
	FIELD_CALL("control", FIELD_OBJECT, machine_read_control),
	FIELD_AT("onPodsDone", FIELD_WORD, struct machine, on_pods_done,
		 .words = end_words),
	FIELD_AT("onBootFailed", FIELD_WORD, struct machine, on_boot_failed,
		 .words = end_words),
	FIELD_AT("shutdownTimeoutMs", FIELD_INT, struct machine, shutdown_timeout_ms,
		 .min = 1, .max = DAY_MS),
	FIELD_AT("debugExit", FIELD_BOOL, struct machine, debug_exit),
	FIELD_AT("debugExitPort", FIELD_INT, struct machine, debug_exit_port, .min = 1,
		 .max = 0xffff),
	FIELD_TABLE_END,
};

int machine_defaults(struct machine *ret)
{
	struct machine m = {
		.hostname = "podinit",
		.coldplug = true,
		.image_dir = "/var/lib/podinit/images",
		.manifest_dir = "/etc/podinit/pods",
		.log_dir = "/var/log/pods",
		.log_max_bytes = 10 << 20,
		.log_max_files = 5,
		.log_tail_bytes = 64 << 10,
		.log_level = LOG_INFO,
		.backoff_base_ms = 10 * 1000,
		.backoff_max_ms = 300 * 1000,
		.backoff_reset_ms = 600 * 1000,
		.control_unix = "/run/podinit/control.sock",
		.control_vsock_port = 1024,
		.on_pods_done = END_POWER_OFF,
		.on_boot_failed = END_POWER_OFF,
		.shutdown_timeout_ms = 30 * 1000,
		.debug_exit_port = 0xf4,
	};

	machine_network_defaults(&m.network);
	arena_init(&m.arena, MACHINE_ARENA_BYTES);
	m.modules = arena_array(&m.arena, 1, sizeof(*m.modules));
	m.control_ports = arena_array(&m.arena, 2, sizeof(*m.control_ports));
	if (!m.modules || !m.control_ports) {
		arena_free(&m.arena);
		return -ENOMEM;
	}
	m.control_ports[0] = "org.podinit.control.0";
	*ret = m;
	return 0;
}

int machine_parse(const char *text, size_t len, struct diag *diag, struct machine *ret)
{
	size_t first = diag->n, errors = diag->errors;
	struct json_at at = { .parent = NULL };
	struct json_reader reader = { .diag = diag };
	struct machine m;
	int r;

	r = json_doc_parse(text, len, MACHINE_FILE_BYTES, diag, diag, &at.value);
	if (r < 0)
		return r;
	r = machine_defaults(&m);
	if (r == 0) {
		reader.arena = &m.arena;
		json_fields_read(&reader, &at, machine_fields, &m);
		json_doc_locate(text, len, diag, first);
		r = reader.out_of_memory ? -ENOMEM : diag->errors > errors ? -EINVAL : 0;
		if (r < 0)
			machine_free(&m);
	}
	json_object_put(at.value);
	if (r == 0)
		*ret = m;
	return r;
}

void machine_free(struct machine *m)
{
	if (m)
		arena_free(&m->arena);
}

const char *machine_end_name(enum machine_end end)
{
	return (unsigned int)end < END_MAX ? end_words[end] : "?";
}

int machine_end_parse(const char *name)
{
	int i;

	for (i = 0; i < END_MAX; i++)
		if (strcmp(end_words[i], name) == 0)
			return i;
	return -EINVAL;
}
