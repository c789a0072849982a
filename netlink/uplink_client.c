// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_client.c - the DHCP client's process, and what it says.
 *
 * Owns: udhcpc as a child in the foreground, the socket that its script sends to.
 * A client that ends is started again; what it says is checked by uplink_lease.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/time.h"
#include "netlink/uplink_private.h"

#define SCRIPT      "/run/podinit/podinit-lease"
#define LEASE_BYTES 4096
#define RESTART_NS  (2 * NSEC_PER_SEC)

static void take_message(struct uplink *u, char *text)
{
	enum lease_event event;
	struct uplink_settings s;

	if (!u->prepared || !child_running(&u->client))
		return; /* of a client that was stopped, for a link that is gone */
	if (uplink_lease_parse(text, &event, &s) < 0) {
		log_warn("uplink %s: a lease that cannot be used", u->link);
		return;
	}
	switch (event) {
	case LEASE_BOUND:
	case LEASE_RENEW:
		u->want = s;
		u->have_lease = u->renewed = u->client_bound = true;
		break;
	case LEASE_DECONFIG:
		/* It begins with it: what an earlier one got is still good. */
		if (!u->client_bound || !u->applied)
			return;
		u->want = (struct uplink_settings){ 0 };
		u->have_lease = u->renewed = true; /* to be carried out like one */
		break;
	case LEASE_FAIL:
	case LEASE_NAK:
		log_warn("uplink %s: %s", u->link,
			 event == LEASE_NAK ? "the DHCP server refuses the address" :
					      "no DHCP server has answered");
		return;
	}
	uplink_advance(u);
}

static void on_lease(struct loop_src *src, uint32_t events)
{
	struct uplink *u = container_of(src, struct uplink, lease_src);
	char text[LEASE_BYTES + 1];
	ssize_t n = recv(u->lease_fd, text, LEASE_BYTES, MSG_DONTWAIT);

	(void)events;
	if (n > 0) {
		text[n] = '\0';
		take_message(u, text);
	}
}

static int open_socket(struct uplink *u)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX,
				    .sun_path = UPLINK_LEASE_SOCKET };
	_cleanup_close_ int fd = -1;
	int r;

	if (u->lease_fd >= 0)
		return 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlink(addr.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    chmod(addr.sun_path, 0600) < 0)
		return -errno;
	r = loop_src_add(u->loop, &u->lease_src, fd, EPOLLIN, LOOP_KERNEL, on_lease);
	if (r == 0)
		u->lease_fd = fd_steal(&fd);
	return r;
}

static void client_done(struct child *child)
{
	struct uplink *u = container_of(child, struct uplink, client);
	size_t len = strlen(child->output);

	if (u->stopped || !u->prepared)
		return; /* it was asked to */
	while (len && strchr("\n ", child->output[len - 1]))
		child->output[--len] = '\0';
	(void)snprintf(u->reason, sizeof(u->reason), "udhcpc has ended: %.120s",
		       strrchr(child->output, '\n') ? strrchr(child->output, '\n') + 1 :
						      child->output);
	log_warn("uplink %s: %s", u->link, u->reason);
	if (!u->retry.loop)
		(void)loop_timer_set(u->loop, &u->retry,
				     time_add(loop_now(u->loop), RESTART_NS));
}

/* A link to our own program: its other name tells it what it is there for. */
static int make_script(void)
{
	(void)mkdir("/run/podinit", 0755);
	if (symlink("/proc/1/exe", SCRIPT) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

void uplink_client_start(struct uplink *u)
{
	/* In the foreground; three requests, two seconds apart, then a pause of five. */
	static char words[][32] = {
		"/bin/busybox", "udhcpc", "-f",       "-s",    SCRIPT,           "-t3",
		"-T2",          "-A5",    "-Osearch", "-Omtu", "-Ostaticroutes", "-i"
	};
	static char alone[] = "/sbin/udhcpc";
	static char *argv[ARRAY_SIZE(words) + 2];
	char *const *program = argv;
	int r;
	size_t n = 0;

	if (child_running(&u->client))
		return;
	for (; n < ARRAY_SIZE(words); n++)
		argv[n] = words[n];
	argv[n] = u->link;
	if (access(alone, X_OK) == 0) {
		argv[1] = alone;
		program = argv + 1;
	}
	u->client_bound = false;
	u->client.name = "udhcpc";
	u->client.argv = program;
	u->client.timeout_ns = TIME_NEVER;
	u->client.keep_fd = -1;
	u->client.done = client_done;
	r = make_script();
	if (r == 0)
		r = open_socket(u);
	if (r == 0)
		r = child_start(u->loop, &u->client);
	if (r == 0) {
		log_info("uplink %s: asking for a lease by DHCP", u->link);
		return;
	}
	(void)snprintf(u->reason, sizeof(u->reason), "udhcpc: %s", strerror(-r));
	(void)loop_timer_set(u->loop, &u->retry, time_add(loop_now(u->loop), RESTART_NS));
}

void uplink_client_renew(struct uplink *u)
{
	if (child_running(&u->client))
		(void)proc_signal(u->client.pidfd, SIGUSR1); /* udhcpc(8): renew */
}

void uplink_client_stop(struct uplink *u)
{
	if (child_running(&u->client))
		child_cancel(&u->client);
}
