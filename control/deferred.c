// SPDX-License-Identifier: Apache-2.0
/*
 * deferred.c - see deferred.h.
 */
#include "control/deferred.h"

#include <errno.h>
#include <string.h>

#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"

static void finish(struct client *cl)
{
	request_free(&cl->deferred.request);
	cl->deferred.waiting = false;
}

static void on_net(struct pods_net_query *q, const char *text, size_t len,
		   const struct err *e)
{
	struct client *cl = container_of(q, struct client, deferred.net);

	if (text)
		client_answer_text(cl, &cl->deferred.request, text, len);
	else
		client_error(cl, &cl->deferred.request, "GenericError", e->text, NULL);
	finish(cl);
	client_turn(cl, 0);
}

int deferred_net(struct call *call, const char *namespace, const struct pod *pod)
{
	struct pods_net_query *q = &call->client->deferred.net;
	int r;

	q->done = on_net;
	r = pods_net_ask(call->control->pods, namespace, pod, q);
	if (r == 0)
		return CALL_LATER;
	if (r == -EAGAIN)
		return call_fail(call, "too many are asking for this; try again");
	if (r == -ESHUTDOWN)
		return call_fail(call, "the machine is going down");
	if (r == -EINVAL)
		return call_fail(call, "the pod was refused: it has no network");
	return call_fail(call, "cannot ask the kernel: %s", strerror(-r));
}

void deferred_keep(struct client *cl, struct request *r)
{
	cl->deferred.request = *r;
	cl->deferred.waiting = true;
	*r = (struct request){ 0 };
}

void deferred_cancel(struct client *cl)
{
	if (!cl->deferred.waiting)
		return;
	pods_net_cancel(&cl->deferred.net);
	finish(cl);
}

void deferred_give_up(struct client *cl)
{
	if (!cl->deferred.waiting)
		return;
	client_error(cl, &cl->deferred.request, "GenericError",
		     "the machine is going down", NULL);
	deferred_cancel(cl);
}
