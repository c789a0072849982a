// SPDX-License-Identifier: Apache-2.0
/*
 * event.h - what happened, as records of the event journal (pods.events).
 *
 * A record's kind is enum pod_event; its head is empty; its body is the JSON text of the
 * event's "data" object, ready to be sent. control puts name, time and number around it.
 */
#ifndef POD_EVENT_H
#define POD_EVENT_H

#include "base/util.h"

/* Each with its data; ".." are "uid", "namespace", "pod" and "member". */
enum pod_event {
	/* {"uid","namespace","pod","phase","reason","lifecycle","ready"} */
	POD_EVENT_POD_CHANGED,
	/* {"namespace","pod","uid"} */
	POD_EVENT_POD_DELETED,
	/* {..,"attempt","pid"} */
	POD_EVENT_MEMBER_STARTED,
	/* Start failed: {..,"stage","errno","message"} */
	POD_EVENT_MEMBER_FAILED,
	/* {..,"attempt","exitCode","signal","reason","finishedAt"} */
	POD_EVENT_MEMBER_EXITED,
	/* {..,"delayMs","restartCount"} */
	POD_EVENT_MEMBER_BACKOFF,
	/* Cannot be killed: {..,"message"} */
	POD_EVENT_MEMBER_STUCK,
	POD_EVENT_MAX
};

/* "POD_CHANGED", ... */
const char *pod_event_name(enum pod_event event);

#endif
