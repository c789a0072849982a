// SPDX-License-Identifier: Apache-2.0
/*
 * transport_unix.c - the socket for root in the machine.
 *
 * Owns: the socket file. Called by: control.c. Only uid 0, as PID 1's user namespace maps
 * it, may speak: the file's mode says so, and the peer's credentials are asked as well,
 * because a descriptor can be handed on and a file mode can be changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "control/transport.h"

#define BACKLOG 64

static const char *check_peer(struct control *c, int fd, char *name, size_t size)
{
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);

	(void)c;
	/* On failure the uid is nobody's, so the peer is refused. */
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	(void)snprintf(name, size, "unix pid %d", (int)cred.pid);
	return cred.uid == 0 ? NULL : "only root may use the control channel";
}

static void on_listener(struct loop_src *src, uint32_t events)
{
	(void)events;
	listener_accept(container_of(src, struct listener, src), CLIENT_UNIX, check_peer);
}

/* The directory of the socket; its own parent must be there (/run). */
static void make_directory(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return;
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	(void)mkdir(dir, 0755); /* bind() tells what is wrong, if anything */
}

/* A socket file whose owner is gone is in the way; one that answers is somebody's. */
static int remove_stale(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = socket(AF_UNIX,
					SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (lstat(addr->sun_path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	/* EAGAIN: its queue is full, so it has one. */
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ||
	    errno == EAGAIN)
		return -EADDRINUSE;
	return unlink(addr->sun_path) < 0 ? -errno : 0;
}

static int bind_or_replace(int fd, const struct sockaddr_un *addr)
{
	int r;

	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	r = remove_stale(addr);
	if (r < 0)
		return r;
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
}

int transport_unix_open(struct control *c, const char *path, struct err *e)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	int r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(e, STAGE_CONTROL, ENAMETOOLONG, "socket %.100s", path);
	memcpy(addr.sun_path, path, strlen(path));
	make_directory(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, STAGE_CONTROL, errno, "socket");
	/* bind() makes the file with the mode of the socket: there is no moment at which
	 * it is open to others (unix(7) leaves it to the umask alone). */
	if (fchmod(fd, 0600) < 0)
		return err_set(e, STAGE_CONTROL, errno, "mode of socket %s", path);
	r = bind_or_replace(fd, &addr);
	if (r < 0)
		return err_set(e, STAGE_CONTROL, -r, "bind %s", path);
	if (listen(fd, BACKLOG) < 0)
		return err_set(e, STAGE_CONTROL, errno, "listen %s", path);
	r = listener_start(&c->unix_listener, c, fd_steal(&fd), on_listener);
	if (r < 0)
		return err_set(e, STAGE_CONTROL, -r, "watch %s", path);
	return 0;
}
