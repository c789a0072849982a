// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_conn.c - podctl's connection: a socket, a vsock port, or a line to a guest.
 *
 * Owns: struct conn. Called by: the commands. Every wait has a deadline: a machine that
 * hangs must not hang its client. On a line there may be anything left from before, so
 * each request begins with the byte that resets the parser, and carries an id that no
 * other run uses; lines that are neither its answer nor an event are passed over.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "control/podctl.h"

#define LINE_MAX_BYTES (64u << 20)
#define READ_BYTES     65536
#define RESET_BYTE     "\xFF"

static struct termios saved_termios;
static int saved_fd = -1;

int64_t conn_deadline(const struct podctl *p)
{
	int64_t ms = p->timeout_s >= 0 ? p->timeout_s * 1000 : PODCTL_TIMEOUT_MS;

	return time_add(time_boot_ns(), ms * NSEC_PER_MSEC);
}

/* 0 when the descriptor is ready, -ETIMEDOUT. */
static int wait_ready(int fd, short events, int64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left_ns = deadline_ns - time_boot_ns();
		int ms = -1, n;

		if (deadline_ns != TIME_NEVER)
			ms = (int)MIN(MAX(left_ns, 0) / NSEC_PER_MSEC + 1, INT32_MAX);
		n = poll(&p, 1, ms);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (deadline_ns != TIME_NEVER && time_boot_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

/* ---- opening --------------------------------------------------------------------------
 */

/* From inside the machine only a port below 1024 is let in; bind() gives one to root. */
static void bind_reserved(int fd)
{
	struct sockaddr_vm addr = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY };

	for (addr.svm_port = 1023; addr.svm_port >= 512; addr.svm_port--)
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ||
		    errno != EADDRINUSE)
			return; /* without the right the connection is refused */
}

static int open_socket(int family, const void *addr, socklen_t len, int64_t deadline_ns)
{
	_cleanup_close_ int fd = socket(family,
					SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = 0, r;
	socklen_t err_len = sizeof(err);

	if (fd < 0)
		return -errno;
	if (family == AF_VSOCK &&
	    ((const struct sockaddr_vm *)addr)->svm_cid == VMADDR_CID_LOCAL)
		bind_reserved(fd);
	if (connect(fd, addr, len) == 0)
		return fd_steal(&fd);
	if (errno != EINPROGRESS)
		return -errno;
	r = wait_ready(fd, POLLOUT, deadline_ns);
	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &err_len) < 0)
		return -errno;
	return err ? -err : fd_steal(&fd);
}

static int open_vsock(const char *text, int64_t deadline_ns)
{
	struct sockaddr_vm addr = { .svm_family = AF_VSOCK,
				    .svm_port = PODCTL_VSOCK_PORT };
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || n > UINT32_MAX || (*end && *end != ':'))
		return -EINVAL;
	addr.svm_cid = (unsigned int)n;
	if (*end == ':') {
		text = end + 1;
		n = strtoul(text, &end, 10);
		if (errno || end == text || *end || n > UINT32_MAX)
			return -EINVAL;
		addr.svm_port = (unsigned int)n;
	}
	return open_socket(AF_VSOCK, &addr, sizeof(addr), deadline_ns);
}

static void restore_terminal(void)
{
	if (saved_fd >= 0)
		(void)tcsetattr(saved_fd, TCSANOW, &saved_termios);
	saved_fd = -1;
}

static int open_line(struct conn *c, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct termios t;

	if (fd < 0)
		return -errno;
	if (tcgetattr(fd, &t) == 0) {
		saved_termios = t;
		saved_fd = fd;
		cfmakeraw(&t);
		t.c_cflag |= CLOCAL | CREAD;
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		if (tcsetattr(fd, TCSANOW, &t) < 0)
			return -errno;
		(void)tcflush(fd, TCIFLUSH);
		(void)atexit(restore_terminal);
	}
	c->tty = true;
	return fd_steal(&fd);
}

static int open_path(struct conn *c, const char *path, int64_t deadline_ns)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISCHR(st.st_mode))
		return open_line(c, path);
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	return open_socket(AF_UNIX, &addr, sizeof(addr), deadline_ns);
}

int conn_open(struct podctl *p)
{
	struct conn *c = &p->conn;
	int fd;

	if (c->fd >= 0)
		return 0;
	if (strncmp(p->address, "vsock:", 6) == 0)
		fd = open_vsock(p->address + 6, conn_deadline(p));
	else
		fd = open_path(c, p->address, conn_deadline(p));
	if (fd == -ETIMEDOUT)
		return say(PODCTL_TIMEOUT, "%s: no connection in time", p->address);
	if (fd < 0)
		return say(PODCTL_CONNECT, "cannot connect to %s: %s", p->address,
			   strerror(-fd));
	c->fd = fd;
	c->events = json_object_new_array();
	buf_init(&c->in, LINE_MAX_BYTES);
	return 0;
}

void conn_close(struct podctl *p)
{
	struct conn *c = &p->conn;

	if (c->fd < 0)
		return;
	restore_terminal();
	fd_close(&c->fd);
	buf_free(&c->in);
	json_object_put(c->events);
	c->events = NULL;
}

/* ---- bytes ----------------------------------------------------------------------------
 */

/* A port has one client at a time, and the next one waits without a word. */
static bool may_be_held(const struct podctl *p)
{
	return !p->conn.greeted && strncmp(p->address, "vsock:", 6) != 0;
}

static int lost(struct podctl *p, int err)
{
	if (err == -ETIMEDOUT && p->conn.quiet)
		return PODCTL_TIMEOUT;
	if (err == -ETIMEDOUT)
		return say(PODCTL_TIMEOUT, "%s: no answer in time%s", p->address,
			   may_be_held(p) ? "; another podctl may hold the port, or the "
					    "guest is still booting" :
					    "");
	if (p->conn.ends && p->conn.sent) {
		p->conn.gone = true;
		return PODCTL_CONNECT;
	}
	return say(PODCTL_CONNECT, "%s: connection lost%s%s", p->address, err ? ": " : "",
		   err ? strerror(-err) : "");
}

static bool has_input(const struct conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

/* A peer that refuses at the door says why, and is gone before our request: its words
 * are there to be read although nothing can be sent (unix(7): EPIPE; a vsock's peer). */
static bool said_farewell(const struct conn *c, int err)
{
	return !c->tty && c->calls <= 1 && (err == EPIPE || err == ECONNRESET) &&
	       has_input(c);
}

static int send_all(struct podctl *p, const char *data, size_t len, int64_t deadline_ns)
{
	struct conn *c = &p->conn;

	while (len) {
		ssize_t n = c->tty ? write(c->fd, data, len) :
				     send(c->fd, data, len, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (said_farewell(c, errno))
			return 0; /* read_answer() finds it, or the end */
		r = errno == EAGAIN ? wait_ready(c->fd, POLLOUT, deadline_ns) : -errno;
		if (r < 0)
			return lost(p, r);
	}
	return 0;
}

static int read_more(struct podctl *p, int64_t deadline_ns)
{
	struct conn *c = &p->conn;
	char *to = buf_reserve(&c->in, READ_BYTES);
	ssize_t n;
	int r = wait_ready(c->fd, POLLIN, deadline_ns);

	if (!to)
		return say(PODCTL_CONNECT, "%s: a line without end", p->address);
	if (r < 0)
		return lost(p, r);
	n = read(c->fd, to, READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return lost(p, n < 0 ? -errno : 0);
	buf_commit(&c->in, (size_t)n);
	return 0;
}

/* The next line that is a JSON object; others are noise of the line. */
static int read_object(struct podctl *p, int64_t deadline_ns, struct json_object **ret)
{
	struct conn *c = &p->conn;

	for (;;) {
		char *head = c->in.len ? buf_head(&c->in) : NULL;
		char *end = head ? memchr(head + c->scanned, '\n',
					  c->in.len - c->scanned) :
				   NULL;
		struct json_object *obj;
		int r;

		if (!end) {
			c->scanned = c->in.len;
			r = read_more(p, deadline_ns);
			if (r)
				return r;
			continue;
		}
		*end = '\0';
		obj = json_tokener_parse(head);
		buf_consume(&c->in, (size_t)(end - head) + 1);
		c->scanned = 0;
		if (json_object_is_type(obj, json_type_object)) {
			*ret = obj;
			return 0;
		}
		json_object_put(obj);
	}
}

/* Reads until the answer with this id comes (NULL: any answer); events are put aside. */
static int read_answer(struct podctl *p, const char *id, int64_t deadline_ns,
		       struct json_object **ret)
{
	struct conn *c = &p->conn;
	struct json_object *obj;

	for (;;) {
		int r = read_object(p, deadline_ns, &obj);

		if (r)
			return r;
		if (get(obj, "event")) {
			(void)json_object_array_add(c->events, obj);
			continue;
		}
		c->greeted |= get(obj, "QMP") != NULL;
		if ((get(obj, "return") || get(obj, "error")) &&
		    (!id || strcmp(get_string(obj, "id", ""), id) == 0)) {
			*ret = obj;
			return 0;
		}
		/* Refused at the door: the only error that no request of ours caused. */
		if (get(obj, "error") && !c->tty && !get(obj, "id") && c->calls == 1) {
			r = say(PODCTL_CONNECT, "%s: %s", p->address,
				get_string(get(obj, "error"), "desc", "refused"));
			json_object_put(obj);
			return r;
		}
		json_object_put(obj);
	}
}

/* ---- calls ----------------------------------------------------------------------------
 */

static void say_refused(struct json_object *data)
{
	struct json_object *pods = get(data, "refused");

	for (size_t i = 0; i < list_len(pods); i++) {
		struct json_object *pod = json_object_array_get_idx(pods, i);
		struct json_object *errors = get(pod, "errors");

		for (size_t k = 0; k < list_len(errors); k++) {
			struct json_object *e = json_object_array_get_idx(errors, k);

			(void)fprintf(stderr, "  %s: %s: %s\n",
				      get_string(pod, "name", "?"),
				      get_string(e, "pointer", ""),
				      get_string(e, "message", "?"));
		}
	}
}

int conn_call(struct podctl *p, const char *command, struct json_object *arguments,
	      struct json_object **ret)
{
	struct json_object *request = json_object_new_object(), *answer = NULL;
	int64_t deadline_ns;
	const char *text;
	char id[64];
	size_t len;
	int r = conn_open(p);

	(void)snprintf(id, sizeof(id), "podctl-%d-%u", (int)getpid(), ++p->conn.calls);
	(void)json_object_object_add(request, "execute", json_object_new_string(command));
	if (arguments)
		(void)json_object_object_add(request, "arguments", arguments);
	(void)json_object_object_add(request, "id", json_object_new_string(id));
	text = json_object_to_json_string_length(
		request, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	deadline_ns = conn_deadline(p);
	p->conn.sent = false;
	if (r == 0)
		r = send_all(p, RESET_BYTE, 1, deadline_ns);
	if (r == 0)
		r = send_all(p, text, len, deadline_ns);
	if (r == 0)
		r = send_all(p, "\n", 1, deadline_ns);
	json_object_put(request);
	p->conn.sent = r == 0;
	if (r == 0)
		r = read_answer(p, id, deadline_ns, &answer);
	if (r == 0 && get(answer, "error")) {
		r = say(PODCTL_FAILED, "%s",
			get_string(get(answer, "error"), "desc", "an unknown error"));
		say_refused(get(get(answer, "error"), "data"));
	} else if (r == 0) {
		*ret = json_object_get(get(answer, "return"));
	}
	json_object_put(answer);
	return r;
}

int conn_raw(struct podctl *p, const char *text, struct json_object **ret)
{
	int r = conn_open(p);

	p->conn.calls = 2; /* an error without an id is the answer here */
	if (r == 0)
		r = send_all(p, RESET_BYTE, 1, conn_deadline(p));
	if (r == 0)
		r = send_all(p, text, strlen(text), conn_deadline(p));
	if (r == 0) /* half a request is answered too */
		r = send_all(p, "\n" RESET_BYTE, 2, conn_deadline(p));
	return r ? r : read_answer(p, NULL, conn_deadline(p), ret);
}

int conn_event(struct podctl *p, int64_t deadline_ns, struct json_object **ret)
{
	struct conn *c = &p->conn;
	size_t n = list_len(c->events);
	struct json_object *obj;

	if (c->next_event < n) {
		*ret = json_object_get(
			json_object_array_get_idx(c->events, c->next_event++));
		return 0;
	}
	if (n) {
		(void)json_object_array_del_idx(c->events, 0, n); /* all were taken */
		c->next_event = 0;
	}
	for (;;) {
		int r;

		c->quiet = true;
		r = read_object(p, deadline_ns, &obj);
		c->quiet = false;
		if (r)
			return r;
		if (get(obj, "event")) {
			*ret = obj;
			return 0;
		}
		json_object_put(obj);
	}
}
