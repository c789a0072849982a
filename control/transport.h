// SPDX-License-Identifier: Apache-2.0
/*
 * transport.h - ways in: listeners on sockets, and ports to the host.
 *
 * Private to control/. Each transport decides who may speak on it.
 */
#ifndef CONTROL_TRANSPORT_H
#define CONTROL_TRANSPORT_H

#include "base/err.h"
#include "control/client.h"
#include "control/state.h"

/* ---- listener.c: what the two kinds of sockets have in common ---------------------- */

/* Is the peer on the fresh connection allowed? Fills its name. NULL, or why not. */
typedef const char *(*listener_check)(struct control *c, int fd, char *name, size_t size);

/* Starts accepting on fd (taken, also on error). 0 or -errno. */
int listener_start(struct listener *l, struct control *c, int fd, loop_src_fn fn);
void listener_stop(struct listener *l);
/* The body of fn: accepts a bounded number of connections. */
void listener_accept(struct listener *l, enum client_kind kind, listener_check check);

/* ---- transports ------------------------------------------------------------------- */

int transport_unix_open(struct control *c, const char *path, struct err *e);

/* Logs what is wrong; tries again later when trying again can help. */
void transport_vsock_open(struct control *c);
/* Who may speak: the host; a process of this machine only when machine.json says so, and
 * then from a port below 1024, which only CAP_NET_BIND_SERVICE may use. */
bool transport_vsock_allowed(uint32_t peer_cid, uint32_t peer_port, uint32_t local_cid,
			     bool allow_local);

/* Opens the port of this name if it is there. 0, -ENOENT when it is not, -errno. */
int transport_port_open(struct control *c, const char *name);
void transport_ports_close(struct control *c);

#endif
