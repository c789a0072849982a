// SPDX-License-Identifier: Apache-2.0
/*
 * transport_vsock.c - the host's way in: a stream socket between machine and host.
 *
 * Owns: the listener and its retry timer. Called by: control.c after the modules are in.
 * Bound to VMADDR_CID_ANY: the machine's own CID changes when a snapshot is resumed
 * elsewhere, and a listener on the old one would be deaf (lxd#12405).
 * vsock(7) knows no credentials. The host is known by its CID; a process in this machine
 * reaches us over the loopback too, members included, since vsock is in no namespace: so
 * local peers are refused unless machine.json asks for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "control/transport.h"

#define BACKLOG        64
/* Ports below need CAP_NET_BIND_SERVICE to bind (LAST_RESERVED_PORT in af_vsock.c). */
#define RESERVED_PORTS 1024
#define RETRY_NS       NSEC_PER_SEC
#define RETRY_MAX_NS   (60 * NSEC_PER_SEC)

static uint32_t local_cid(void)
{
	_cleanup_close_ int fd = open("/dev/vsock", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint32_t cid = VMADDR_CID_ANY;

	if (fd < 0 || ioctl(fd, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid) < 0)
		return VMADDR_CID_ANY;
	return cid;
}

bool transport_vsock_allowed(uint32_t peer_cid, uint32_t peer_port, uint32_t own_cid,
			     bool allow_local)
{
	bool local = peer_cid == VMADDR_CID_LOCAL || peer_cid == own_cid;

	/* Run on the host itself (own CID 2), CID 2 is every process here. */
	if (local)
		return allow_local && peer_port < RESERVED_PORTS;
	return peer_cid == VMADDR_CID_HOST;
}

static const char *check_peer(struct control *c, int fd, char *name, size_t size)
{
	struct sockaddr_vm addr = { 0 };
	socklen_t len = sizeof(addr);

	(void)snprintf(name, size, "vsock peer");
	if (getpeername(fd, (struct sockaddr *)&addr, &len) < 0)
		return "the peer is unknown";
	(void)snprintf(name, size, "vsock %u:%u", addr.svm_cid, addr.svm_port);
	if (!transport_vsock_allowed(addr.svm_cid, addr.svm_port, local_cid(),
				     c->machine->control_vsock_local))
		return "only the host may use this port";
	return NULL;
}

static void on_listener(struct loop_src *src, uint32_t events)
{
	(void)events;
	listener_accept(container_of(src, struct listener, src), CLIENT_VSOCK,
			check_peer);
}

static int try_open(struct control *c)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = (unsigned int)c->machine->control_vsock_port,
	};
	_cleanup_close_ int fd = socket(AF_VSOCK,
					SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	return listener_start(&c->vsock_listener, c, fd_steal(&fd), on_listener);
}

static void on_retry(struct loop_timer *timer)
{
	transport_vsock_open(container_of(timer, struct control, vsock_listener.retry));
}

void transport_vsock_open(struct control *c)
{
	struct listener *l = &c->vsock_listener;
	int r = try_open(c);

	if (r == 0) {
		log_info("control: listening on vsock port %lld",
			 (long long)c->machine->control_vsock_port);
		return;
	}
	if (r == -EAFNOSUPPORT || r == -ENODEV || r == -EADDRNOTAVAIL) {
		log_info("control: this machine has no vsock");
		return;
	}
	l->backoff_ns = l->backoff_ns ? MIN(l->backoff_ns * 2, RETRY_MAX_NS) : RETRY_NS;
	log_warn("control: vsock port %lld: %s; again in %lld s",
		 (long long)c->machine->control_vsock_port, strerror(-r),
		 l->backoff_ns / NSEC_PER_SEC);
	l->retry.fn = on_retry;
	(void)loop_timer_set(c->loop, &l->retry, /* without memory there is no retry */
			     time_add(loop_now(c->loop), l->backoff_ns));
}
