// SPDX-License-Identifier: Apache-2.0
/*
 * state.h - what the files of control/ share: the one struct control.
 *
 * Private to control/. Owned by control.c.
 */
#ifndef CONTROL_STATE_H
#define CONTROL_STATE_H

#include "base/list.h"
#include "base/loop.h"
#include "control/control.h"
#include "control/grammar.h"

/* Connections on sockets; ports are not counted, the host must always get through. */
#define CONTROL_CLIENTS_MAX  32
/* Answers waiting in memory for all clients together; past it new ones are refused. */
#define CONTROL_OUTPUT_BYTES (16u << 20)

struct listener {
	struct control *control;
	struct loop_src src;
	struct loop_timer retry; /* resumes accepting, or opens again what failed */
	int fd;                  /* -1 = not open */
	int64_t backoff_ns;
};

struct control {
	struct loop *loop;
	struct pods *pods;
	const struct machine *machine;
	struct control_hooks hooks;

	struct list clients;     /* struct client.link: sockets and ports */
	struct list subscribers; /* struct client.idle: those that have read all */
	size_t n_sockets;
	struct grammar_pool pool;
	uint64_t accepted, refused, dropped, requests; /* counters for podinit-info */

	struct listener unix_listener, vsock_listener;
	uint32_t local_cid;
	struct list ports; /* struct port.link */
	int reserve_fd;    /* given up to accept and refuse when descriptors run out */

	struct loop_timer drain_timer, greeting_timer;
	int64_t greeting_ns; /* until then a port's silent peer is waited for */
	bool draining;
	void (*drain_done)(void *arg);
	void *drain_arg;
};

/* A client has taken all it was owed: control_drain() may be over. */
void control_client_settled(struct control *c);

#endif
