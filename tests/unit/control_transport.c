// SPDX-License-Identifier: Apache-2.0
/*
 * control_transport.c - who gets in and how: the unix socket, vsock, ports.
 */
#include "tests/unit/control_fake.h"

#include <linux/vm_sockets.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>

#include "control/state.h"
#include "control/transport.h"

/* ---- unix ----------------------------------------------------------------------------
 */

static void test_socket_is_for_its_owner_only(void **state)
{
	struct fake *f = *state;
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* Connects as another user although the file would let it. */
static int line_as_nobody(struct fake *f, char *line, size_t size)
{
	int out[2], status;
	pid_t pid;
	ssize_t n;

	assert_int_equal(chmod(f->path, 0666), 0);
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		struct sockaddr_un addr = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		strcpy(addr.sun_path, f->path);
		if (setuid(65534) < 0 ||
		    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			_exit(1);
		n = recv(fd, line, size - 1, 0);
		_exit(n > 0 && write(out[1], line, (size_t)n) == n ? 0 : 2);
	}
	close(out[1]);
	assert_int_equal(fcntl(out[0], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 1000; i++) {
		n = read(out[0], line, size - 1);
		if (n >= 0)
			break;
		assert_true(loop_turn(f->loop, 10) >= 0);
	}
	line[MAX(n, 0)] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_others_are_refused(void **state)
{
	struct fake *f = *state;
	char line[512] = "";

	if (getuid() != 0)
		skip();
	assert_int_equal(line_as_nobody(f, line, sizeof(line)), 0);
	assert_non_null(strstr(line,
			       "{\"error\":{\"class\":\"GenericError\",\"desc\":\"only "
			       "root may use the control channel\"}}"));
	assert_int_equal(f->control->n_sockets, 0);
	assert_int_equal(f->control->refused, 1);
}

static int second_control(struct fake *f, struct err *e)
{
	struct control_hooks hooks = { fake_shutdown, NULL, f };
	struct control *c = NULL;
	int r = control_init(&c, f->loop, &f->pods, &f->machine, &hooks, e);

	if (r == 0)
		control_free(c);
	return r;
}

static void test_stale_socket_is_replaced(void **state)
{
	struct fake *f = *state;
	struct err e = { 0 };

	/* A living one is not. */
	assert_int_equal(second_control(f, &e), -EADDRINUSE);
	assert_non_null(strstr(e.text, f->path));
	control_free(f->control);
	f->control = NULL;
	assert_int_equal(access(f->path, F_OK), 0);
	assert_int_equal(second_control(f, &e), 0);
}

static void test_a_file_in_the_way_stays(void **state)
{
	struct fake *f = *state;
	struct err e = { 0 };
	int fd;

	control_free(f->control);
	f->control = NULL;
	assert_int_equal(unlink(f->path), 0);
	fd = open(f->path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(second_control(f, &e), -EEXIST);
	assert_int_equal(access(f->path, F_OK), 0);
}

static void test_long_path(void **state)
{
	struct fake *f = *state;
	struct machine m = f->machine;
	char path[200];
	struct err e = { 0 };

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	f->machine.control_unix = path;
	assert_int_equal(second_control(f, &e), -ENAMETOOLONG);
	f->machine = m;
}

static void test_no_descriptors_left(void **state)
{
	struct fake *f = *state;
	int fd = fake_connect(f), fds[64], n = 0;
	struct rlimit old, tight;
	struct loop_stats before, after;

	/* One that waits to be accepted, then no descriptor for it. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	while (n < 64 && (fds[n] = dup(fd)) >= 0)
		n++;
	tight.rlim_cur = (rlim_t)fds[n - 1] + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	fake_turns(f, 2);
	loop_get_stats(f->loop, &before);
	fake_turns(f, 50);
	loop_get_stats(f->loop, &after);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_non_null(strstr(fake_line(f, fd), "no file descriptor is left"));
	assert_int_equal(after.callbacks, before.callbacks); /* no spinning */
	while (n-- > 0)
		close(fds[n]);
	close(fd);
	close(fake_client(f));
}

static void test_no_descriptors_and_no_reserve(void **state)
{
	struct fake *f = *state;
	int fd = fake_connect(f), fds[64], n = 0;
	struct rlimit old, tight;
	struct loop_stats before, after;

	fd_close(&f->control->reserve_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	while (n < 64 && (fds[n] = dup(fd)) >= 0)
		n++;
	tight.rlim_cur = (rlim_t)fds[n - 1] + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	fake_turns(f, 2);
	loop_get_stats(f->loop, &before);
	fake_turns(f, 50);
	loop_get_stats(f->loop, &after);
	assert_int_equal(after.callbacks, before.callbacks);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	/* The pause, without the wait. */
	assert_non_null(f->control->unix_listener.retry.loop);
	assert_int_equal(loop_timer_set(f->loop, &f->control->unix_listener.retry, 1), 0);
	assert_non_null(strstr(fake_line(f, fd), "QMP"));
	while (n-- > 0)
		close(fds[n]);
	close(fd);
}

/* ---- vsock ---------------------------------------------------------------------------
 */

static void test_vsock_peers(void **state)
{
	static const struct {
		uint32_t cid, port, own;
		bool allow_local, allowed;
	} rows[] = {
		{ VMADDR_CID_HOST, 5000, 3, false, true },
		{ VMADDR_CID_HOST, 1, 3, false, true },
		{ VMADDR_CID_LOCAL, 1023, 3, false, false }, /* a member could */
		{ VMADDR_CID_LOCAL, 1023, 3, true, true },
		{ VMADDR_CID_LOCAL, 1024, 3, true, false }, /* anybody could */
		{ 3, 1000, 3, false, false },               /* ourselves by our own CID */
		{ 3, 1000, 3, true, true },
		{ 4, 1000, 3, true, false }, /* another machine */
		{ VMADDR_CID_HOST, 5000, VMADDR_CID_HOST, false,
		  false }, /* on the host */
		{ VMADDR_CID_HOST, 1000, VMADDR_CID_HOST, true, true },
		{ VMADDR_CID_HOST, 5000, VMADDR_CID_ANY, false, true }, /* own unknown */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (transport_vsock_allowed(rows[i].cid, rows[i].port, rows[i].own,
					    rows[i].allow_local) != rows[i].allowed)
			fail_msg("row %zu", i);
}

static int vsock_socket(unsigned int local_port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = local_port,
	};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd >= 0 && local_port &&
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* -1 when this kernel has no vsock_loopback, or the local port may not be used. */
static int vsock_connect(unsigned int local_port, unsigned int port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_LOCAL,
		.svm_port = port,
	};
	int fd = vsock_socket(local_port), err = -1;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -1;
	/* The kernel accepts for the listener: at once, or nobody is there. */
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 &&
	    (errno != EINPROGRESS || poll(&p, 1, 500) != 1 ||
	     getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void test_vsock_loopback(void **state)
{
	struct fake *f = *state;
	int fd;

	f->machine.control_vsock_port = 52341;
	control_open_ports(f->control);
	fd = vsock_connect(0, 52341);
	if (f->control->vsock_listener.fd < 0 || fd < 0)
		skip(); /* no vsock_loopback in this kernel */
	assert_non_null(strstr(fake_line(f, fd), "only the host may use this port"));
	close(fd);
	f->machine.control_vsock_local = true;
	fd = vsock_connect(999, 52341);
	if (fd < 0)
		skip(); /* not root */
	assert_non_null(strstr(fake_line(f, fd), "QMP"));
	fake_send(fd, "{\"execute\":\"qmp_capabilities\"}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{}}");
	/* Going down: the end of stream is said, and the peer's own end is waited for. */
	control_drain(f->control, time_boot_ns() + 3600 * NSEC_PER_SEC, fake_drained, f);
	assert_null(fake_line(f, fd));
	fake_turns(f, 3);
	assert_false(f->drained);
	close(fd);
	for (int i = 0; i < 100 && !f->drained; i++)
		assert_true(loop_turn(f->loop, 100) >= 0);
	assert_true(f->drained);
}

static void test_vsock_port_taken_is_retried(void **state)
{
	struct fake *f = *state;
	int other = vsock_socket(52342);

	if (other < 0 || listen(other, 1) < 0)
		skip();
	f->machine.control_vsock_port = 52342;
	control_open_ports(f->control);
	assert_int_equal(f->control->vsock_listener.fd, -1);
	assert_non_null(f->control->vsock_listener.retry.loop);
	close(other);
	assert_int_equal(loop_timer_set(f->loop, &f->control->vsock_listener.retry, 1),
			 0);
	fake_turns(f, 2);
	assert_true(f->control->vsock_listener.fd >= 0);
}

/* ---- ports ---------------------------------------------------------------------------
 */

static int open_port(struct fake *f)
{
	static char path[64];
	static const char *ports[] = { "absent-port", path, NULL };
	int master = -1, slave = -1;
	struct termios t;

	assert_int_equal(openpty(&master, &slave, path, NULL, NULL), 0);
	assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	f->machine.control_ports = ports;
	control_open_ports(f->control);
	/* Raw: what we send is neither echoed nor cooked. */
	assert_int_equal(tcgetattr(slave, &t), 0);
	assert_int_equal(t.c_lflag & (ECHO | ICANON | ISIG), 0);
	assert_int_equal(t.c_oflag & OPOST, 0);
	close(slave);
	return master;
}

static const char *port_line(struct fake *f, int fd)
{
	static char line[4096];
	int64_t end_ns = time_boot_ns() + FAKE_DEADLINE_MS * NSEC_PER_MSEC;
	size_t len = 0;

	while (time_boot_ns() < end_ns && len < sizeof(line) - 1) {
		ssize_t n = read(fd, line + len, 1);

		if (n == 1 && line[len] == '\n') {
			line[len] = '\0';
			return line;
		}
		if (n == 1)
			len++;
		else
			assert_true(loop_turn(f->loop, 20) >= 0);
	}
	fail_msg("no answer");
	return NULL;
}

static void port_send(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_port(void **state)
{
	struct fake *f = *state;
	int fd = open_port(f);
	struct loop_stats before, after;

	/* No greeting: the first line is the answer. */
	port_send(fd, "{\"execute\":\"qmp_capabilities\"}");
	assert_string_equal(port_line(f, fd), "{\"return\":{}}");
	port_send(fd, "{\"execute\":\"pod-\xFF{\"execute\":\"pod-list\"}");
	assert_non_null(strstr(port_line(f, fd), "cut off by a reset"));
	assert_string_equal(port_line(f, fd), "{\"return\":[]}");
	/* Echoed answers and events are not answered. */
	port_send(fd, "{\"return\":[]}{\"timestamp\":{},\"event\":\"LOG\"}\n"
		      "{\"execute\":\"pod-list\",\"id\":9}");
	assert_string_equal(port_line(f, fd), "{\"return\":[],\"id\":9}");
	fake_turns(f, 3);
	loop_get_stats(f->loop, &before);
	fake_turns(f, 50);
	loop_get_stats(f->loop, &after);
	assert_int_equal(after.callbacks, before.callbacks);
	close(fd);
}

static void test_port_takes_large_input_in_bites(void **state)
{
	struct fake *f = *state;
	int fd = open_port(f), answers = 0;
	char all[20 * 150];

	for (int round = 0; round < 50; round++) {
		size_t len = 0, at = 0;

		for (int i = 0; i < 50; i++)
			len += (size_t)sprintf(all + len,
					       "{\"execute\":\"pod-list\",\"id\":%d}",
					       round * 50 + i);
		while (at < len) {
			ssize_t n = write(fd, all + at, len - at);

			if (n > 0)
				at += (size_t)n;
			fake_turns(f, 1);
		}
		for (int i = 0; i < 50; i++) {
			char want[64];

			(void)sprintf(want, "{\"return\":[],\"id\":%d}", answers++);
			assert_string_equal(port_line(f, fd), want);
		}
	}
	close(fd);
}

static void test_port_hangup_is_a_clean_slate(void **state)
{
	struct fake *f = *state;
	int fd = open_port(f);
	struct client *cl = list_entry(f->control->clients.prev, struct client, link);
	struct loop_stats before, after;

	port_send(fd, "{\"execute\":\"subscribe\"}");
	assert_non_null(strstr(port_line(f, fd), "return"));
	port_send(fd, "{\"execute\":");
	fake_turns(f, 3);
	assert_int_equal(cl->topics, TOPIC_POD | TOPIC_MEMBER);
	close(fd);
	fake_turns(f, 5);
	assert_int_equal(cl->topics, 0);
	assert_int_equal(f->control->pool.used, 0);
	assert_false(list_empty(&f->control->ports)); /* the port stays */
	loop_get_stats(f->loop, &before);
	fake_turns(f, 50);
	loop_get_stats(f->loop, &after);
	assert_int_equal(after.callbacks, before.callbacks);
}

static void test_subscribed_port_that_nobody_reads(void **state)
{
	static char text[1000];
	struct fake *f = *state;
	int fd = open_port(f);
	struct client *cl = list_entry(f->control->clients.prev, struct client, link);
	const char *line;

	memset(text, 'x', sizeof(text));
	port_send(fd, "{\"execute\":\"subscribe\",\"arguments\":{\"events\":[\"log\"]}}");
	assert_non_null(strstr(port_line(f, fd), "return"));
	for (int i = 0; i < 1000; i++) {
		fake_log(f, text, sizeof(text), 0);
		fake_turns(f, 1);
		assert_true(cl->out.len <= CLIENT_OUT_LOW + 8192);
	}
	/* Never dropped, but told. */
	assert_null(cl->stall_timer.loop);
	do {
		line = port_line(f, fd);
	} while (strstr(line, "\"event\":\"LOG\""));
	assert_non_null(strstr(line, "\"event\":\"LOST\""));
	close(fd);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_socket_is_for_its_owner_only),
		TEST(test_others_are_refused),
		TEST(test_stale_socket_is_replaced),
		TEST(test_a_file_in_the_way_stays),
		TEST(test_long_path),
		TEST(test_no_descriptors_left),
		TEST(test_no_descriptors_and_no_reserve),
		TEST(test_vsock_peers),
		TEST(test_vsock_loopback),
		TEST(test_vsock_port_taken_is_retried),
		TEST(test_port),
		TEST(test_port_takes_large_input_in_bites),
		TEST(test_port_hangup_is_a_clean_slate),
		TEST(test_subscribed_port_that_nobody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
