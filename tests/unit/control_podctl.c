// SPDX-License-Identifier: Apache-2.0
/*
 * control_podctl.c - the program podctl against a channel with faked pods: its tables,
 * its words on stderr, its exit codes, and what it does when nobody answers.
 */
#include "tests/unit/control_fake.h"

#include <libgen.h>
#include <pty.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/proc.h"
#include "control/podctl.h"
#include "control/state.h"

static char program[4096];
static bool trace_next; /* the next run waits for its tracer at its exec */

struct run {
	pid_t pid;
	int out, err, code;
	size_t out_len, err_len;
	char stdout_text[65536], stderr_text[8192];
};

/* Reads what is there; false at the end. */
static bool take(int *fd, char *to, size_t size, size_t *len)
{
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, to + *len, size - 1 - *len);
	if (n > 0)
		*len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		fd_close(fd);
	to[*len] = '\0';
	return *fd >= 0;
}

static void start(struct run *r, char *const *argv, bool terminal)
{
	int out[2], err[2];

	memset(r, 0, sizeof(*r));
	if (terminal)
		assert_int_equal(openpty(&out[0], &out[1], NULL, NULL, NULL), 0);
	else
		assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	r->pid = fork();
	if (r->pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)dup2(err[1], STDERR_FILENO);
		(void)proc_close_from(3);
		if (trace_next)
			(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(program, argv);
		_exit(126);
	}
	close(out[1]);
	close(err[1]);
	r->out = out[0];
	r->err = err[0];
	(void)fcntl(r->out, F_SETFL, O_NONBLOCK);
	(void)fcntl(r->err, F_SETFL, O_NONBLOCK);
}

/* One turn of the channel and of the program's output. */
static bool step(struct fake *f, struct run *r)
{
	bool more = take(&r->out, r->stdout_text, sizeof(r->stdout_text), &r->out_len);

	more |= take(&r->err, r->stderr_text, sizeof(r->stderr_text), &r->err_len);
	if (more)
		assert_true(loop_turn(f->loop, 5) >= 0);
	return more;
}

static void finish(struct fake *f, struct run *r)
{
	int64_t end_ns = time_boot_ns() + FAKE_DEADLINE_MS * NSEC_PER_MSEC;
	int status;

	while (step(f, r))
		if (time_boot_ns() > end_ns)
			fail_msg("podctl does not end");
	assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
	r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Splits line at spaces; the words of a JSON request have none. */
static void split(char *line, char **argv, size_t size)
{
	size_t n = 0;

	for (char *word = strtok(line, " "); word && n + 1 < size;
	     word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
}

static void start_line(struct fake *f, struct run *r, const char *text, bool terminal)
{
	char line[512], option[] = "-s", *argv[32] = { program, option, f->path };

	(void)snprintf(line, sizeof(line), "%s", text);
	split(line, argv + 3, 29);
	start(r, argv, terminal);
}

static void run(struct fake *f, struct run *r, const char *text)
{
	start_line(f, r, text, false);
	finish(f, r);
}

struct row {
	const char *args;
	int code;
	const char *out, *err; /* parts; NULL = nothing may be there */
};

static void check_rows(struct fake *f, const struct row *rows, size_t n)
{
	static struct run r;

	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		run(f, &r, row->args);
		if (r.code != row->code ||
		    (row->out ? !strstr(r.stdout_text, row->out) : r.out_len > 0) ||
		    (row->err ? !strstr(r.stderr_text, row->err) : r.err_len > 0))
			fail_msg("podctl %s: exit code %d\nstdout: %s\nstderr: %s",
				 row->args, r.code, r.stdout_text, r.stderr_text);
	}
}

static void test_commands(void **state)
{
	static const struct row rows[] = {
		{ "list", 0, "NAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\n",
		  NULL },
		{ "ls -o json", 0, "\"namespace\": \"prod\"", NULL },
		{ "status web", 0, "Phase:       Running\n", NULL },
		{ "status web -o json", 0, "\"kind\": \"Pod\"", NULL },
		{ "status", 0, "Name:        db\n", NULL },
		{ "status nope", 1, NULL, "podctl: there is no pod default/nope\n" },
		{ "status a/b/c", 2, NULL, "is not [NAMESPACE/]NAME" },
		{ "kill prod/db main HUP", 0, "signal sent", NULL },
		{ "kill web main NOPE", 1, NULL, "name or number of a signal" },
		{ "kill web absent", 1, NULL, "no member 'absent'" },
		{ "stop web --grace 7", 0, "stopping", NULL },
		{ "delete web", 0, "deleting", NULL },
		{ "info", 0, "loop.wakeups", NULL },
		{ "boot", 0, "exec default/a/main\n", NULL },
		{ "events", 0, "POD_CHANGED     default/web  phase=Running\n", NULL },
		{ "events -o json --since 1", 0, "{\"event\":\"POD_CHANGED\"", NULL },
		{ "log", 0, "podinit: ", NULL },
		{ "{\"execute\":\"pod-list\"}", 0, "\"return\": [", NULL },
		{ "raw {\"execute\":\"nope\"}", 1, "CommandNotFound", NULL },
		{ "raw {\"execute\":", 1, "cut off", NULL },
		{ "--version", 0, "podctl ", NULL },
		{ "--help", 0, "Usage: podctl", NULL },
		{ "help ls", 0, "Also: podctl ls\n", NULL },
		{ "list --help", 0, "Usage: podctl [OPTION]... list [-n NAMESPACE]\n",
		  NULL },
		{ "list -A", 0, "NAMESPACE", NULL },
		{ "kill web", 0, "signal sent", NULL },
	};
	struct fake *f = *state;

	fake_add("default", "web");
	fake_add("prod", "db");
	log_info("started");
	fake_event(f, POD_EVENT_POD_CHANGED,
		   "{\"namespace\":\"default\",\"pod\":\"web\",\"phase\":\"Running\"}");
	check_rows(f, rows, ARRAY_SIZE(rows));
	assert_int_equal(fake_pods[0].grace_ms, -1);
	assert_int_equal(fake_pods[0].stops, 1);
	assert_int_equal(fake_pods[0].deletes, 1);
	assert_int_equal(fake_pods[1].signal, SIGHUP);
}

static void test_usage(void **state)
{
	static const struct row rows[] = {
		{ "", 2, NULL, "no command" },
		{ "lits", 2, NULL, "did you mean 'list'?" },
		{ "xyzzy", 2, NULL, "see 'podctl help'" },
		{ "list extra", 2, NULL, "usage: podctl list" },
		{ "list -f", 2, NULL, "does not take that option" },
		{ "list -o yaml", 2, NULL, "table or json" },
		{ "list --bogus", 2, NULL, "bogus" },
		{ "stop", 2, NULL, "usage: podctl stop POD" },
		{ "stop web --grace -1", 2, NULL, "--grace needs a number" },
		{ "logs web -n 1x", 2, NULL, "--lines needs a number" },
		{ "wait web --for sunshine", 2, NULL, "--for is" },
		{ "list --timeout 0", 2, NULL, "--timeout" },
		{ "raw {} {}", 2, NULL, "usage" },
		{ "list -s /nonexistent", 3, NULL, "No such file" },
		{ "list -s /dev", 3, NULL, "cannot connect to /dev" },
		{ "list -s vsock:x", 3, NULL, "cannot connect" },
	};

	check_rows(*state, rows, ARRAY_SIZE(rows));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define POD(name, more)                                                                 \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name        \
	"\"},\n\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\"" more \
	"}]}}"

static void test_check_and_create(void **state)
{
	static const struct row rows[] = {
		{ "check /tmp/podctl-good", 0, "/tmp/podctl-good: ok, 1 pod\n", NULL },
		{ "check /tmp/podctl-bad", 1, NULL, "/spec/containers/0/imagge" },
		{ "check /tmp/podctl-bad -o json", 1, "\"pointer\": \"/spec", NULL },
		{ "check /tmp/podctl-good /tmp/podctl-none", 1, "ok, 1 pod",
		  "No such file" },
		{ "check --machine /tmp/podctl-good", 1, NULL, "apiVersion" },
		{ "create /tmp/podctl-good", 0, "pod default/good created\n", NULL },
		{ "create /tmp/podctl-good", 1, NULL, "exists" },
		{ "create /tmp/podctl-bad", 1, NULL, "/spec/containers/0/imagge" },
		{ "create /tmp/podctl-none", 1, NULL, "No such file" },
	};

	write_file("/tmp/podctl-good", POD("good", ""));
	write_file("/tmp/podctl-bad", POD("bad", ",\"imagge\":1"));
	check_rows(*state, rows, ARRAY_SIZE(rows));
	(void)unlink("/tmp/podctl-good");
	(void)unlink("/tmp/podctl-bad");
}

/* Turns until the server has a subscriber. */
static void until_subscribed(struct fake *f, struct run *r)
{
	while (list_empty(&f->control->subscribers))
		assert_true(step(f, r));
}

#define OF_WEB "{\"namespace\":\"default\",\"pod\":\"web\",\"phase\":"

static void test_following_ends_with_the_last_line(void **state)
{
	static struct run r;
	struct fake *f = *state;

	fake_add("default", "web");
	fake_log_lines = 1;
	start_line(f, &r, "logs web -f", false);
	until_subscribed(f, &r);
	while (r.out_len == 0)
		assert_true(step(f, &r)); /* the tail has been taken */
	fake_log(f, "one", 3, 0);
	fake_log(f, "tw", 2, 1); /* a piece of a line */
	fake_log(f, "o", 1, 0);
	/* The end overtakes the last line, which is shown all the same. */
	fake_event(f, POD_EVENT_POD_CHANGED, OF_WEB "\"Succeeded\"}");
	fake_log(f, "last", 4, 0);
	finish(f, &r);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.stdout_text, "bad \xEF\xBF\xBD byte\none\ntwo\nlast\n");
}

static void test_wait(void **state)
{
	static struct run r;
	struct fake *f = *state;

	fake_add("default", "web");
	run(f, &r, "wait web --for phase=Running --timeout 1");
	assert_int_equal(r.code, PODCTL_TIMEOUT);
	run(f, &r, "wait nope --for ready --timeout 5");
	assert_int_equal(r.code, PODCTL_FAILED);
	start_line(f, &r, "wait web --for deleted --timeout 50", false);
	until_subscribed(f, &r);
	fake_n = 0;
	fake_event(f, POD_EVENT_POD_DELETED, OF_WEB "\"\"}");
	finish(f, &r);
	assert_int_equal(r.code, PODCTL_OK);
}

static void test_delete_and_wait(void **state)
{
	static struct run r;
	struct fake *f = *state;

	fake_add("default", "web");
	start_line(f, &r, "delete web --wait", false);
	while (!fake_pods[0].deletes)
		assert_true(step(f, &r));
	fake_n = 0;
	fake_event(f, POD_EVENT_POD_DELETED, OF_WEB "\"\"}");
	finish(f, &r);
	assert_int_equal(r.code, PODCTL_OK);
	assert_string_equal(r.stdout_text, "deleting\ndeleted\n");
}

static void test_a_terminal_is_not_steered(void **state)
{
	static struct run r;
	struct fake *f = *state;

	fake_event(f, POD_EVENT_MEMBER_FAILED,
		   "{\"namespace\":\"default\",\"pod\":\"web\",\"message\":"
		   "\"\\u001b]0;title\\u0007 \\u009b2J \xC3\xA4\"}");
	start_line(f, &r, "events", true);
	finish(f, &r);
	assert_null(strchr(r.stdout_text, '\033'));
	assert_null(strchr(r.stdout_text, '\007'));
	assert_non_null(strstr(r.stdout_text, "^[]0;title^G ?2J \xC3\xA4"));
	/* To a pipe it goes as it is. */
	run(f, &r, "events");
	assert_non_null(strchr(r.stdout_text, '\033'));
}

static void test_a_dead_machine_does_not_hang_it(void **state)
{
	static struct run r;
	struct fake *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char path[64], line[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;

	(void)snprintf(path, sizeof(path), "%s/run/dead", f->dir);
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	(void)snprintf(line, sizeof(line), "list --timeout 1 -s %s", path);
	run(f, &r, line);
	assert_int_equal(r.code, PODCTL_TIMEOUT);
	assert_non_null(strstr(r.stderr_text, "no answer in time"));
	/* One that goes away. */
	start_line(f, &r, line, false);
	peer = accept(fd, NULL, NULL); /* the run before */
	close(peer);
	peer = accept(fd, NULL, NULL);
	close(peer);
	finish(f, &r);
	assert_int_equal(r.code, PODCTL_CONNECT);
	assert_non_null(strstr(r.stderr_text, "connection lost"));
	close(fd);
	(void)unlink(path);
}

/* Noise from before, echo, and events: only the answer to our own id counts. */
/* Lets a traced run go on until its connect(2) has returned. */
static void until_connected(pid_t pid)
{
	struct __ptrace_syscall_info info;
	uint64_t entered = 0;
	int status;

	for (;;) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
					PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
				 0);
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) >
			    0);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			entered = info.entry.nr;
		else if (info.op == PTRACE_SYSCALL_INFO_EXIT && entered == SYS_connect)
			return;
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
	}
}

/* The peer has said its sentence and is gone before the first byte of the request. */
static void test_a_refusal_is_read_although_nothing_can_be_sent(void **state)
{
	static const char words[] = "{\"error\":{\"class\":\"GenericError\","
				    "\"desc\":\"only the host may use this port\"}}\n";
	struct fake *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char option[] = "-s", command[] = "list";
	char *argv[] = { program, option, addr.sun_path, command, NULL };
	static struct run r;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.door", f->path);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	trace_next = true;
	start(&r, argv, false);
	trace_next = false;
	until_connected(r.pid);
	fd = accept(listener, NULL, NULL);
	assert_int_equal(write(fd, words, sizeof(words) - 1), sizeof(words) - 1);
	close(fd);
	assert_int_equal(ptrace(PTRACE_DETACH, r.pid, NULL, NULL), 0);
	finish(f, &r);
	assert_int_equal(r.code, PODCTL_CONNECT);
	assert_non_null(strstr(r.stderr_text, "only the host may use this port"));
	close(listener);
	(void)unlink(addr.sun_path);
}

static void test_over_a_serial_line(void **state)
{
	static struct run r;
	struct fake *f = *state;
	char name[64], line[128], text[4096];
	int master, slave, n = 0;
	ssize_t len = 0;

	assert_int_equal(openpty(&master, &slave, name, NULL, NULL), 0);
	(void)snprintf(line, sizeof(line), "list -s %s", name);
	start_line(f, &r, line, false);
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	while (!memchr(text, '\n', (size_t)len)) {
		n = (int)read(master, text + len, sizeof(text) - 1 - (size_t)len);
		len += MAX(n, 0);
		assert_true(step(f, &r));
	}
	text[len] = '\0';
	assert_int_equal(text[0], '\xFF');
	assert_non_null(strstr(text, "\"execute\":\"pod-list\""));
	(void)snprintf(text, sizeof(text),
		       "login: {half\n%s{\"error\":{\"class\":\"x\",\"desc\":\"junk\"}}\n"
		       "{\"return\":[],\"id\":\"other\"}\n"
		       "{\"return\":[{\"name\":\"far\"}],\"id\":\"podctl-%d-1\"}\n",
		       "{\"event\":\"LOG\",\"data\":{}}\n", (int)r.pid);
	assert_int_equal(write(master, text, strlen(text)), strlen(text));
	finish(f, &r);
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.stdout_text, "far"));
	close(master);
	close(slave);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_commands),
		TEST(test_usage),
		TEST(test_check_and_create),
		TEST(test_following_ends_with_the_last_line),
		TEST(test_wait),
		TEST(test_delete_and_wait),
		TEST(test_a_terminal_is_not_steered),
		TEST(test_a_dead_machine_does_not_hang_it),
		TEST(test_a_refusal_is_read_although_nothing_can_be_sent),
		TEST(test_over_a_serial_line),
	};
	char self[2048];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[MAX(n, 0)] = '\0';
	(void)snprintf(program, sizeof(program), "%s/../podctl", dirname(self));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
