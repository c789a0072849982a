// SPDX-License-Identifier: Apache-2.0
/*
 * base_fd.c - descriptors: ownership, small and whole files, passing over sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static char dir[] = "/tmp/podinit-fd-XXXXXX";
static int dir_fd = -1;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "file", "fifo" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlinkat(dir_fd, names[i], 0);
	fd_close(&dir_fd);
	return rmdir(dir);
}

static void put_file(const char *data, size_t len)
{
	_cleanup_close_ int fd = openat(dir_fd, "file", O_WRONLY | O_CREAT | O_TRUNC,
					0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

static void close_and_steal(void **state)
{
	int fd = dup(0), copy, none = -1;

	(void)state;
	assert_true(fd >= 0);
	copy = fd_steal(&fd);
	assert_int_equal(fd, -1);
	errno = ENOTTY;
	fd_close(&fd);
	fd_close(&none);
	fd = copy;
	fd_close(&copy);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(copy, -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	errno = ENOTTY;
	fd_close(&fd); /* not open any more: the caller's errno stays */
	assert_int_equal(errno, ENOTTY);
}

static void flags(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fd_set_nonblock(fds[0]), 0);
	assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(fds[1], F_GETFL) & O_NONBLOCK);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	assert_int_equal(fd_set_nonblock(-1), -EBADF);
}

static void small_file_fits_or_is_refused(void **state)
{
	char buf[6];

	(void)state;
	put_file("12345", 5);
	assert_int_equal(fd_read_file_at(dir_fd, "file", buf, sizeof(buf)), 5);
	assert_string_equal(buf, "12345");
	assert_int_equal(fd_read_file_at(dir_fd, "file", buf, 5), -EFBIG);
	put_file("", 0);
	assert_int_equal(fd_read_file_at(dir_fd, "file", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(fd_read_file_at(dir_fd, "absent", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(fd_read_file_at(-1, "file", buf, sizeof(buf)), -EBADF);
	assert_int_equal(fd_read_file_at(AT_FDCWD, dir, buf, sizeof(buf)), -EISDIR);
}

static void whole_file_up_to_the_limit(void **state)
{
	char *text = NULL;

	(void)state;
	put_file("a\0b", 3);
	assert_int_equal(fd_read_whole_at(dir_fd, "file", 3, &text), 3);
	assert_memory_equal(text, "a\0b\0", 4);
	free(text);
	text = NULL;
	assert_int_equal(fd_read_whole_at(dir_fd, "file", 2, &text), -EFBIG);
	assert_int_equal(fd_read_whole_at(dir_fd, "absent", 2, &text), -ENOENT);
	assert_int_equal(fd_read_whole_at(AT_FDCWD, dir, 9999, &text), -EISDIR);
	assert_int_equal(fd_read_whole_at(AT_FDCWD, "/dev/zero", 9999, &text), -EINVAL);
	assert_null(text);
	put_file("", 0);
	assert_int_equal(fd_read_whole_at(dir_fd, "file", 0, &text), 0);
	assert_string_equal(text, "");
	free(text);
}

/* Files of /proc have no size in stat(2). */
static void whole_file_without_a_size(void **state)
{
	char *text = NULL;
	ssize_t len = fd_read_whole_at(AT_FDCWD, "/proc/self/status", 65536, &text);

	(void)state;
	assert_true(len > 100);
	assert_int_equal(strlen(text), len);
	free(text);
	text = NULL;
	assert_int_equal(fd_read_whole_at(AT_FDCWD, "/proc/self/status", 100, &text),
			 -EFBIG);
	assert_null(text);
}

static void fifo_neither_hangs_nor_passes(void **state)
{
	char buf[8], *text = NULL;

	(void)state;
	assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
	assert_int_equal(fd_read_whole_at(dir_fd, "fifo", 100, &text), -EINVAL);
	assert_null(text);
	assert_true(fd_read_file_at(dir_fd, "fifo", buf, sizeof(buf)) <= 0);
}

static void write_needs_the_file(void **state)
{
	char buf[16];

	(void)state;
	put_file("", 0);
	assert_int_equal(fd_write_file_at(dir_fd, "file", "max\n"), 0);
	assert_int_equal(fd_read_file_at(dir_fd, "file", buf, sizeof(buf)), 4);
	assert_string_equal(buf, "max\n");
	assert_int_equal(fd_write_file_at(dir_fd, "absent", "1"), -ENOENT);
	assert_int_equal(fd_write_file_at(AT_FDCWD, "/dev/full", "1"), -ENOSPC);
}

/* ---- passing ---------------------------------------------------------------------- */

static int sockets[2];

static int socket_setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			  sockets);
}

static int socket_teardown(void **state)
{
	(void)state;
	fd_close(&sockets[0]);
	fd_close(&sockets[1]);
	return 0;
}

static void passes_any_number_of_descriptors(void **state)
{
	(void)state;
	for (size_t n = 0; n <= FD_PASS_MAX; n++) {
		int out[FD_PASS_MAX] = { 0 }, in[FD_PASS_MAX];
		struct stat a, b;
		size_t got = 99;
		char tag = 0;

		for (size_t i = 0; i < n; i++)
			out[i] = open(i % 2 ? "/dev/null" : dir, O_RDONLY);
		assert_int_equal(fd_send(sockets[0], out, n, 'T'), 0);
		assert_int_equal(fd_receive(sockets[1], in, &got, &tag), 0);
		assert_int_equal(got, n);
		assert_int_equal(tag, 'T');
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(fstat(out[i], &a) | fstat(in[i], &b), 0);
			assert_true(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
			assert_int_equal(fcntl(in[i], F_GETFD), FD_CLOEXEC);
			fd_close(&out[i]);
			fd_close(&in[i]);
		}
	}
}

static void refuses_and_reports(void **state)
{
	int fds[FD_PASS_MAX + 1] = { 0 }, in[FD_PASS_MAX], bad = -1;
	size_t got = 99;
	char tag;

	(void)state;
	assert_int_equal(fd_send(sockets[0], fds, FD_PASS_MAX + 1, 'x'), -E2BIG);
	assert_int_equal(fd_send(sockets[0], &bad, 1, 'x'), -EBADF);
	assert_int_equal(fd_receive(sockets[1], in, &got, &tag), -EAGAIN);
	fd_close(&sockets[0]);
	assert_int_equal(fd_receive(sockets[1], in, &got, &tag), -ENODATA);
	assert_int_equal(got, 99);
	assert_int_equal(fd_send(sockets[1], fds, 1, 'x'), -EPIPE); /* and no signal */
}

/* A stream gives and takes what it likes; these do not stop before the end. */
static void full_means_full(void **state)
{
	enum { BYTES = 1 << 20, PART = 1000 };
	static char out[BYTES], in[BYTES];
	int pair[2];
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		out[i] = (char)(i * 7 >> 3);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fd_write_full(pair[1], out, BYTES) == 0 ? 0 : 1);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(fd_read_full(pair[0], in, PART), PART);
	assert_int_equal(fd_read_full(pair[0], in + PART, BYTES), BYTES - PART);
	assert_memory_equal(in, out, BYTES);
	assert_int_equal(fd_read_full(pair[0], in, 1), 0);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(waitpid(pid, &pair[0], 0), pid);
	assert_int_equal(pair[0], 0);
	assert_int_equal(fd_read_full(-1, in, 1), -EBADF);
	assert_int_equal(fd_write_full(-1, out, 1), -EBADF);
	assert_int_equal(fd_write_full(-1, out, 0), 0);
}

static size_t count_open(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The receiver is at its limit after some of the descriptors. */
static void lost_descriptors_are_an_error_and_none_leaks(void **state)
{
	int out[4] = { 0, 0, 0, 0 }, in[FD_PASS_MAX], next;
	struct rlimit old, low;
	size_t got = 99, before;
	char tag;

	(void)state;
	assert_int_equal(fd_send(sockets[0], out, 4, 'x'), 0);
	before = count_open();
	next = dup(0);
	assert_true(next >= 0 && close(next) == 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)next + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(fd_receive(sockets[1], in, &got, &tag), -EMSGSIZE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(count_open(), before);
	assert_int_equal(got, 99);
}

#define SOCKET_TEST(name) \
	cmocka_unit_test_setup_teardown(name, socket_setup, socket_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close_and_steal),
		cmocka_unit_test(flags),
		cmocka_unit_test(small_file_fits_or_is_refused),
		cmocka_unit_test(whole_file_up_to_the_limit),
		cmocka_unit_test(whole_file_without_a_size),
		cmocka_unit_test(fifo_neither_hangs_nor_passes),
		cmocka_unit_test(write_needs_the_file),
		cmocka_unit_test(full_means_full),
		SOCKET_TEST(passes_any_number_of_descriptors),
		SOCKET_TEST(refuses_and_reports),
		SOCKET_TEST(lost_descriptors_are_an_error_and_none_leaks),
	};

	return cmocka_run_group_tests_name("base_fd", tests, setup, teardown);
}
