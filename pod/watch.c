// SPDX-License-Identifier: Apache-2.0
/*
 * watch.c - inotify on the cgroup.events file of every member's group.
 *
 * Owns: pods->inotify_fd, the watches by number. Called by: member.c (a start), pods.c.
 * An event is a hint: the group's file is read again (systemd#13620). A full queue ends
 * in asking every group.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "pod/pod.h"

static struct list *watch_bucket(struct pods *pods, int wd)
{
	return &pods->watches[(unsigned int)wd % PODS_WATCH_BUCKETS];
}

void pods_watch(struct pods *pods, struct member *m)
{
	char path[CGROUP_PATH_BYTES + 64];

	if (m->wd >= 0)
		return;
	/* Through the descriptor: the tree may be mounted anywhere. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/cgroup.events",
		       pods->cgroup_fd, m->cgroup);
	m->wd = inotify_add_watch(pods->inotify_fd, path, IN_MODIFY);
	if (m->wd < 0) {
		/* The exit handler and the deadlines still ask the group themselves. */
		log_warn("watch cgroup %s: %s", m->cgroup, strerror(errno));
		return;
	}
	list_append(watch_bucket(pods, m->wd), &m->watch);
}

void pods_unwatch(struct pods *pods, struct member *m)
{
	if (m->wd < 0)
		return;
	(void)inotify_rm_watch(pods->inotify_fd, m->wd); /* gone with its file already */
	list_remove(&m->watch);
	m->wd = -1;
}

static void watch_event(struct pods *pods, int wd)
{
	list_for_each(node, watch_bucket(pods, wd)) {
		struct member *m = list_entry(node, struct member, watch);

		if (m->wd == wd) {
			member_group_changed(m);
			return; /* the list may have changed: it was the only one */
		}
	}
}

static void watch_resync(struct pods *pods)
{
	log_warn("cgroup events were lost, asking every group");
	list_for_each(node, &pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		for (size_t i = 0; i < pod->n_members; i++)
			if (member_alive(&pod->members[i]))
				member_group_changed(&pod->members[i]);
	}
}

static void watch_ready(struct loop_src *src, uint32_t events)
{
	struct pods *pods = container_of(src, struct pods, inotify_src);
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t n = read(src->fd, buf, sizeof(buf));

	(void)events;
	for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
		const struct inotify_event *e = (const void *)(buf + at);

		if (e->mask & IN_Q_OVERFLOW)
			watch_resync(pods);
		else
			watch_event(pods, e->wd);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}

int pods_watch_init(struct pods *pods, struct err *e)
{
	int r;

	for (size_t i = 0; i < PODS_WATCH_BUCKETS; i++)
		list_init(&pods->watches[i]);
	pods->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (pods->inotify_fd < 0)
		return err_set(e, STAGE_CGROUP, errno, "inotify");
	r = loop_src_add(pods->loop, &pods->inotify_src, pods->inotify_fd, EPOLLIN,
			 LOOP_CGROUP, watch_ready);
	return r < 0 ? err_set(e, STAGE_CGROUP, -r, "watch inotify") : 0;
}
