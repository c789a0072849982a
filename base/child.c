// SPDX-License-Identifier: Apache-2.0
/*
 * child.c - see child.h.
 *
 * The end of a helper is the end of its process, never the end of its output: a program
 * it left behind may hold the pipe open for ever. What the helper itself wrote is in the
 * pipe by then, and the pipe is read once more before done().
 */
#include "base/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/known.h"
#include "base/log.h"
#include "base/time.h"

/* A pipe holds 64 KiB (pipe(7)): more than that was not written by the helper. */
#define PIPE_BYTES      65536
#define READ_BYTES      4096
#define READS_PER_EVENT 4

/* Exit codes of a child that did not get as far as its work; 127 as in a shell. */
#define EXIT_NO_SETUP   126
#define EXIT_NO_EXEC    127

/* ---- in the child ----------------------------------------------------------------- */

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return; /* the exit code still says it */
}

static _Noreturn void die(int fd, int code, const char *what, const char *name)
{
	const char *why = strerrordesc_np(errno); /* signal-safe, other than strerror() */

	say(fd, what);
	say(fd, name);
	say(fd, ": ");
	say(fd, why ? why : "unknown error");
	say(fd, "\n");
	_exit(code);
}

/* Early in the boot there is no /dev/null; a pipe without a writer reads the same. */
static int open_empty(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int pipe_fds[2];

	if (fd >= 0)
		return fd;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -1;
	(void)close(pipe_fds[1]);
	return pipe_fds[0];
}

/* Moves n descriptors to 3, 4, ... in their order; fds is used up. First all of them out
 * of the way: each may have a number that another one wants. */
static int line_up(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3 + (int)n);
		if (fds[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < n; i++)
		if (dup2(fds[i], 3 + (int)i) < 0)
			return -errno;
	return 0;
}

/* Descriptors 0..3 may be anything here, also those that we want to keep: all wanted ones
 * move out of the way first. dup2() then clears close-on-exec. */
static int arrange_fds(int out_fd, const struct child *child)
{
	size_t n = child->keep_fd < 0 ? 0 : 1 + child->n_more_fds;
	_cleanup_free_ int *keep = calloc(n + 1, sizeof(*keep));
	int in_fd = open_empty(), r;

	if (!keep)
		return -ENOMEM;
	in_fd = in_fd < 0 ? -1 : fcntl(in_fd, F_DUPFD_CLOEXEC, 3 + (int)n);
	out_fd = fcntl(out_fd, F_DUPFD_CLOEXEC, 3 + (int)n);
	keep[0] = child->keep_fd;
	for (size_t i = 1; i < n; i++)
		keep[i] = child->more_fds[i - 1];
	r = line_up(keep, n);
	if (r < 0)
		return r;
	if (in_fd < 0 || out_fd < 0 || dup2(in_fd, STDIN_FILENO) < 0 ||
	    dup2(out_fd, STDOUT_FILENO) < 0 || dup2(out_fd, STDERR_FILENO) < 0)
		return -errno;
	return proc_close_from(3 + (int)n);
}

static _Noreturn void child_main(const struct child *child, int out_fd)
{
	int r;

	proc_reset_signals();
	(void)setsid(); /* cannot fail: a new process leads no group */
	r = arrange_fds(out_fd, child);
	if (r < 0) {
		errno = -r;
		die(out_fd, EXIT_NO_SETUP, "descriptors of ", child->name);
	}
	if (child->argv) {
		execve(child->argv[0], child->argv, environ);
		die(STDERR_FILENO, EXIT_NO_EXEC, "exec ", child->argv[0]);
	}
	log_enter_child(STDERR_FILENO);
	_exit(child->run(child->arg));
}

/* ---- in PID 1 --------------------------------------------------------------------- */

static void keep_tail(struct child *child, const char *data, size_t len)
{
	size_t old = child->output_len;

	if (len > CHILD_OUTPUT_BYTES) {
		data += len - CHILD_OUTPUT_BYTES;
		len = CHILD_OUTPUT_BYTES;
	}
	if (old > CHILD_OUTPUT_BYTES - len) {
		size_t drop = old - (CHILD_OUTPUT_BYTES - len);

		old -= drop;
		memmove(child->output, child->output + drop, old);
	}
	memcpy(child->output + old, data, len);
	child->output_len = old + len;
	child->output[child->output_len] = '\0';
}

static void close_output(struct child *child)
{
	loop_src_remove(&child->out_src);
	fd_close(&child->out_fd);
}

static void read_output(struct child *child, int reads)
{
	char data[READ_BYTES];

	while (reads-- && child->out_fd >= 0) {
		ssize_t n = read(child->out_fd, data, sizeof(data));

		if (n > 0)
			keep_tail(child, data, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			close_output(child);
	}
}

static void on_output(struct loop_src *src, uint32_t events)
{
	(void)events;
	read_output(container_of(src, struct child, out_src), READS_PER_EVENT);
}

/* Everything but the results goes; the object may then be started again. */
static void release(struct child *child)
{
	loop_timer_cancel(&child->deadline);
	close_output(child);
	loop_src_remove(&child->exit_src);
	fd_close(&child->pidfd);
}

static void on_exit_event(struct loop_src *src, uint32_t events)
{
	struct child *child = container_of(src, struct child, exit_src);
	int r = proc_collect(child->pidfd, &child->exit, NULL);

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		/* Somebody else took it, which is a fault of ours; the helper has ended.
		 */
		log_warn("%s: exit status lost (errno %d)", child->name, -r);
		known_remove(child->exit.pid);
		child->exit.by_signal = child->exit.core_dumped = false;
		child->exit.status = 255;
	}
	/* It may have ended by itself before the signal, and its event came after it. */
	if (!child->exit.by_signal || child->exit.status != SIGKILL)
		child->timed_out = false;
	read_output(child, PIPE_BYTES / READ_BYTES);
	release(child);
	child->done(child); /* may free or start the child: not touched any more */
}

static void on_deadline(struct loop_timer *timer)
{
	struct child *child = container_of(timer, struct child, deadline);

	child->timed_out = true;
	(void)proc_signal(child->pidfd, SIGKILL); /* ours and not collected: it exists */
}

void child_init(struct child *child)
{
	*child = (struct child){ .keep_fd = -1, .pidfd = -1, .out_fd = -1 };
}

static void forget_results(struct child *child)
{
	child->exit = (struct proc_exit){ 0 };
	child->timed_out = false;
	child->output_len = 0;
	child->output[0] = '\0';
}

int child_start(struct loop *loop, struct child *child)
{
	_cleanup_close_ int write_fd = -1;
	int fds[2], r;

	assert(child->name && child->done && child->timeout_ns > 0);
	assert((child->argv && child->argv[0]) || child->run);
	if (child_running(child))
		return -EBUSY;
	forget_results(child);

	/* All that can fail comes before the clone, as far as that is possible. */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	child->out_fd = fds[0];
	write_fd = fds[1];
	child->deadline.fn = on_deadline;
	r = fd_set_nonblock(child->out_fd);
	if (r == 0)
		r = loop_src_add(loop, &child->out_src, child->out_fd, EPOLLIN, LOOP_LOG,
				 on_output);
	if (r == 0)
		r = loop_timer_set(loop, &child->deadline,
				   time_add(loop_now(loop), child->timeout_ns));
	if (r < 0)
		goto fail;

	r = proc_clone(0, -1, &child->pidfd);
	if (r == 0)
		child_main(child, write_fd);
	if (r < 0)
		goto fail;
	child->exit.pid = r;
	r = loop_src_add(loop, &child->exit_src, child->pidfd, EPOLLIN, LOOP_EXIT,
			 on_exit_event);
	if (r == 0)
		return 0;
	/* Nobody here would hear of its end: it becomes an orphan that init collects. */
	(void)proc_signal(child->pidfd, SIGKILL);
	known_remove(child->exit.pid);
fail:
	release(child);
	return r;
}

bool child_running(const struct child *child)
{
	return child->pidfd >= 0;
}

void child_cancel(struct child *child)
{
	if (!child_running(child))
		return;
	loop_timer_cancel(&child->deadline);
	(void)proc_signal(child->pidfd, SIGKILL); /* an ended one does not mind */
}

bool child_ok(const struct child *child)
{
	return !child->timed_out && !child->exit.by_signal && child->exit.status == 0;
}

const char *child_failure(struct child *child)
{
	if (child->timed_out)
		return "timed out";
	if (child->exit.by_signal)
		return "killed";
	child->output[strcspn(child->output, "\n")] = '\0';
	return child->output;
}
