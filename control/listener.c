// SPDX-License-Identifier: Apache-2.0
/*
 * listener.c - accepting connections without ever spinning or hoarding.
 *
 * Owns: the listening descriptors, the clients made from them. Called by: the two socket
 * transports. A connection that cannot be served is accepted and refused with a sentence:
 * left in the queue it would keep the listener readable for ever (a loop at 100 %, as in
 * libuv#315), or its peer waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "control/transport.h"

#define ACCEPT_BATCH    16
/* Memory may be back by then; short enough for a person not to notice. */
#define ACCEPT_PAUSE_NS NSEC_PER_SEC

/* ---- clients on sockets ------------------------------------------------------------ */

static int socket_arm(struct client *cl, uint32_t events)
{
	return loop_src_set(&cl->src, events);
}

static void socket_free(struct loop_garbage *garbage)
{
	free(container_of(garbage, struct client, garbage));
}

static void socket_hangup(struct client *cl)
{
	struct control *c = cl->control;

	log_debug("control: %s is gone", cl->name);
	client_release(cl);
	loop_src_remove(&cl->src);
	fd_close(&cl->fd);
	c->n_sockets--;
	loop_defer_free(c->loop, &cl->garbage);
}

static const struct client_ops socket_ops = {
	.arm = socket_arm,
	.hangup = socket_hangup,
};

static void on_socket(struct loop_src *src, uint32_t events)
{
	client_turn(container_of(src, struct client, src), events);
}

/* A last sentence for a peer that is not served. Its buffer is empty: either it fits or
 * the peer is gone. */
static void refuse(int fd, const char *why)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "{\"error\":{\"class\":\"GenericError\",\"desc\":\"%s\"}}\n",
			 why);

	(void)send(fd, text, MIN((size_t)n, sizeof(text) - 1),
		   MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void serve(struct control *c, int *fd, enum client_kind kind, const char *name)
{
	struct client *cl = calloc(1, sizeof(*cl));
	int r;

	if (!cl) {
		refuse(*fd, "out of memory");
		return;
	}
	cl->ops = &socket_ops;
	cl->kind = kind;
	cl->garbage.fn = socket_free;
	(void)snprintf(cl->name, sizeof(cl->name), "%s", name);
	cl->fd = fd_steal(fd);
	client_init(cl, c);
	c->n_sockets++;
	c->accepted++;
	r = loop_src_add(c->loop, &cl->src, cl->fd, EPOLLIN, LOOP_CONTROL, on_socket);
	if (r < 0) {
		log_warn("control: %s: %s", cl->name, strerror(-r));
		socket_hangup(cl);
		return;
	}
	log_debug("control: %s connected", cl->name);
	client_greet(cl);
	client_turn(cl, 0);
}

/* ---- accepting -------------------------------------------------------------------- */

static void on_retry(struct loop_timer *timer)
{
	struct listener *l = container_of(timer, struct listener, retry);
	int r = loop_src_set(&l->src, EPOLLIN);

	if (r < 0)
		log_error("control: listening again: %s", strerror(-r));
}

static void pause_accepting(struct listener *l, int err)
{
	log_warn("control: accept: %s; waiting", strerror(err));
	if (loop_timer_set(l->control->loop, &l->retry,
			   time_add(loop_now(l->control->loop), ACCEPT_PAUSE_NS)) == 0)
		(void)loop_src_set(&l->src, 0); /* parking does not fail */
}

/* No descriptor is left: the reserved one makes room to take the connection and refuse
 * it. false when that did not work. */
static bool refuse_with_reserve(struct listener *l)
{
	struct control *c = l->control;
	_cleanup_close_ int fd = -1;

	if (c->reserve_fd < 0)
		return false;
	fd_close(&c->reserve_fd);
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		refuse(fd, "no file descriptor is left");
		fd_close(&fd);
	}
	c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return c->reserve_fd >= 0;
}

static void take(struct listener *l, int *fd, enum client_kind kind, listener_check check)
{
	struct control *c = l->control;
	char name[64] = "";
	const char *why = check(c, *fd, name, sizeof(name));

	if (!why && c->draining)
		why = "the machine is going down";
	if (!why && c->n_sockets >= CONTROL_CLIENTS_MAX)
		why = "too many clients";
	if (!why) {
		serve(c, fd, kind, name);
		return;
	}
	/* A peer that keeps trying must not fill the log: 1st, 2nd, 4th, 8th ... */
	c->refused++;
	if ((c->refused & (c->refused - 1)) == 0)
		log_warn("control: %s refused: %s (%llu so far)", name, why,
			 (unsigned long long)c->refused);
	refuse(*fd, why);
}

void listener_accept(struct listener *l, enum client_kind kind, listener_check check)
{
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		_cleanup_close_ int fd = accept4(l->fd, NULL, NULL,
						 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			take(l, &fd, kind, check);
			continue;
		}
		if (errno == EAGAIN)
			return;
		/* accept(2): errors of the one connection that was taken. */
		if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO ||
		    errno == EPERM)
			continue;
		if ((errno == EMFILE || errno == ENFILE) && refuse_with_reserve(l))
			continue;
		pause_accepting(l, errno);
		return;
	}
}

int listener_start(struct listener *l, struct control *c, int fd, loop_src_fn fn)
{
	int r;

	l->control = c;
	l->fd = fd;
	l->retry.fn = on_retry;
	r = loop_src_add(c->loop, &l->src, fd, EPOLLIN, LOOP_CONTROL, fn);
	if (r < 0)
		fd_close(&l->fd);
	return r;
}

void listener_stop(struct listener *l)
{
	loop_timer_cancel(&l->retry);
	loop_src_remove(&l->src);
	fd_close(&l->fd);
}
