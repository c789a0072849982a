// SPDX-License-Identifier: Apache-2.0
/*
 * client.c - see client.h. The order of one turn: write what is queued, read and run
 * requests while there is room for their answers, add journal records, write again.
 */
#include "control/client.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "control/commands.h"
#include "control/json_text.h"
#include "control/state.h"

#define ANSWER_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* ---- output ----------------------------------------------------------------------- */

static size_t output_of_all(const struct control *c)
{
	size_t bytes = 0;

	list_for_each(it, &c->clients)
		bytes += list_entry(it, struct client, link)->out.len;
	return bytes;
}

static int put_json(struct buf *out, struct json_object *value)
{
	size_t len = 0;
	const char *text = json_object_to_json_string_length(value, ANSWER_FLAGS, &len);

	return text ? json_text_append_json(out, text, len) : -ENOMEM;
}

static int put_id_and_end(struct buf *out, const struct request *r)
{
	int err = 0;

	if (r && r->has_id) {
		err = buf_append(out, ",\"id\":", 6);
		if (err == 0)
			err = put_json(out, r->id);
	}
	if (err == 0)
		err = buf_append(out, "}\n", 2);
	return err;
}

static int put_error(struct buf *out, const struct request *r, const char *class,
		     const char *desc, struct json_object *data)
{
	int err = buf_printf(out, "{\"error\":{\"class\":\"%s\",\"desc\":", class);

	if (err == 0)
		err = json_text_append_string(out, desc, strlen(desc));
	if (err == 0 && data) {
		err = buf_append(out, ",\"data\":", 8);
		if (err == 0)
			err = put_json(out, data);
	}
	if (err == 0)
		err = buf_append(out, "}", 1);
	if (err == 0)
		err = put_id_and_end(out, r);
	return err;
}

void client_error(struct client *cl, const struct request *r, const char *class,
		  const char *desc, struct json_object *data)
{
	size_t before = cl->out.len;

	if (put_error(&cl->out, r, class, desc, data) == 0)
		return;
	cl->out.len = before;
	if (put_error(&cl->out, r, class, desc, NULL) == 0)
		return;
	/* Not even that: nobody may take a later answer for the one to this request. */
	cl->out.len = before;
	cl->broken = true;
}

void client_answer_text(struct client *cl, const struct request *r, const char *text,
			size_t len)
{
	size_t before = cl->out.len;
	int err = text ? buf_append(&cl->out, "{\"return\":", 10) : -ENOMEM;

	if (err == 0 && output_of_all(cl->control) + len > CONTROL_OUTPUT_BYTES)
		err = -ENOBUFS;
	if (err == 0)
		err = json_text_append_json(&cl->out, text, len);
	if (err == 0)
		err = put_id_and_end(&cl->out, r);
	if (err == 0)
		return;
	cl->out.len = before;
	client_error(cl, r, "GenericError",
		     err == -ENOBUFS ? "the answer is too long" : "out of memory", NULL);
}

void client_answer(struct client *cl, const struct request *r, struct json_object *value)
{
	size_t len = 2;
	const char *text = value ? json_object_to_json_string_length(value, ANSWER_FLAGS,
								     &len) :
				   "{}";

	client_answer_text(cl, r, text, len);
}

void client_greet(struct client *cl)
{
	if (buf_printf(&cl->out,
		       "{\"QMP\": {\"version\": {\"podinit\": \"%s\"}, "
		       "\"capabilities\": []}}\n",
		       PODINIT_VERSION) < 0)
		cl->broken = true;
}

static void on_stall(struct loop_timer *timer)
{
	struct client *cl = container_of(timer, struct client, stall_timer);

	if (cl->kind != CLIENT_PORT) {
		log_warn("control: %s took nothing for %lld s, dropped", cl->name,
			 CLIENT_STALL_NS / NSEC_PER_SEC);
		cl->control->dropped++;
	}
	cl->ops->hangup(cl);
}

static int watch_stall(struct client *cl, bool progress)
{
	/* A socket may have taken all of the last answer and still be full: what waits
	 * behind it, requests or records, waits for the peer just the same. */
	if (!cl->out.len && (cl->kind == CLIENT_PORT || cl->deferred.waiting ||
			     (!cl->rest.len && !subscription_behind(cl)))) {
		loop_timer_cancel(&cl->stall_timer);
		return 0;
	}
	if (cl->kind == CLIENT_PORT)
		return 0; /* see await_peer() */
	if (cl->stall_timer.loop && !progress)
		return 0;
	return loop_timer_set(cl->control->loop, &cl->stall_timer,
			      time_add(loop_now(cl->control->loop), CLIENT_STALL_NS));
}

/* 0 when all is written or the peer takes no more now, -errno when it is gone. */
static int write_out(struct client *cl)
{
	bool progress = false;

	while (cl->out.len) {
		ssize_t n = cl->kind == CLIENT_PORT ?
				    write(cl->fd, buf_head(&cl->out), cl->out.len) :
				    send(cl->fd, buf_head(&cl->out), cl->out.len,
					 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n <= 0)
			break;
		buf_consume(&cl->out, (size_t)n);
		progress = true;
	}
	return watch_stall(cl, progress);
}

/* ---- input ------------------------------------------------------------------------ */

static void run_request(struct client *cl)
{
	char desc[REQUEST_DESC_BYTES];
	struct request r;
	int err = request_parse(buf_head(&cl->grammar.text), cl->grammar.text.len, &r,
				desc);

	cl->control->requests++;
	/* A terminal at the other end may echo what we say: answering our own answers
	 * would never end. */
	if (err < 0 && !(r.answer && cl->kind == CLIENT_PORT))
		client_error(cl, &r, "GenericError", desc, NULL);
	else if (err == 0)
		commands_run(cl, &r);
	request_free(&r);
}

/* Runs what was read, within limits. */
static void run_rest(struct client *cl, int *calls)
{
	while (cl->rest.len && *calls > 0 && cl->out.len < CLIENT_OUT_HIGH &&
	       !cl->broken && !cl->deferred.waiting) {
		size_t used = 0;
		enum grammar_result result = grammar_feed(
			&cl->grammar, buf_head(&cl->rest), cl->rest.len, &used);

		buf_consume(&cl->rest, used);
		if (result == GRAMMAR_MORE)
			continue;
		--*calls;
		if (result == GRAMMAR_COMPLETE)
			run_request(cl);
		else
			client_error(cl, NULL, "GenericError", cl->grammar.error, NULL);
	}
}

static int read_some(struct client *cl, size_t *ret_len)
{
	char *to = buf_reserve(&cl->rest, CLIENT_READ_BYTES);
	ssize_t n;

	*ret_len = 0;
	if (!to)
		return -ENOMEM;
	do {
		n = read(cl->fd, to, CLIENT_READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		cl->eof = true;
	else
		cl->spoke = true;
	buf_commit(&cl->rest, (size_t)n);
	*ret_len = (size_t)n;
	return 0;
}

static void on_half(struct loop_timer *timer)
{
	struct client *cl = container_of(timer, struct client, half_timer);

	grammar_reset(&cl->grammar);
	client_error(cl, NULL, "GenericError", "an unfinished request was given up",
		     NULL);
	client_turn(cl, 0);
}

/* Bytes of a request that never ends must not be held for ever. */
static int watch_half(struct client *cl, bool progress)
{
	if (!grammar_partial(&cl->grammar)) {
		loop_timer_cancel(&cl->half_timer);
		return 0;
	}
	if (cl->half_timer.loop && !progress)
		return 0;
	return loop_timer_set(cl->control->loop, &cl->half_timer,
			      time_add(loop_now(cl->control->loop), CLIENT_STALL_NS));
}

static int read_in(struct client *cl)
{
	size_t read_bytes = 0, n;
	int calls = CLIENT_TURN_CALLS, r;

	for (;;) {
		run_rest(cl, &calls);
		if (cl->rest.len || cl->eof || cl->broken || calls == 0 ||
		    cl->deferred.waiting || cl->out.len >= CLIENT_OUT_HIGH ||
		    read_bytes >= CLIENT_TURN_BYTES)
			break;
		r = read_some(cl, &n);
		if (r < 0)
			return r;
		if (n == 0)
			break;
		read_bytes += n;
		cl->heard = true;
	}
	return watch_half(cl, read_bytes > 0);
}

/* ---- a turn ----------------------------------------------------------------------- */

static void carry_out_shutdown(struct client *cl)
{
	const struct control_hooks *hooks = &cl->control->hooks;
	int r;

	cl->shutdown_asked = false;
	log_info("control: %s asks for %s", cl->name, machine_end_name(cl->shutdown_how));
	r = hooks->shutdown(hooks->arg, cl->shutdown_how, cl->shutdown_grace_ms);
	if (r < 0 && r != -EALREADY)
		log_error("control: shutdown: %s", strerror(-r));
}

static int take_turn(struct client *cl)
{
	int r;

	cl->heard = false;
	if (cl->kind == CLIENT_PORT && cl->eof)
		buf_consume(&cl->out, cl->out.len); /* nobody is there to take it */
	r = write_out(cl);
	if (r == 0)
		r = read_in(cl);
	if (r == 0 && cl->topics)
		(void)subscription_fill(cl); /* what is left is seen by arm() */
	if (r == 0)
		r = write_out(cl);
	if (cl->shutdown_asked)
		carry_out_shutdown(cl);
	if (r == 0 && cl->broken)
		r = -ENOMEM;
	return r;
}

/* A socket whose peer only shut its sending side still gets its answers. */
static bool is_over(const struct client *cl, uint32_t events)
{
	/* Nothing is read then: the end of the stream is not seen, but a hang-up is. The
	 * request itself may have come with it: see await_peer(). */
	if (cl->deferred.waiting)
		return events & (EPOLLHUP | EPOLLERR) && !cl->heard;
	if (!cl->eof || cl->rest.len)
		return false;
	if (cl->kind == CLIENT_PORT || (events & (EPOLLHUP | EPOLLERR)))
		return true;
	return cl->out.len == 0 && !cl->topics;
}

bool client_settled(struct client *cl)
{
	bool empty = cl->out.len == 0 && !cl->deferred.waiting &&
		     !subscription_behind(cl);

	if (!cl->spoke && cl->control->greeting_ns > loop_now(cl->control->loop) &&
	    cl->ops->peer_present && cl->ops->peer_present(cl))
		return false;
	return empty && (cl->kind != CLIENT_VSOCK || cl->eof || cl->fd < 0);
}

/* The machine goes down. What vsock's send() took may still be in this machine; the peer
 * that closes in answer to our end of stream has it all. */
static void say_goodbye(struct client *cl)
{
	if (cl->kind == CLIENT_VSOCK && cl->out.len == 0 && !subscription_behind(cl))
		(void)shutdown(cl->fd, SHUT_WR); /* fails when the peer is gone: fine */
}

static int arm(struct client *cl)
{
	/* Without a bit a source is parked, and the end of the peer would go unseen. */
	uint32_t events = EPOLLHUP;

	bool waiting = cl->deferred.waiting;

	if (!cl->eof && cl->rest.len == 0 && cl->out.len < CLIENT_OUT_HIGH && !waiting)
		events |= EPOLLIN;
	list_remove(&cl->idle);
	if (cl->out.len || (cl->rest.len && !waiting) || subscription_behind(cl))
		events |= EPOLLOUT;
	else if (cl->topics)
		list_append(&cl->control->subscribers, &cl->idle);
	return cl->ops->arm(cl, events);
}

/* On a virtio port the interrupt of a request can overtake the news that the host has
 * opened its end: until that is worked off the port reads as hung up and takes nothing
 * (host_connected in drivers/char/virtio_console.c). The answer is kept for a moment; the
 * news comes with an edge. */
static int await_peer(struct client *cl)
{
	int r;

	cl->eof = false;
	if (cl->stall_timer.loop)
		return 0; /* looking again would find the hang-up again, at once */
	r = loop_timer_set(cl->control->loop, &cl->stall_timer,
			   time_add(loop_now(cl->control->loop), CLIENT_AWAIT_NS));
	return r < 0 ? r : arm(cl);
}

void client_turn(struct client *cl, uint32_t events)
{
	struct control *control = cl->control;
	int r = take_turn(cl);

	if (r == 0 && control->draining)
		say_goodbye(cl);
	if (r == 0 && cl->kind == CLIENT_PORT && cl->eof && cl->out.len &&
	    (cl->heard || cl->stall_timer.loop))
		r = await_peer(cl);
	else if (r == 0)
		r = is_over(cl, events) ? -ENODATA : arm(cl);
	if (r < 0) {
		if (r != -ENODATA && r != -EPIPE && r != -ECONNRESET)
			log_warn("control: %s: %s", cl->name, strerror(-r));
		cl->ops->hangup(cl);
	}
	if (control->draining)
		control_client_settled(control);
}

/* ---- life ------------------------------------------------------------------------- */

void client_init(struct client *cl, struct control *control)
{
	cl->control = control;
	cl->half_timer.fn = on_half;
	cl->stall_timer.fn = on_stall;
	grammar_init(&cl->grammar, &control->pool);
	buf_init(&cl->rest, CLIENT_READ_BYTES);
	buf_init(&cl->out, CLIENT_OUT_MAX);
	list_init(&cl->idle);
	list_append(&control->clients, &cl->link);
}

void client_reset(struct client *cl)
{
	loop_timer_cancel(&cl->half_timer);
	loop_timer_cancel(&cl->stall_timer);
	deferred_cancel(cl);
	grammar_reset(&cl->grammar);
	buf_consume(&cl->rest, cl->rest.len);
	buf_consume(&cl->out, cl->out.len);
	subscription_stop(cl);
	cl->eof = cl->broken = cl->spoke = false;
}

void client_release(struct client *cl)
{
	client_reset(cl);
	grammar_free(&cl->grammar);
	buf_free(&cl->rest);
	buf_free(&cl->out);
	list_remove(&cl->link);
}
