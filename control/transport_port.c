// SPDX-License-Identifier: Apache-2.0
/*
 * transport_port.c - a byte pipe to the host: a virtio-serial port or a serial line.
 *
 * Owns: the device's descriptor and an epoll descriptor of its own. Called by: control.c
 * after coldplug. A port stays for the life of the machine; who is at its other end comes
 * and goes, and starts with a clean slate each time.
 *
 * A virtio port reports POLLHUP, and read() gives 0, for as long as the host end is
 * closed (port_fops_poll and port_fops_read in drivers/char/virtio_console.c):
 * level-triggered waiting would spin. The driver wakes its queue when the host connects
 * or leaves, and at each data, so an edge is enough. The loop is level-triggered; so each
 * port sits in an epoll set of its own with EPOLLET, and the loop watches that set, which
 * is readable while an edge was not taken. EPOLL_CTL_MOD looks at the device anew, so
 * nothing that is still there after a bounded bite is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "control/transport.h"

#define VIRTIO_PORTS "/sys/class/virtio-ports"

/* A line that was hung up (vhangup, a pty whose other end closed) has to be opened again;
 * after the last try, some 4 minutes, it is given up. */
#define REOPEN_NS    NSEC_PER_SEC
#define REOPEN_MAX   8

struct port {
	struct client client;
	struct list link;
	int edge_fd; /* epoll descriptor with the device in it, EPOLLET */
	bool tty;
	int tries;
	struct loop_timer reopen;
	char path[64];
};

static int port_open_device(struct port *p);

static int port_arm(struct client *cl, uint32_t events)
{
	struct port *p = container_of(cl, struct port, client);
	struct epoll_event ev = { .events = events | EPOLLET };

	return epoll_ctl(p->edge_fd, EPOLL_CTL_MOD, cl->fd, &ev) < 0 ? -errno : 0;
}

static void port_close_device(struct port *p)
{
	loop_src_remove(&p->client.src);
	fd_close(&p->edge_fd);
	fd_close(&p->client.fd);
}

static void port_schedule_reopen(struct port *p)
{
	struct loop *loop = p->client.control->loop;

	if (p->tries >= REOPEN_MAX) {
		log_warn("control: %s is given up", p->client.name);
		return;
	}
	(void)loop_timer_set(loop, &p->reopen, /* without memory the port stays closed */
			     time_add(loop_now(loop), REOPEN_NS << p->tries));
	p->tries++;
}

static void port_hangup(struct client *cl)
{
	struct port *p = container_of(cl, struct port, client);

	client_reset(cl);
	if (!p->tty)
		return; /* not armed: the next edge is the driver's */
	port_close_device(p);
	port_schedule_reopen(p);
}

/* A virtio port hangs up while nobody is at the host's end; a serial line cannot know. */
static bool port_peer_present(struct client *cl)
{
	const struct port *p = container_of(cl, struct port, client);
	struct pollfd poll_fd = { .fd = cl->fd };

	return !p->tty && cl->fd >= 0 && poll(&poll_fd, 1, 0) == 0;
}

static const struct client_ops port_ops = {
	.arm = port_arm,
	.hangup = port_hangup,
	.peer_present = port_peer_present,
};

static void on_reopen(struct loop_timer *timer)
{
	struct port *p = container_of(timer, struct port, reopen);

	if (port_open_device(p) < 0)
		port_schedule_reopen(p);
}

static void on_edge(struct loop_src *src, uint32_t events)
{
	struct port *p = container_of(src, struct port, client.src);
	struct epoll_event ev;

	(void)events;
	/* Takes the edge; there is one descriptor in the set. */
	if (epoll_wait(p->edge_fd, &ev, 1, 0) != 1)
		return;
	if (ev.events & EPOLLIN)
		p->tries = 0;
	client_turn(&p->client, ev.events);
}

/* Bytes as they are: no echo, no signals, no translation, no carrier needed. */
static int make_raw(int fd)
{
	struct termios t;

	if (tcgetattr(fd, &t) < 0)
		return -errno;
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	t.c_cc[VMIN] = 1; /* with O_NONBLOCK: EAGAIN, not 0, when there is nothing */
	t.c_cc[VTIME] = 0;
	(void)cfsetspeed(&t, B115200); /* a constant that exists */
	if (tcsetattr(fd, TCSANOW, &t) < 0)
		return -errno;
	/* No flush: a host may ask before we are there, and be answered when we are. */
	return 0;
}

static int port_open_device(struct port *p)
{
	struct client *cl = &p->client;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int r;

	cl->fd = open(p->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (cl->fd < 0)
		return -errno;
	p->tty = isatty(cl->fd);
	r = p->tty ? make_raw(cl->fd) : 0;
	if (r == 0) {
		p->edge_fd = epoll_create1(EPOLL_CLOEXEC);
		if (p->edge_fd < 0 ||
		    epoll_ctl(p->edge_fd, EPOLL_CTL_ADD, cl->fd, &ev) < 0)
			r = -errno;
	}
	if (r == 0)
		r = loop_src_add(cl->control->loop, &cl->src, p->edge_fd, EPOLLIN,
				 LOOP_CONTROL, on_edge);
	if (r < 0)
		port_close_device(p);
	return r;
}

/* The device of the virtio port that the host gave this name. */
static int find_virtio(const char *name, char *path, size_t size)
{
	DIR *dir = opendir(VIRTIO_PORTS);
	struct dirent *d;
	int r = -ENOENT;

	if (!dir)
		return -ENOENT;
	while (r < 0 && (d = readdir(dir))) {
		char file[sizeof(d->d_name) + 8], text[128];
		ssize_t n;

		(void)snprintf(file, sizeof(file), "%s/name", d->d_name);
		n = fd_read_file_at(dirfd(dir), file, text, sizeof(text));
		if (n < 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (strcmp(text, name) == 0 &&
		    snprintf(path, size, "/dev/%s", d->d_name) < (int)size)
			r = 0;
	}
	closedir(dir);
	return r;
}

static int find_device(const char *name, char *path, size_t size)
{
	int n;

	if (find_virtio(name, path, size) == 0)
		return 0;
	n = snprintf(path, size, "%s%s", name[0] == '/' ? "" : "/dev/", name);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	return access(path, F_OK) < 0 ? -errno : 0;
}

int transport_port_open(struct control *c, const char *name)
{
	struct port *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->edge_fd = p->client.fd = -1;
	p->reopen.fn = on_reopen;
	p->client.ops = &port_ops;
	p->client.kind = CLIENT_PORT;
	(void)snprintf(p->client.name, sizeof(p->client.name), "port %s", name);
	client_init(&p->client, c);
	r = find_device(name, p->path, sizeof(p->path));
	if (r == 0)
		r = port_open_device(p);
	if (r < 0) {
		client_release(&p->client);
		free(p);
		return r;
	}
	list_append(&c->ports, &p->link);
	log_info("control: port %s is %s", name, p->path);
	return 0;
}

void transport_ports_close(struct control *c)
{
	list_for_each_safe(it, &c->ports) {
		struct port *p = list_entry(it, struct port, link);

		loop_timer_cancel(&p->reopen);
		port_close_device(p);
		client_release(&p->client);
		list_remove(&p->link);
		free(p);
	}
}
