// SPDX-License-Identifier: Apache-2.0
/*
 * uplink.c - see uplink.h: what is known, and the next step.
 *
 * Owns: struct uplink. uplink_advance() looks at all of it and does what comes next, so
 * that it does not matter which event came first or came twice.
 */
#include "netlink/uplink.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "netlink/monitor.h"
#include "netlink/uplink_parts.h"
#include "netlink/uplink_private.h"

#define CLASS_DIR      "/sys/class/net"
#define JOB_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define RETRY_NS       (2 * NSEC_PER_SEC)
/* IFF_LOWER_UP of linux/if.h, which cannot stand beside net/if.h: the carrier itself.
 * IFF_RUNNING follows it within a second (net/core/link_watch.c). */
#define FLAG_CARRIER   (1u << 16)

static const char *const state_names[] = {
	[UPLINK_NONE] = "none",
	[UPLINK_WAITING] = "waiting",
	[UPLINK_WORKING] = "working",
	[UPLINK_READY] = "ready",
	[UPLINK_NO_CARRIER] = "no-carrier",
	[UPLINK_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(state_names) == UPLINK_STATE_MAX, "a name for each state");

const char *uplink_state_name(enum uplink_state s)
{
	return (unsigned int)s < UPLINK_STATE_MAX ? state_names[s] : "?";
}

/* ---- what others see ---- */

static enum uplink_state state_of(const struct uplink *u)
{
	if (u->mode == UPLINK_MODE_NONE)
		return UPLINK_NONE;
	if (u->applied && u->index && u->carrier)
		return UPLINK_READY;
	/* Before it was ready once the carrier is only on its way: drivers take a moment.
	 */
	if (u->applied && u->index &&
	    (u->info.state == UPLINK_READY || u->info.state == UPLINK_NO_CARRIER))
		return UPLINK_NO_CARRIER;
	if (u->late)
		return UPLINK_FAILED;
	return u->index ? UPLINK_WORKING : UPLINK_WAITING;
}

static void fill_info(const struct uplink *u, struct uplink_info *info)
{
	const struct uplink_settings *s = &u->now;

	*info = (struct uplink_info){ .state = state_of(u),
				      .index = u->index,
				      .mtu = u->mtu };
	(void)snprintf(info->name, sizeof(info->name), "%s", u->link);
	if (u->applied) {
		info->n_addrs = s->n_addrs;
		memcpy(info->addrs, s->addrs, sizeof(info->addrs));
		info->n_servers = s->n_servers;
		memcpy(info->servers, s->servers, sizeof(info->servers));
		memcpy(info->search, s->search, sizeof(info->search));
	}
	if (u->applied && u->index && !u->carrier)
		(void)snprintf(info->reason, sizeof(info->reason), "no carrier");
	else if (info->state != UPLINK_READY && info->state != UPLINK_NONE)
		(void)snprintf(info->reason, sizeof(info->reason), "%s", u->reason);
}

static void tell(struct uplink *u)
{
	struct uplink_info now;
	char text[INET_TEXT_BYTES];

	fill_info(u, &now);
	if (memcmp(&now, &u->info, sizeof(now)) == 0 && u->told)
		return;
	if (now.state != u->info.state || !u->told)
		log_at(now.state == UPLINK_FAILED ? LOG_ERROR : LOG_INFO,
		       "uplink %s: %s%s%s%s%s", now.name[0] ? now.name : "?",
		       uplink_state_name(now.state), now.n_addrs ? ", " : "",
		       now.n_addrs ? inet_format_cidr(&now.addrs[0], text) : "",
		       now.reason[0] ? ": " : "", now.reason);
	u->info = now;
	u->told = true;
	u->hooks.changed(u->hooks.arg, &u->info);
}

/* ---- the link ---- */

static void lose_link(struct uplink *u, const char *why)
{
	(void)snprintf(u->reason, sizeof(u->reason), "%s", why);
	uplink_client_stop(u);
	u->index = 0;
	u->prepared = u->applied = u->carrier = false;
	u->have_lease = u->mode == UPLINK_MODE_STATIC;
	u->now = (struct uplink_settings){ 0 };
}

/* The names of NIC and link; false: what is meant is not there (yet). */
static bool find_link(struct uplink *u)
{
	const struct machine_uplink *c = u->config;
	struct uplink_job *j = &u->job;

	if (c->n_bond_ports) {
		j->n_ports = 0;
		for (size_t i = 0; i < c->n_bond_ports; i++)
			if (uplink_match_find(&c->bond_ports[i], CLASS_DIR,
					      j->ports[j->n_ports]) == 0)
				j->n_ports++;
		(void)snprintf(j->nic, sizeof(j->nic), MACHINE_BOND_NAME);
		j->bond_mode = c->bond_mode;
		if (j->n_ports == 0)
			return false;
	} else if (uplink_match_find(&u->match, CLASS_DIR, j->nic) < 0) {
		return false;
	}
	j->vlan_id = c->vlan_id;
	j->mtu = (uint32_t)c->mtu;
	if (c->vlan_id)
		(void)snprintf(j->link, sizeof(j->link), "%.10s.%d", j->nic,
			       (int)(c->vlan_id & 0xfff));
	else
		memcpy(j->link, j->nic, sizeof(j->link));
	memcpy(u->link, j->link, sizeof(u->link));
	return true;
}

/* As it is now; later changes come as events. By ioctl(2), without the rtnl lock. */
static void read_link(struct uplink *u)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { 0 };

	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", u->link);
	/* What came while it was set up says more than these 16 flags. */
	if (!u->carrier && ioctl(fd, SIOCGIFFLAGS, &ifr) == 0) {
		u->carrier = ifr.ifr_flags & IFF_RUNNING;
		u->up = ifr.ifr_flags & IFF_UP;
	}
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		u->mtu = (uint32_t)ifr.ifr_mtu;
}

/* ---- jobs ---- */

static void job_done(struct child *child)
{
	struct uplink *u = container_of(child, struct uplink, child);

	if (!child_ok(child)) {
		(void)snprintf(u->reason, sizeof(u->reason), "setting it up: %.140s",
			       child_failure(child));
		log_warn("uplink %s: %s", u->link, u->reason);
		(void)loop_timer_set(u->loop, &u->retry,
				     time_add(loop_now(u->loop), RETRY_NS));
		tell(u);
		return;
	}
	u->index = (int)if_nametoindex(u->link);
	read_link(u);
	u->prepared = u->up = true;
	u->renewed |= u->missed;
	u->missed = false;
	u->reason[0] = '\0';
	if (u->job.addresses) {
		u->now = u->job.settings;
		u->applied = u->now.n_addrs > 0;
		u->have_lease = u->applied;
		if (!u->applied)
			(void)snprintf(u->reason, sizeof(u->reason), "the lease is lost");
	}
	uplink_advance(u);
}

static void start_job(struct uplink *u, bool addresses)
{
	int r;

	u->job.addresses = addresses;
	u->job.settings = u->want;
	u->job.old = u->now;
	u->child.name = "uplink";
	u->child.run = uplink_job_run;
	u->child.arg = &u->job;
	u->child.timeout_ns = JOB_TIMEOUT_NS;
	u->child.keep_fd = -1;
	u->child.done = job_done;
	r = child_start(u->loop, &u->child);
	if (r < 0) {
		(void)snprintf(u->reason, sizeof(u->reason), "%s", strerror(-r));
		(void)loop_timer_set(u->loop, &u->retry,
				     time_add(loop_now(u->loop), RETRY_NS));
	}
}

/* ---- the next step ---- */

void uplink_advance(struct uplink *u)
{
	if (u->mode == UPLINK_MODE_NONE || u->stopped) {
		tell(u);
		return;
	}
	if (child_running(&u->child) || u->retry.loop) {
		tell(u);
		return;
	}
	if (u->prepared && !u->up) {
		tell(u); /* somebody set it down: it is theirs to set up again */
		return;
	}
	if (!u->prepared) {
		if (find_link(u))
			start_job(u, false);
		else if (!u->reason[0])
			(void)snprintf(u->reason, sizeof(u->reason),
				       "no interface that fits is there");
	} else if (u->mode == UPLINK_MODE_DHCP && !u->have_lease) {
		uplink_client_start(u);
	} else if (u->renewed || !u->applied) {
		u->renewed = false;
		start_job(u, true);
	} else if (u->mode == UPLINK_MODE_DHCP) {
		uplink_client_start(u); /* it may have ended */
	}
	tell(u);
}

static void retry_due(struct loop_timer *timer)
{
	uplink_advance(container_of(timer, struct uplink, retry));
}

static void deadline_due(struct loop_timer *timer)
{
	struct uplink *u = container_of(timer, struct uplink, deadline);

	u->late = true;
	if (!u->applied && !u->reason[0])
		(void)snprintf(u->reason, sizeof(u->reason), "%s",
			       u->mode == UPLINK_MODE_DHCP && u->prepared ?
				       "no DHCP server has answered" :
				       "it took too long");
	tell(u);
}

/* ---- events ---- */

static void rename_link(struct uplink *u, const char *name)
{
	(void)snprintf(u->link, sizeof(u->link), "%s", name);
	memcpy(u->job.link, u->link, sizeof(u->job.link));
	if (!u->job.vlan_id)
		memcpy(u->job.nic, u->link, sizeof(u->job.nic));
}

/* A port of the bond that was not there when it was made, or has come back. */
static bool is_missing_port(const struct uplink *u, const struct monitor_event *ev)
{
	char name[16];

	for (size_t i = 0; !(ev->flags & IFF_SLAVE) && i < u->config->n_bond_ports; i++)
		if (uplink_match_find(&u->config->bond_ports[i], CLASS_DIR, name) == 0 &&
		    !strcmp(name, ev->name))
			return true;
	return false;
}

static void on_own_link(struct uplink *u, const struct monitor_event *ev)
{
	bool carrier = ev->flags & FLAG_CARRIER, was = u->carrier;
	bool up = ev->flags & IFF_UP, was_up = u->up;

	u->mtu = ev->mtu;
	u->carrier = carrier;
	if (strcmp(ev->name, u->link) != 0)
		rename_link(u, ev->name);
	u->up = up;
	if (carrier && !was)
		uplink_client_renew(u); /* perhaps another network is behind the cable */
	/* Routes, and IPv6 addresses, went when somebody set it down. */
	if (up && !was_up && u->applied)
		u->renewed = true;
	uplink_advance(u);
}

static bool has_address(const struct uplink_settings *s, const struct inet *a)
{
	for (size_t i = 0; i < s->n_addrs; i++)
		if (inet_same(&s->addrs[i], a))
			return true;
	return false;
}

/* Not at once: whoever did it may not have finished. */
static void put_back_later(struct uplink *u, const char *what)
{
	log_warn("uplink %s: %s is gone", u->link, what);
	(void)snprintf(u->reason, sizeof(u->reason), "%s was taken away", what);
	u->applied = false;
	(void)loop_timer_set(u->loop, &u->retry, time_add(loop_now(u->loop), RETRY_NS));
}

/* Taken by somebody else, or by the kernel at the end of a lease. */
static void on_address_gone(struct uplink *u, const struct inet *a)
{
	char text[INET_TEXT_BYTES];

	if (child_running(&u->child)) { /* it takes old ones away itself */
		u->missed |= has_address(&u->job.settings, a);
		return;
	}
	if (!has_address(&u->now, a) || !u->applied || !u->up)
		return;
	(void)inet_format_cidr(a, text);
	if (u->mode != UPLINK_MODE_DHCP) {
		put_back_later(u, text);
	} else {
		log_warn("uplink %s: %s is gone", u->link, text);
		u->applied = u->have_lease = false;
		u->now = (struct uplink_settings){ 0 };
		(void)snprintf(u->reason, sizeof(u->reason), "the lease is over");
		uplink_client_renew(u);
	}
	uplink_advance(u);
}

/* A default route by one of our gateways; what goes with a link that is set down is not
 * told. */
static void on_route_gone(struct uplink *u, const struct monitor_event *ev)
{
	const struct inet *gateway = &u->now.gateway[ev->addr.family == AF_INET6];

	if (ev->addr.prefix || !gateway->family || !inet_same(gateway, &ev->gateway) ||
	    !u->applied || !u->up)
		return;
	if (child_running(&u->child)) {
		u->missed = true;
		return;
	}
	put_back_later(u, "the default route");
	uplink_advance(u);
}

/* Events were lost: what they may have said is looked up, and set again. */
static void look_again(struct uplink *u)
{
	char name[IF_NAMESIZE] = "";

	if (!u->index)
		return;
	if (!if_indextoname((unsigned int)u->index, name)) {
		lose_link(u, "the interface is gone");
		return;
	}
	if (strcmp(name, u->link) != 0)
		rename_link(u, name);
	u->carrier = false;
	read_link(u);
	u->renewed |= u->applied;
	uplink_advance(u);
}

static void on_event(struct monitor_listener *l, const struct monitor_event *ev)
{
	struct uplink *u = container_of(l, struct uplink, listener);

	if (ev->what == MONITOR_LOST)
		look_again(u);
	else if (ev->nsid != MONITOR_MACHINE)
		return;
	if (ev->what == MONITOR_LINK_GONE && u->index && ev->index == u->index)
		lose_link(u, "the interface is gone");
	else if (ev->what == MONITOR_LINK && u->index && ev->index == u->index)
		on_own_link(u, ev);
	else if (ev->what == MONITOR_ADDR_GONE && u->index && ev->index == u->index)
		on_address_gone(u, &ev->addr);
	else if (ev->what == MONITOR_ROUTE_GONE && u->index && ev->index == u->index)
		on_route_gone(u, ev);
	else if (ev->what == MONITOR_LINK && !u->index && !strcmp(ev->name, u->link))
		u->carrier = ev->flags & FLAG_CARRIER;
	else if (ev->what == MONITOR_LINK && u->prepared && is_missing_port(u, ev))
		u->prepared = false; /* the job takes it in, and leaves the rest alone */
	/* A new one may be the one that is waited for. */
	if (!u->prepared && (ev->what == MONITOR_LINK || ev->what == MONITOR_LOST ||
			     ev->what == MONITOR_LINK_GONE))
		uplink_advance(u);
}

/* ---- life ---- */

static int take_ip(struct uplink *u, const char *text, struct err *e)
{
	struct uplink_ip ip;
	int r;

	u->mode = UPLINK_MODE_NONE;
	if (!text)
		return 0;
	r = uplink_ip_parse(text, &ip, e);
	if (r < 0)
		return r;
	u->mode = ip.mode;
	u->want = ip.settings;
	memcpy(u->device, ip.device, sizeof(u->device));
	if (u->device[0] && !u->match.name)
		u->match.name = u->device;
	return 0;
}

static void begin(struct loop_timer *timer)
{
	struct uplink *u = container_of(timer, struct uplink, retry);

	u->retry.fn = retry_due;
	if (u->config->timeout_ms == 0)
		u->late = u->mode != UPLINK_MODE_NONE;
	uplink_advance(u);
}

int uplink_start(struct uplink **ret, struct loop *loop, struct monitor *monitor,
		 const struct machine_network *config, const char *ip,
		 const struct uplink_hooks *hooks, struct err *e)
{
	const struct machine_uplink *c = &config->uplink;
	struct uplink *u = calloc(1, sizeof(*u));
	int r = 0;

	if (!u)
		return err_set(e, STAGE_BOOT, ENOMEM, "uplink");
	*u = (struct uplink){ .loop = loop,
			      .config = c,
			      .hooks = *hooks,
			      .mode = c->mode,
			      .match = c->match,
			      .lease_fd = -1 };
	child_init(&u->child);
	child_init(&u->client);
	if (c->mode == UPLINK_MODE_KERNEL)
		r = take_ip(u, ip, e);
	if (c->mode == UPLINK_MODE_STATIC) {
		u->want.n_addrs = c->n_addresses;
		memcpy(u->want.addrs, c->addresses, sizeof(u->want.addrs));
		memcpy(u->want.gateway, c->gateway, sizeof(u->want.gateway));
	}
	u->have_lease = u->mode == UPLINK_MODE_STATIC;
	u->retry.fn = begin;
	u->deadline.fn = deadline_due;
	u->listener.fn = on_event;
	if (monitor->fd >= 0)
		monitor_listen(monitor, &u->listener);
	if (u->mode != UPLINK_MODE_NONE && c->timeout_ms)
		(void)loop_timer_set(
			loop, &u->deadline,
			time_add(loop_now(loop), c->timeout_ms * NSEC_PER_MSEC));
	(void)loop_timer_set(loop, &u->retry, loop_now(loop));
	*ret = u;
	return r;
}

void uplink_stop(struct uplink *u)
{
	if (!u)
		return;
	u->stopped = true;
	uplink_client_stop(u);
	loop_timer_cancel(&u->retry);
	loop_timer_cancel(&u->deadline);
	monitor_unlisten(&u->listener);
}
