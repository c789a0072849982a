// SPDX-License-Identifier: Apache-2.0
/*
 * client.h - one peer of the channel: requests in, answers and events out.
 *
 * Owns: the descriptor, both buffers, the subscription. Called by: the transports (made
 * there), the loop at LOOP_CONTROL. Never blocks; one call does a bounded amount of work.
 * Reading stops while output is above a mark: a client that does not take its answers
 * cannot ask for more. A socket that takes nothing for CLIENT_STALL_NS is dropped.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "base/buf.h"
#include "base/journal.h"
#include "base/loop.h"
#include "config/machine.h"
#include "control/deferred.h"
#include "control/grammar.h"

struct client;
struct control;
struct json_object;
struct request;

#define CLIENT_OUT_MAX     (4u << 20)   /* one answer; a list of PODS_MAX pods fits */
#define CLIENT_OUT_HIGH    (256u << 10) /* no further request is taken above it */
#define CLIENT_OUT_LOW     (64u << 10)  /* journals are copied up to it */
#define CLIENT_READ_BYTES  16384        /* read at once */
#define CLIENT_TURN_BYTES  (4 * CLIENT_READ_BYTES) /* read in one turn of the loop */
#define CLIENT_TURN_CALLS  32                      /* requests run in one turn */
#define CLIENT_TURN_EVENTS 256 /* journal records looked at in one turn */

/* Taking nothing for so long ends a socket; a request that got no further byte for so
 * long is forgotten. */
#define CLIENT_STALL_NS    (30LL * 1000000000LL)
/* How long a port's answer is kept for a host that is not known to be there yet. */
#define CLIENT_AWAIT_NS    (1LL * 1000000000LL)

enum client_kind { CLIENT_UNIX, CLIENT_VSOCK, CLIENT_PORT };

enum client_topic { TOPIC_POD = 1, TOPIC_MEMBER = 2, TOPIC_LOG = 4 };

/* What a transport does in its own way. */
struct client_ops {
	/* Asks for a call of client_turn() at these events (EPOLLIN, EPOLLOUT, EPOLLHUP).
	 */
	int (*arm)(struct client *cl, uint32_t events);
	/* The peer is gone or was dropped; a socket is closed, a port starts afresh. */
	void (*hangup)(struct client *cl);
	/* Somebody holds the other end open; NULL: not known. */
	bool (*peer_present)(struct client *cl);
};

struct client {
	struct control *control;
	const struct client_ops *ops;
	enum client_kind kind;
	int fd;        /* owned by the transport */
	char name[64]; /* "unix pid 12", "vsock 2:1025", "port org.podinit.control.0" */
	struct list link, idle;
	struct loop_src src;
	struct loop_timer half_timer, stall_timer;
	struct loop_garbage garbage;

	struct grammar grammar;
	struct buf rest; /* read, but not looked at yet */
	struct buf out;
	bool eof;    /* the peer says no more */
	bool heard;  /* bytes came in this turn */
	bool spoke;  /* it has sent something since it came */
	bool broken; /* memory ended in the middle of its output */

	unsigned int topics; /* enum client_topic, 0 = no subscription */
	struct journal_cursor events, lines;

	struct deferred deferred;

	/* A shutdown that was asked for: carried out when its answer is written. */
	bool shutdown_asked;
	enum machine_end shutdown_how;
	int64_t shutdown_grace_ms;
};

/* cl is zeroed memory of the transport with kind, ops, fd, name filled. */
void client_init(struct client *cl, struct control *control);
/* Leaves lists and timers, frees buffers; the transport closes the descriptor. */
void client_release(struct client *cl);
/* Back to the state after client_init(): a port whose host end was closed. */
void client_reset(struct client *cl);

/* The descriptor may be ready. Reads, runs, writes, and arms what it waits for next;
 * ends in ops->hangup() when the peer is gone. */
void client_turn(struct client *cl, uint32_t events);

/* Queue output; what does not fit becomes an error or is dropped with the client. */
void client_greet(struct client *cl);
void client_answer(struct client *cl, const struct request *r, struct json_object *value);
/* The same with a value that is JSON text already. */
void client_answer_text(struct client *cl, const struct request *r, const char *text,
			size_t len);
/* data: more detail for machines, or NULL. */
void client_error(struct client *cl, const struct request *r, const char *class,
		  const char *desc, struct json_object *data);

/* Nothing is queued and nothing is owed from the journals; and a port's peer that is
 * there has said something: its first words may be on their way. */
bool client_settled(struct client *cl);

/* subscription.c */
/* To the record since; the journal tells the loss when it is gone already. */
void subscription_seek(const struct journal *j, struct journal_cursor *c, uint64_t since);
void subscription_start(struct client *cl, unsigned int topics, bool replay,
			bool has_since, uint64_t since);
void subscription_stop(struct client *cl);
/* Copies records up to the low mark. true when some are left. */
bool subscription_fill(struct client *cl);
/* A record that the client has not seen waits in a journal. */
bool subscription_behind(const struct client *cl);

#endif
