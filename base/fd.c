// SPDX-License-Identifier: Apache-2.0
/*
 * fd.c - see fd.h.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A fifo or a terminal under the expected name neither hangs nor adopts the caller. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing can be done about it, and it is closed */
	*fd = -1;
	errno = saved;
}

int fd_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

ssize_t fd_read_full(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

int fd_write_full(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_file_at(int dir_fd, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, READ_FLAGS);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = fd_read_full(fd, buf, size);
	if (n < 0)
		return n;
	if ((size_t)n == size)
		return -EFBIG;
	buf[n] = '\0';
	return n;
}

ssize_t fd_read_whole_at(int dir_fd, const char *path, size_t max, char **ret)
{
	_cleanup_close_ int fd = openat(dir_fd, path, READ_FLAGS);
	_cleanup_free_ char *buf = NULL;
	struct stat st;
	ssize_t n;
	size_t want;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return -EFBIG;

	/* Files of /proc have no size: all that the limit allows is tried, and untouched
	 * memory costs nothing. One byte more tells a file that is longer. */
	want = st.st_size ? (size_t)st.st_size : max;
	buf = malloc(want + 1);
	if (!buf)
		return -ENOMEM;
	n = fd_read_full(fd, buf, want + 1);
	if (n < 0)
		return n;
	if ((size_t)n > want)
		return want == max ? -EFBIG : -EBUSY;
	buf[n] = '\0';
	if ((size_t)n < want / 2) {
		char *smaller = realloc(buf, (size_t)n + 1);

		if (smaller)
			buf = smaller;
	}
	*ret = ptr_steal(&buf);
	return n;
}

int fd_write_file_at(int dir_fd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* One write: the kernel parses each write as one whole value. */
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

union fd_control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

int fd_send(int sock, const int *fds, size_t n, char tag)
{
	union fd_control control = { 0 };
	struct iovec iov = { .iov_base = &tag, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t r;

	if (n > FD_PASS_MAX)
		return -E2BIG;
	if (n) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	do {
		r = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

int fd_receive(int sock, int fds[static FD_PASS_MAX], size_t *ret_n, char *ret_tag)
{
	union fd_control control = { 0 };
	char tag = 0;
	struct iovec iov = { .iov_base = &tag, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	size_t n = 0;
	ssize_t r;

	do {
		r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		/* The kernel makes one such header, and the space bounds it. */
		n = MIN((c->cmsg_len - CMSG_LEN(0)) / sizeof(int), (size_t)FD_PASS_MAX);
		memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	}
	if (msg.msg_flags & MSG_CTRUNC) {
		while (n)
			fd_close(&fds[--n]);
		return -EMSGSIZE;
	}
	if (r == 0 && n == 0)
		return -ENODATA;
	*ret_n = n;
	*ret_tag = tag;
	return 0;
}
