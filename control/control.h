// SPDX-License-Identifier: Apache-2.0
/*
 * control.h - the JSON channel: QMP's grammar over unix socket, vsock and serial ports.
 *
 * Owns: listeners, clients, their buffers. Called by: init. Documented in
 * docs/control.md. No client can delay the loop or grow memory: input and output of a
 * client are bounded, a slow one is dropped (socket) or loses events with a count (serial
 * port).
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "base/err.h"
#include "base/loop.h"
#include "config/machine.h"

struct json_object;
struct pods;

/* What commands need from above; control never calls init otherwise. */
struct control_hooks {
	/* Begins the shutdown; -EALREADY when one runs with at least this grip. */
	int (*shutdown)(void *arg, enum machine_end how, int64_t grace_ms);
	/* Adds machine facts to podinit-info: boot stages, features, modules. */
	void (*describe)(void *arg, struct json_object *info);
	void *arg;
};

struct control;

/* Opens the unix socket. 0 or -errno; later a listener that fails is logged and retried.
 */
int control_init(struct control **ret, struct loop *loop, struct pods *pods,
		 const struct machine *machine, const struct control_hooks *hooks,
		 struct err *e);
void control_free(struct control *c);

/* After coldplug: opens vsock and the ports that exist by now (names under
 * /sys/class/virtio-ports/PORT/name, or /dev/NAME, or an absolute path). */
void control_open_ports(struct control *c);

/* The journals grew: subscribers get what they asked for. Cheap when there is none. */
void control_wake(struct control *c);

/* Shutdown: gives clients until deadline_ns to take what is queued for them, then calls
 * done. Last words leave the machine before the power goes (systemd-stable#460). */
void control_drain(struct control *c, int64_t deadline_ns, void (*done)(void *arg),
		   void *arg);

#endif
