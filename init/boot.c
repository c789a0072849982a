// SPDX-License-Identifier: Apache-2.0
/*
 * boot.c - see boot.h. First the steps, in their order; then the wires between the parts
 * of the running machine; then its end.
 */
#include "init/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "control/control.h"
#include "init/end.h"
#include "init/machine_file.h"
#include "init/outcome.h"
#include "init/panic.h"
#include "netlink/link.h"

/* The kernel's limit is 4 KiB or less, a boot loader's bootconfig can double it. */
#define CMDLINE_BYTES  8192
/* Some five descriptors for each of thousands of members. */
#define FILES_MAX      65536
/* The line of a thousand pods at 115,200 baud. */
#define FINAL_LINE_MS  8000
/* After a fault of our own: less than a pod's default grace, as nobody supervises. */
#define PANIC_GRACE_MS 10000
#define PANIC_SYNC_MS  10000
/* When the boot failed little was written. */
#define FAILED_SYNC_MS 10000

void boot_init(struct boot *b, char *const *args)
{
	timeline_stamp(&b->timeline, "handoff");
	b->args = args;
	b->console_fd = -1;
	b->kind.initial_pid_ns = true; /* until known better: no _exit() by mistake */
	b->manifests.dir_fd = -1;
	b->machine.on_boot_failed = END_POWER_OFF;
	b->loading = true;
	cmdline_init(&b->cmdline);
}

/* ---- the steps -------------------------------------------------------------------- */

int boot_detect(struct boot *b, struct err *e)
{
	/* The kernel opens 0..2 on its console, or leaves them closed: then the next file
	 * we open must not become somebody's stdout. "/" always exists. */
	while (fcntl(STDERR_FILENO, F_GETFD) < 0)
		if (open("/", O_RDONLY | O_DIRECTORY) < 0)
			return err_set(e, STAGE_BOOT, errno, "open /");
	(void)setsid(); /* PID 1 of a machine is in session 0, of a container not always
			 */
	return early_detect(&b->kind, e);
}

/* A descriptor of our own for what is behind stderr, as O_NONBLOCK would be seen by all
 * that share it. A socket cannot be opened again and is shared. */
static int open_console(const struct boot *b)
{
	/* O_APPEND for a file that others write to as well. */
	const int flags = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	int fd = -1;

	if (b->kind.initial_pid_ns)
		fd = open("/dev/console", flags);
	if (fd < 0)
		fd = open("/proc/self/fd/2", flags);
	if (fd < 0 && fcntl(STDERR_FILENO, F_GETFL) >= 0 &&
	    (fcntl(STDERR_FILENO, F_GETFL) & O_ACCMODE) != O_RDONLY)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd;
}

/* Nothing reads the console in PID 1, and what a library prints must not block it. */
static void arrange_stdio(const struct boot *b)
{
	_cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out_fd = b->console_fd >= 0 ? b->console_fd : null_fd;

	if (null_fd >= 0)
		(void)dup2(null_fd, STDIN_FILENO);
	if (out_fd >= 0) {
		(void)dup2(out_fd, STDOUT_FILENO);
		(void)dup2(out_fd, STDERR_FILENO);
	}
}

int boot_console(struct boot *b, struct err *e)
{
	(void)e; /* a machine without a console is one */
	if (b->console_fd < 0)
		b->console_fd = open_console(b);
	log_open(b->console_fd);
	return 0;
}

int boot_root(struct boot *b, struct err *e)
{
	return early_leave_rootfs(&b->kind, e);
}

int boot_mounts(struct boot *b, struct err *e)
{
	int r = early_mounts(&b->kind, e);

	if (r < 0)
		return r;
	if (b->console_fd < 0) /* an initramfs without the node */
		(void)boot_console(b, e);
	arrange_stdio(b);
	return 0;
}

static void read_cmdline(struct boot *b)
{
	static char text[CMDLINE_BYTES];
	ssize_t n = 0;

	/* In a container /proc/cmdline is the host's. */
	if (b->kind.initial_pid_ns)
		n = fd_read_file_at(AT_FDCWD, "/proc/cmdline", text, sizeof(text));
	if (n < 0)
		log_warn("/proc/cmdline: %s", strerror((int)-n));
	if (n > 0)
		cmdline_parse(&b->cmdline, text);
	for (char *const *arg = b->args; *arg; arg++)
		cmdline_word(&b->cmdline, *arg);
}

static void set_panic_policy(const struct boot *b)
{
	const struct panic_policy policy = {
		.end = { .initial_pid_ns = b->kind.initial_pid_ns,
			 .debug_exit = b->machine.debug_exit,
			 .debug_exit_port = b->machine.debug_exit_port },
		.how = b->machine.on_boot_failed,
		.console_fd = b->console_fd,
		.grace_ms = PANIC_GRACE_MS,
		.sync_ms = PANIC_SYNC_MS,
	};
	int r = panic_install(&policy);

	if (r < 0)
		log_warn("no stack for faults: %s", strerror(-r));
}

int boot_options(struct boot *b, struct err *e)
{
	const char *path = NULL;
	int r;

	read_cmdline(b);
	if (b->cmdline.machine[0])
		path = b->cmdline.machine;
	r = machine_file_load(path, &b->machine);
	if (r == -ENOMEM)
		return err_set(e, STAGE_CONFIG, ENOMEM, "machine file");
	b->machine_refused = r < 0;
	cmdline_apply(&b->cmdline, &b->machine);
	log_set_level(b->machine.log_level);
	set_panic_policy(b);
	return 0;
}

/* The set-up child of a member gives both back. */
static void take_privileges(void)
{
	struct rlimit limit = { .rlim_cur = FILES_MAX, .rlim_max = FILES_MAX };
	int r;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 &&
	    getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* soft to hard is allowed */
	}
	log_debug("at most %llu open files", (unsigned long long)limit.rlim_cur);
	r = fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
	if (r < 0)
		log_debug("oom_score_adj: %s", strerror(-r));
}

int boot_settings(struct boot *b, struct err *e)
{
	struct err lo = { 0 };

	(void)e;
	take_privileges();
	(void)early_settings(&b->machine); /* each failure is in the log by its name */
	if (link_up_loopback(&lo) < 0)
		log_err(LOG_WARN, "loopback", &lo);
	/* From now on Ctrl-Alt-Del is a SIGINT to PID 1, not a reset (reboot(2)). */
	if (b->kind.initial_pid_ns && reboot(RB_DISABLE_CAD) < 0)
		log_warn("Ctrl-Alt-Del stays a reset: %s", strerror(errno));
	return 0;
}

/* ---- requests --------------------------------------------------------------------- */

static int request_end(struct boot *b, enum machine_end how, int64_t grace_ms,
		       const char *why)
{
	int r = shutdown_request(&b->shutdown, how, grace_ms, why);

	if (r == 0)
		manifests_stop(&b->manifests);
	if (r == 0)
		network_up_stop(&b->network);
	return r;
}

static void on_signal(void *arg, const struct signal_request *request, int sig)
{
	struct boot *b = arg;
	char why[32];

	(void)snprintf(why, sizeof(why), "SIG%s",
		       sigabbrev_np(sig) ? sigabbrev_np(sig) : "RT");
	if (request_end(b, request->how, -1, why) == -EALREADY && request->harder)
		(void)shutdown_harder(&b->shutdown, request->how, why);
}

static void on_power_key(void *arg)
{
	(void)request_end(arg, END_POWER_OFF, -1, "the power key");
}

static int on_command(void *arg, enum machine_end how, int64_t grace_ms)
{
	return request_end(arg, how, grace_ms, "the control channel");
}

int boot_loop(struct boot *b, struct err *e)
{
	int r = loop_init(&b->loop);

	if (r == 0)
		r = log_attach(b->loop);
	if (r == -EPERM)
		r = 0; /* the console is a file: it cannot be stuck */
	if (r == 0)
		r = reap_start(&b->reap, b->loop);
	if (r == 0)
		r = signals_start(&b->signals, b->loop, on_signal, b);
	return r < 0 ? err_set(e, STAGE_BOOT, -r, "event loop") : 0;
}

/* ---- pods ------------------------------------------------------------------------- */

static void pods_maybe_done(struct boot *b)
{
	/* Not before the ports are open: a host wants to see what a short pod said. */
	if (b->loading || !b->ports_open || !pods_all_done(&b->pods) ||
	    b->shutdown.state != SHUTDOWN_IDLE)
		return;
	if (b->machine.on_pods_done == END_STAY)
		log_info("all pods have ended, staying up");
	else
		(void)request_end(b, b->machine.on_pods_done, -1, "the end of all pods");
}

static void on_pods_done(void *arg)
{
	struct boot *b = arg;

	shutdown_kick(&b->shutdown);
	pods_maybe_done(b);
}

static void on_journal_grew(void *arg)
{
	struct boot *b = arg;

	shutdown_kick(&b->shutdown);
	if (b->control)
		control_wake(b->control);
}

static void on_manifests_done(void *arg)
{
	struct boot *b = arg;

	timeline_stamp(&b->timeline, "manifests");
	b->loading = false;
	log_info("%zu pods of %s created, %zu refused", b->manifests.created,
		 b->machine.manifest_dir, b->manifests.refused);
	if (!b->manifests.created)
		log_info("no pod to run, waiting on the control channel");
	helpers_probe(&b->helpers);
	pods_maybe_done(b);
}

/* Pods need the named modules (overlay), and a way out. */
static void maybe_start_pods(struct boot *b)
{
	int r;

	if (!b->modules_in || !b->network.settled || b->machine_refused ||
	    b->pods.stopping)
		return;
	r = manifests_start(&b->manifests, b->loop, &b->pods, b->machine.manifest_dir,
			    on_manifests_done, b);
	if (r < 0) {
		log_error("manifests in %s: %s", b->machine.manifest_dir, strerror(-r));
		on_manifests_done(b);
	}
}

static void on_named_modules(void *arg)
{
	struct boot *b = arg;

	timeline_stamp(&b->timeline, "modules");
	b->modules_in = true;
	maybe_start_pods(b);
}

static void on_network(void *arg)
{
	struct boot *b = arg;

	timeline_stamp(&b->timeline, "uplink");
	maybe_start_pods(b);
}

static void on_coldplug(void *arg)
{
	struct boot *b = arg;

	timeline_stamp(&b->timeline, "coldplug");
	if (b->shutdown.state > SHUTDOWN_KILL)
		return; /* it was killed with all the rest */
	control_open_ports(b->control);
	b->ports_open = true;
	(void)power_open(&b->power, b->loop, "/dev/input", on_power_key, b);
	pods_maybe_done(b);
}

/* ---- the end ---------------------------------------------------------------------- */

/* Says the final line and ends the machine; holds it if the kernel refuses. */
static _Noreturn void end_machine(const struct boot *b, const struct outcome *o,
				  struct json_object *pods, enum machine_end how)
{
	const struct end end = {
		.initial_pid_ns = b->kind.initial_pid_ns,
		.debug_exit = b->machine.debug_exit,
		.debug_exit_port = b->machine.debug_exit_port,
	};
	char fixed[OUTCOME_SHORT_BYTES];
	char *line = outcome_line(o, pods);
	int r;

	log_final_line(line ? line : outcome_short(o, fixed), FINAL_LINE_MS);
	r = end_now(&end, how, o->exit_code);
	log_error("%s: %s", machine_end_name(how), strerror(-r));
	end_hold();
}

static void kill_rest(void *arg)
{
	(void)arg;
	/* Everybody but PID 1 and kernel threads (kill(2)); anywhere else it would hit
	 * the host. */
	if (getpid() == 1)
		(void)kill(-1, SIGKILL); /* ESRCH: nobody is left */
}

static void finish(void *arg)
{
	struct boot *b = arg;
	const struct shutdown *s = &b->shutdown;
	struct outcome o = outcome_of(b->machine_refused, s->all_done,
				      pods_exit_code(&b->pods), s->how,
				      b->kind.initial_pid_ns);

	end_machine(b, &o, pods_outcome_json(&b->pods), s->how);
}

void boot_fail(struct boot *b, const char *step, const struct err *e)
{
	enum machine_end how = b->machine.on_boot_failed;
	struct outcome o;

	if (b->console_fd < 0) {
		struct err ignored;

		(void)boot_console(b, &ignored);
	}
	log_err(LOG_ERROR, step, e);
	if (how == END_STAY) {
		log_error("boot failed, staying as the machine file says");
		end_hold();
	}
	kill_rest(NULL); /* the helpers of a late step */
	if (b->kind.initial_pid_ns)
		end_sync(FAILED_SYNC_MS);
	o = outcome_of(true, false, 0, how, b->kind.initial_pid_ns);
	end_machine(b, &o, NULL, how);
}

/* ---- pods and channel ------------------------------------------------------------- */

int boot_pods(struct boot *b, struct err *e)
{
	const struct shutdown_hooks hooks = {
		.kill_rest = kill_rest,
		.finish = finish,
		.arg = b,
	};
	int r;

	network_up_monitor(&b->network, b->loop);
	r = pods_init(&b->pods, b->loop, &b->machine, b->kind.user_ns,
		      &b->network.monitor, e);
	if (r < 0)
		return r;
	b->pods.hooks = (struct pods_hooks){
		.journal_grew = on_journal_grew,
		.all_done = on_pods_done,
		.arg = b,
	};
	r = shutdown_init(&b->shutdown, b->loop, &b->pods, b->machine.shutdown_timeout_ms,
			  b->kind.initial_pid_ns, &hooks);
	return r < 0 ? err_set(e, STAGE_SHUTDOWN, -r, "shutdown timer") : 0;
}

static void describe(void *arg, struct json_object *info)
{
	const struct boot *b = arg;
	struct json_object *stages = timeline_json(&b->timeline);

	if (stages && json_object_object_add(info, "boot", stages) < 0)
		json_object_put(stages);
	(void)json_object_object_add(
		info, "shutdown",
		json_object_new_string(shutdown_state_name(b->shutdown.state)));
	helpers_describe(&b->helpers, info);
	network_up_describe(&b->network, info);
}

int boot_control(struct boot *b, struct err *e)
{
	const struct control_hooks hooks = {
		.shutdown = on_command,
		.describe = describe,
		.arg = b,
	};
	int r = control_init(&b->control, b->loop, &b->pods, &b->machine, &hooks, e);

	if (r < 0)
		return r;
	b->shutdown.control = b->control;
	return 0;
}

int boot_network(struct boot *b, struct err *e)
{
	b->network.on_settled = on_network;
	b->network.arg = b;
	if (b->machine_refused)
		return 0;
	return network_up_start(&b->network, &b->pods, &b->machine, b->cmdline.ip, e);
}

int boot_helpers(struct boot *b, struct err *e)
{
	int r;

	b->helpers.named_done = on_named_modules;
	b->helpers.coldplug_done = on_coldplug;
	b->helpers.arg = b;
	r = helpers_start(&b->helpers, b->loop, &b->machine);
	if (r < 0)
		return err_set(e, STAGE_MODULES, -r, "module helpers");
	if (!b->machine_refused)
		return 0;
	/* What it wanted for its pods is not known, so none is started on defaults. */
	if (b->machine.on_boot_failed == END_STAY)
		log_error("the machine file is refused: no pods, staying up");
	else
		(void)request_end(b, b->machine.on_boot_failed, -1,
				  "the refused machine file");
	return 0;
}
