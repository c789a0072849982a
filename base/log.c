// SPDX-License-Identifier: Apache-2.0
/*
 * log.c - see log.h. One static object: the log has to work before there is a loop, on
 * every failure path, and without memory.
 *
 * A line goes into the backlog whole or not at all, and the backlog is written as far as
 * the console takes it. Only while the console is stuck does the loop watch it.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/known.h"
#include "base/loop.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"

#define BACKLOG_BYTES        16384
/* After a loss lines are taken again below this, so that a slow console gets runs of
 * lines and few loss reports, not one report per line. */
#define BACKLOG_RESUME_BYTES (BACKLOG_BYTES / 2)

/* The last bytes of a stream; size is the caller's constant. */
struct ring {
	char *data;
	size_t size, start, len;
};

static char backlog_data[BACKLOG_BYTES], memory_data[LOG_RING_BYTES];

static struct {
	int fd;
	enum log_level level;
	struct loop *loop; /* set by log_attach() */
	struct loop_src src;
	struct ring backlog; /* not yet taken by the console */
	struct ring memory;  /* for log_ring_read() */
	uint64_t dropped;    /* console lines since the last loss report */
	uint64_t reported;   /* lines that loss reports in the backlog stand for */
} log_state = {
	.fd = -1,
	.level = LOG_INFO,
	.backlog = { .data = backlog_data, .size = sizeof(backlog_data) },
	.memory = { .data = memory_data, .size = sizeof(memory_data) },
};

static const char *const level_names[LOG_LEVEL_MAX] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* ---- rings ------------------------------------------------------------------------ */

static void ring_drop(struct ring *r, size_t len)
{
	r->len -= len;
	r->start = r->len ? (r->start + len) % r->size : 0;
}

/* Appends at most size bytes; the oldest make room. */
static void ring_append(struct ring *r, const char *data, size_t len)
{
	size_t end, first;

	if (len > r->size - r->len)
		ring_drop(r, len - (r->size - r->len));
	end = (r->start + r->len) % r->size;
	first = MIN(len, r->size - end);
	memcpy(r->data + end, data, first);
	memcpy(r->data, data + first, len - first);
	r->len += len;
}

static size_t ring_lines(const struct ring *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->len; i++)
		n += r->data[(r->start + i) % r->size] == '\n';
	return n;
}

/* ---- what may reach a terminal ---------------------------------------------------- */

/* The length of the character at s, 0 when it must not be shown. */
static size_t printable(const char *s, size_t len)
{
	size_t n = str_utf8_len(s, len);

	return *s != '\t' && str_is_control(s, n) ? 0 : n;
}

/* Copies whole characters while they fit, a '?' for each byte that is none. */
static size_t sanitise(char *dst, size_t size, const char *src, size_t len,
		       size_t *ret_used)
{
	size_t in = 0, out = 0;

	while (in < len) {
		size_t n = printable(src + in, len - in);

		if (out + MAX(n, (size_t)1) > size)
			break;
		if (n)
			memcpy(dst + out, src + in, n);
		else
			dst[out] = '?';
		in += MAX(n, (size_t)1);
		out += MAX(n, (size_t)1);
	}
	*ret_used = in;
	return out;
}

/* ---- the console ------------------------------------------------------------------ */

static size_t line_head(char *line, size_t size, enum log_level level)
{
	long long us = time_boot_ns() / 1000;

	return (size_t)snprintf(line, size, "podinit: [%4lld.%06lld] %s: ", us / 1000000,
				us % 1000000, level_names[level]);
}

static void console_report_loss(void)
{
	char line[128];
	size_t n = line_head(line, sizeof(line), LOG_WARN);

	n += (size_t)snprintf(line + n, sizeof(line) - n,
			      "the console was stuck, %llu lines lost\n",
			      (unsigned long long)log_state.dropped);
	log_state.reported += log_state.dropped - 1; /* and the report itself is a line */
	log_state.dropped = 0;
	ring_append(&log_state.backlog, line, n);
}

/* Watches for room, or stops watching. A source that cannot be watched (out of memory)
 * costs nothing but time: the next line tries again. */
static void console_watch(uint32_t events)
{
	if (log_state.src.loop)
		(void)loop_src_set(&log_state.src, events);
}

static void console_flush(void)
{
	struct ring *b = &log_state.backlog;

	for (;;) {
		ssize_t n;

		if (!b->len && log_state.dropped)
			console_report_loss();
		if (!b->len || log_state.fd < 0)
			break;
		n = write(log_state.fd, b->data + b->start,
			  MIN(b->len, b->size - b->start));
		if (n >= 0) {
			ring_drop(b, (size_t)n);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN) {
			console_watch(EPOLLOUT);
			return;
		}
		/* Hung up or broken: its backlog is lost. It is not watched, as epoll
		 * would report the error without end; the next line finds out how it is.
		 */
		log_state.dropped += ring_lines(b) + log_state.reported;
		ring_drop(b, b->len);
		break;
	}
	log_state.reported = 0;
	console_watch(0);
}

/* One byte stays free, so that a line can always be ended. */
static bool console_has_room(size_t len)
{
	const struct ring *b = &log_state.backlog;

	if (log_state.dropped && b->len > BACKLOG_RESUME_BYTES)
		return false;
	return len < b->size - b->len;
}

static bool console_append(const char *data, size_t len)
{
	if (!console_has_room(len))
		console_flush();
	if (!console_has_room(len))
		return false;
	ring_append(&log_state.backlog, data, len);
	return true;
}

/* Opens a line with its first bytes, after the report of what was lost before it. */
static bool console_begin(const char *data, size_t len)
{
	if (log_state.dropped && console_has_room(len))
		console_report_loss();
	if (console_append(data, len))
		return true;
	log_state.dropped++;
	return false;
}

static void console_writable(struct loop_src *src, uint32_t events)
{
	(void)src;
	(void)events; /* write() says what it is */
	console_flush();
}

/* ---- opening ---------------------------------------------------------------------- */

void log_open(int console_fd)
{
	loop_src_remove(&log_state.src);
	/* A console that could block is none. */
	if (console_fd >= 0 && fd_set_nonblock(console_fd) < 0)
		console_fd = -1;
	log_state.fd = console_fd;
	if (log_state.loop)
		(void)log_attach(log_state.loop); /* parked sources cannot fail */
}

int log_attach(struct loop *loop)
{
	int r = 0;

	loop_src_remove(&log_state.src);
	log_state.loop = loop;
	if (loop && log_state.fd >= 0)
		r = loop_src_add(loop, &log_state.src, log_state.fd, 0, LOOP_BACKGROUND,
				 console_writable);
	if (r == 0)
		console_flush();
	return r;
}

void log_enter_child(int fd)
{
	log_state.src = (struct loop_src){ 0 };
	log_state.loop = NULL;
	log_state.fd = fd;
	log_state.dropped = log_state.reported = 0;
	ring_drop(&log_state.backlog, log_state.backlog.len);
}

void log_set_level(enum log_level level)
{
	log_state.level = level;
}

bool log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < LOG_LEVEL_MAX; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

/* ---- lines ------------------------------------------------------------------------ */

/* What a helper or library says may have several lines; a line of the log is one.
 * to has room for twice the text. Returns the length. */
static size_t join_lines(char *to, const char *text, size_t len)
{
	size_t n = 0;

	while (len && text[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			to[n++] = ';';
		to[n++] = text[i] == '\n' ? ' ' : text[i];
	}
	return n;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	static const char cut_mark[] = "...";
	char text[LOG_LINE_BYTES], joined[2 * LOG_LINE_BYTES], line[LOG_LINE_BYTES];
	int saved = errno, want;
	bool cut;
	size_t n, len, used;
	va_list ap;

	if (level > log_state.level)
		return;
	va_start(ap, fmt);
	want = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = want < 0 ? 0 : MIN((size_t)want, sizeof(text) - 1);
	cut = want < 0 || len < (size_t)want;
	len = join_lines(joined, text, len);

	n = line_head(line, sizeof(line), level);
	n += sanitise(line + n, sizeof(line) - n - sizeof(cut_mark), joined, len, &used);
	if (cut || used < len) {
		memcpy(line + n, cut_mark, sizeof(cut_mark) - 1);
		n += sizeof(cut_mark) - 1;
	}
	line[n++] = '\n';

	ring_append(&log_state.memory, line, n);
	if (log_state.fd >= 0 && console_begin(line, n))
		console_flush();
	errno = saved;
}

void log_err(enum log_level level, const char *what, const struct err *e)
{
	const char *name = strerrorname_np(e->code);

	if (!e->code)
		log_at(level, "%s: %s (stage %s)", what, e->text,
		       err_stage_name(e->stage));
	else if (name)
		log_at(level, "%s: %s (stage %s, errno %s)", what, e->text,
		       err_stage_name(e->stage), name);
	else
		log_at(level, "%s: %s (stage %s, errno %d)", what, e->text,
		       err_stage_name(e->stage), e->code);
}

void log_console_line(const char *prefix, const char *text, size_t len)
{
	char piece[LOG_LINE_BYTES];
	int saved = errno;
	size_t n, used, done;

	if (log_state.fd < 0)
		return;
	n = sanitise(piece, sizeof(piece) / 2, prefix, strlen(prefix), &used);
	n += sanitise(piece + n, sizeof(piece) - n - 1, text, len, &done);
	if (done == len)
		piece[n++] = '\n';
	if (!console_begin(piece, n)) {
		errno = saved;
		return;
	}
	while (done < len) {
		n = sanitise(piece, sizeof(piece) - 1, text + done, len - done, &used);
		done += used;
		if (done == len)
			piece[n++] = '\n';
		if (!console_append(piece, n)) {
			log_state.dropped++; /* its end is lost */
			ring_append(&log_state.backlog, "\n", 1);
			break;
		}
	}
	console_flush();
	errno = saved;
}

/* ---- the last words --------------------------------------------------------------- */

/* Waits for an event on fd until the deadline. */
static bool wait_until(int fd, short events, int64_t end_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do {
		int64_t left_ns = MAX(end_ns - time_boot_ns(), (int64_t)0);

		r = poll(&p, 1, (int)((left_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

static bool write_until(const char *data, size_t len, int64_t end_ns)
{
	while (len) {
		ssize_t n = write(log_state.fd, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!wait_until(log_state.fd, POLLOUT, end_ns))
				return false;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* A serial line takes bytes faster than it sends them, and power-off does not wait for
 * it. tcdrain() has no time limit, so a child makes the call. */
static void drain_until(int64_t end_ns)
{
	_cleanup_close_ int pidfd = -1;
	struct proc_exit ignored;
	pid_t pid;

	if (!isatty(log_state.fd))
		return;
	pid = proc_clone(0, -1, &pidfd);
	if (pid == 0) {
		proc_reset_signals();
		_exit(tcdrain(log_state.fd) < 0);
	}
	if (pid < 0)
		return;
	if (!wait_until(pidfd, POLLIN, end_ns))
		(void)proc_signal(pidfd, SIGKILL); /* ours and not collected: it exists */
	if (proc_collect(pidfd, &ignored, NULL) < 0)
		known_remove(pid); /* stuck in the kernel: whoever still reaps takes it */
}

void log_final_line(const char *text, int timeout_ms)
{
	int64_t end_ns = time_add(time_boot_ns(), timeout_ms * NSEC_PER_MSEC);

	if (log_state.fd < 0)
		return;
	console_flush();
	while (log_state.backlog.len && wait_until(log_state.fd, POLLOUT, end_ns))
		console_flush();
	if (!log_state.backlog.len && write_until(text, strlen(text), end_ns) &&
	    write_until("\n", 1, end_ns))
		drain_until(end_ns);
}

size_t log_ring_read(char *buf, size_t size)
{
	const struct ring *m = &log_state.memory;
	size_t skip = m->len > size ? m->len - size : 0;
	size_t n = 0;

	/* A line that is cut at its front is left out: start behind a newline, which may
	 * be the byte before. */
	if (skip || m->len == m->size) {
		skip -= skip > 0;
		while (skip < m->len && m->data[(m->start + skip) % m->size] != '\n')
			skip++;
		skip = MIN(skip + 1, m->len);
	}
	while (skip < m->len)
		buf[n++] = m->data[(m->start + skip++) % m->size];
	return n;
}
