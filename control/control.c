// SPDX-License-Identifier: Apache-2.0
/*
 * control.c - see control.h: life of the channel, waking of subscribers, draining.
 */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "control/client.h"
#include "control/state.h"
#include "control/transport.h"

static void on_drained(struct loop_timer *timer);
static void on_greeting_over(struct loop_timer *timer);

/* A virtual machine may be over before what the host wrote at its start has come through
 * the device: milliseconds, more where the machine is emulated. */
#define GREETING_NS (500 * NSEC_PER_MSEC)

int control_init(struct control **ret, struct loop *loop, struct pods *pods,
		 const struct machine *machine, const struct control_hooks *hooks,
		 struct err *e)
{
	struct control *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return err_set(e, STAGE_CONTROL, ENOMEM, "control channel");
	c->loop = loop;
	c->pods = pods;
	c->machine = machine;
	c->hooks = *hooks;
	c->pool.max = GRAMMAR_POOL_BYTES;
	c->unix_listener.fd = c->vsock_listener.fd = -1;
	c->unix_listener.control = c->vsock_listener.control = c;
	c->drain_timer.fn = on_drained;
	c->greeting_timer.fn = on_greeting_over;
	list_init(&c->clients);
	list_init(&c->subscribers);
	list_init(&c->ports);
	c->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (machine->control_unix[0])
		r = transport_unix_open(c, machine->control_unix, e);
	if (r < 0) {
		control_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	loop_timer_cancel(&c->drain_timer);
	loop_timer_cancel(&c->greeting_timer);
	listener_stop(&c->unix_listener);
	listener_stop(&c->vsock_listener);
	transport_ports_close(c);
	list_for_each_safe(it, &c->clients) {
		struct client *cl = list_entry(it, struct client, link);

		cl->ops->hangup(cl);
	}
	fd_close(&c->reserve_fd);
	free(c);
}

void control_open_ports(struct control *c)
{
	if (c->machine->control_vsock_port >= 0)
		transport_vsock_open(c);
	for (const char **name = c->machine->control_ports; *name; name++) {
		int r = transport_port_open(c, *name);

		if (r == -ENOENT)
			log_info("control: there is no port %s", *name);
		else if (r < 0)
			log_warn("control: port %s: %s", *name, strerror(-r));
	}
}

void control_wake(struct control *c)
{
	/* Only those that had read everything; the others are waiting for their output
	 * to drain and look at the journals then. */
	list_for_each_safe(it, &c->subscribers) {
		struct client *cl = list_entry(it, struct client, idle);
		int r;

		if (!subscription_behind(cl))
			continue;
		list_remove(&cl->idle);
		/* The work itself waits for LOOP_CONTROL. */
		r = cl->ops->arm(cl, (cl->eof ? 0 : EPOLLIN) | EPOLLOUT);
		if (r < 0)
			log_warn("control: %s: %s", cl->name, strerror(-r));
	}
}

/* ---- draining --------------------------------------------------------------------- */

static bool all_settled(const struct control *c)
{
	list_for_each(it, &c->clients)
		if (!client_settled(list_entry(it, struct client, link)))
			return false;
	return true;
}

static void on_drained(struct loop_timer *timer)
{
	struct control *c = container_of(timer, struct control, drain_timer);
	void (*done)(void *arg) = c->drain_done;

	c->drain_done = NULL;
	if (done)
		done(c->drain_arg);
}

/* done() runs from a timer, never from inside the caller. */
static void drain_until(struct control *c, int64_t at_ns)
{
	if (loop_timer_set(c->loop, &c->drain_timer, at_ns) < 0)
		on_drained(&c->drain_timer); /* no memory: going down matters more */
}

void control_client_settled(struct control *c)
{
	if (c->drain_done && all_settled(c))
		drain_until(c, loop_now(c->loop));
}

static void on_greeting_over(struct loop_timer *timer)
{
	control_client_settled(container_of(timer, struct control, greeting_timer));
}

void control_drain(struct control *c, int64_t deadline_ns, void (*done)(void *arg),
		   void *arg)
{
	c->draining = true; /* for good: new connections are refused */
	c->drain_done = done;
	c->drain_arg = arg;
	drain_until(c, deadline_ns);
	c->greeting_ns = time_add(loop_now(c->loop), GREETING_NS);
	(void)loop_timer_set(c->loop,
			     &c->greeting_timer, /* the deadline is there as well */
			     c->greeting_ns);
	list_for_each_safe(it, &c->clients) {
		struct client *cl = list_entry(it, struct client, link);

		deferred_give_up(cl);
		if (cl->fd >= 0)
			client_turn(cl, 0);
	}
	control_client_settled(c);
}
