// SPDX-License-Identifier: Apache-2.0
/*
 * deferred.h - an answer that comes later, because a child has to find it out.
 *
 * Owns: the request whose answer is owed, what was asked for it. Called by: handlers
 * (begin), commands.c (hand over the request), client.c (the client's end). While an
 * answer is owed the client's further requests wait, so that answers keep their order;
 * its events go on. Nothing here blocks.
 */
#ifndef CONTROL_DEFERRED_H
#define CONTROL_DEFERRED_H

#include "control/request.h"
#include "pod/pods.h"

struct call;
struct client;

/* A handler's result beside 0 and -errno: the answer comes later. */
#define CALL_LATER 1

struct deferred {
	bool waiting;
	struct request request; /* owned while waiting */
	struct pods_net_query net;
};

/* For the handler of pod-net: asks for one pod (NULL: for all of the namespace; NULL: of
 * every one). CALL_LATER, or what call_fail() returned. */
int deferred_net(struct call *call, const char *namespace, const struct pod *pod);
/* After CALL_LATER: takes the request's tree. */
void deferred_keep(struct client *cl, struct request *r);
/* The client is gone, or another one is in its place: no answer is owed. Harmless. */
void deferred_cancel(struct client *cl);
/* The machine goes down: the error is the answer. Harmless when nothing is owed. */
void deferred_give_up(struct client *cl);

#endif
