// SPDX-License-Identifier: Apache-2.0
/*
 * plan_device.c - a NIC of the machine's lent to a pod.
 *
 * Owns: the mark in the NIC's alias, "podinit:NAME" or "podinit:NAME:ALIAS" when it had
 * one. Called by: plan_apply.c and plan_remove.c. A NIC comes back under its own name,
 * down and without addresses: the kernel closes what changes its namespace.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/plan_parts.h"

#define MARK "podinit:"

/* Whether the alias says that this is NIC `name`; *ret_own: the alias it had. */
static bool marked(const char *alias, const char *name, const char **ret_own)
{
	size_t len = strlen(name);

	if (strncmp(alias, MARK, strlen(MARK)) != 0)
		return false;
	alias += strlen(MARK);
	if (strncmp(alias, name, len) != 0 || (alias[len] && alias[len] != ':'))
		return false;
	*ret_own = alias[len] ? alias + len + 1 : "";
	return true;
}

int plan_device_in(struct nl_batch *machine, struct nl *nl, const struct net_if *i,
		   int netns_fd, struct err *e)
{
	char mark[LINK_ALIAS_BYTES];
	struct link_info nic;
	const char *own = nic.alias;
	int r = link_get(nl, 0, i->parent, &nic), n;

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "find interface %s", i->parent);
	(void)marked(nic.alias, i->parent, &own); /* it was taken back by hand */
	n = snprintf(mark, sizeof(mark), MARK "%s%s%s", i->parent, *own ? ":" : "", own);
	if (n < 0 || (size_t)n >= sizeof(mark))
		return err_set(e, STAGE_SANDBOX, ENAMETOOLONG,
			       "mark interface %s: its alias", i->parent);
	link_set_alias(machine, nic.index, i->parent, mark);
	link_set_netns(machine, nic.index, i->parent, netns_fd, i->name);
	return 0;
}

struct search {
	const char *name;
	struct link_info found; /* index 0 = none */
};

static int look_for_mark(void *arg, const struct link_info *link)
{
	struct search *s = arg;
	const char *own;

	if (marked(link->alias, s->name, &own))
		s->found = *link;
	return 0;
}

/* Home, in the namespace machine_fd, or renamed where it is when that is -1. */
static int send_home(const struct net_if *i, struct nl *from, const struct link_info *nic,
		     int machine_fd, const char *name, struct err *e)
{
	const char *own = "";
	struct nl_batch *b = NULL;
	int r = nl_batch_new(from, &b);

	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "give back %s", i->parent);
	if (marked(nic->alias, i->parent, &own))
		link_set_alias(b, nic->index, nic->name, own);
	if (machine_fd >= 0) {
		link_set_netns(b, nic->index, nic->name, machine_fd, name);
	} else if (strcmp(nic->name, name) != 0) {
		link_set_down(b, nic->index, nic->name); /* one that is up keeps its name
							  */
		link_set_name(b, nic->index, nic->name, name);
	}
	r = nl_batch_count(b) ? nl_batch_send(b, e) : 0;
	nl_batch_free(b);
	return r;
}

int plan_device_out(const struct net_if *i, struct nl *from, bool in_pod, int machine_fd,
		    struct err *e)
{
	struct search s = { .name = i->parent };
	int r = link_each(from, look_for_mark, &s);

	if (r == 0 && s.found.index == 0 && in_pod)
		r = link_get(from, 0, i->name, &s.found);
	if (r == -ENODEV || (r == 0 && s.found.index == 0))
		return 0;
	if (r < 0)
		return err_set(e, STAGE_SANDBOX, -r, "look for %s", i->parent);
	r = send_home(i, from, &s.found, machine_fd, i->parent, e);
	/* Somebody took the name: any other is better than a NIC that dies with the pod.
	 * The failure is told all the same. */
	if (r == -EEXIST && machine_fd >= 0)
		(void)send_home(i, from, &s.found, machine_fd, "dev%d", NULL);
	return r;
}
