// SPDX-License-Identifier: Apache-2.0
/*
 * fd.h - file descriptors: ownership, small files, passing between processes.
 *
 * Owns: nothing; says who does. Called by: everybody.
 * Rules: every descriptor is close-on-exec at birth; close() is never retried
 * (close(2): the descriptor is gone even on EINTR).
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <sys/types.h>

#include "base/util.h"

/* Closes *fd if it is >= 0 and sets it to -1. errno is kept. */
void fd_close(int *fd);

#define _cleanup_close_ __attribute__((cleanup(fd_close)))

/* Moves the descriptor out of a _cleanup_close_ variable. */
static inline int fd_steal(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

/* Makes O_NONBLOCK so. 0 or -errno. */
int fd_set_nonblock(int fd);

/* Reads until end of file or until buf is full: the length, or -errno. */
ssize_t fd_read_full(int fd, char *buf, size_t size);

/* Writes all of it to a blocking file. 0 or -errno, with a part of it written. */
int fd_write_full(int fd, const void *data, size_t len);

/* Reads a small file relative to dir_fd (AT_FDCWD allowed) into buf, NUL-terminated;
 * at most size - 1 bytes. Returns the length or -errno; -EFBIG when the file is longer.
 * For /proc, /sys and cgroup files: does not block there. */
ssize_t fd_read_file_at(int dir_fd, const char *path, char *buf, size_t size);

/* Reads a whole regular file of at most max bytes into a fresh NUL-terminated buffer
 * (caller frees). Opens with O_NONBLOCK, so that a fifo cannot hang the caller, and
 * refuses what is not a regular file with -EINVAL. -EFBIG when longer, -EBUSY when it
 * grew meanwhile. */
ssize_t fd_read_whole_at(int dir_fd, const char *path, size_t max, char **ret);

/* Writes text in a single write(2) to an existing file (cgroup, sysctl). 0 or -errno. */
int fd_write_file_at(int dir_fd, const char *path, const char *text);

/* Passes n (<= FD_PASS_MAX) descriptors with one data byte over a unix socket. 0 or
 * -errno. */
#define FD_PASS_MAX 8
int fd_send(int sock, const int *fds, size_t n, char tag);

/* Receives up to FD_PASS_MAX descriptors, close-on-exec. *ret_n is their number.
 * 0, -errno; -ENODATA on end of file; -EMSGSIZE when some did not arrive (too many, or
 * RLIMIT_NOFILE), the others are closed then. Else they are owned by the caller. */
int fd_receive(int sock, int fds[static FD_PASS_MAX], size_t *ret_n, char *ret_tag);

#endif
