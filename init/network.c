// SPDX-License-Identifier: Apache-2.0
/*
 * network.c - see network.h.
 */
#include "init/network.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/machine.h"
#include "pod/pods.h"

#define RESOLV_DIR   "/run/podinit"
#define RESOLV_FILE  RESOLV_DIR "/resolv.conf"
#define RESOLV_NEW   RESOLV_DIR "/resolv.conf.new"
#define RESOLV_LINK  "/etc/resolv.conf"
#define RESOLV_BYTES 8192

void network_up_monitor(struct network_up *n, struct loop *loop)
{
	struct err e = { 0 };

	n->loop = loop;
	if (monitor_open(&n->monitor, loop, &e) < 0)
		log_err(LOG_WARN, "network monitor", &e);
}

/* ---- the machine's own resolv.conf ---- */

static int put_list(struct buf *b, const char *key, const char *const *words)
{
	int r = words && *words ? buf_printf(b, "%s", key) : 0;

	for (; r >= 0 && words && *words; words++)
		r = buf_printf(b, " %s%s", *words, words[1] ? "" : "\n");
	return r;
}

/* What machine.json says, else what the lease or ip= brought. */
static int resolv_text(const struct machine_network *m, const struct uplink_info *info,
		       struct buf *b)
{
	char text[INET_TEXT_BYTES];
	int r = 0;

	for (const char **s = m->dns_servers; r >= 0 && s && *s; s++)
		r = buf_printf(b, "nameserver %s\n", *s);
	for (size_t i = 0; r >= 0 && !m->dns_servers && i < info->n_servers; i++)
		r = buf_printf(b, "nameserver %s\n",
			       inet_format(&info->servers[i], text));
	if (r >= 0 && m->dns_searches)
		r = put_list(b, "search", (const char *const *)m->dns_searches);
	else if (r >= 0 && info->search[0])
		r = buf_printf(b, "search %s\n", info->search);
	if (r >= 0)
		r = put_list(b, "options", (const char *const *)m->dns_options);
	return r < 0 ? r : 0;
}

static int replace_file(const struct buf *b)
{
	_cleanup_close_ int fd = -1;
	int r;

	(void)mkdir(RESOLV_DIR, 0755);
	(void)unlink(RESOLV_NEW);
	fd = open(RESOLV_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = b->len ? fd_write_full(fd, buf_head(b), b->len) : 0;
	if (r < 0)
		return r;
	return rename(RESOLV_NEW, RESOLV_FILE) < 0 ? -errno : 0;
}

/* An /etc/resolv.conf that came with the image is somebody's decision and stays. Servers
 * that went with their lease must not go on being asked: an empty file replaces them. */
static void write_resolv(struct network_up *n, const struct uplink_info *info)
{
	struct buf b;
	int r;

	buf_init(&b, RESOLV_BYTES);
	r = resolv_text(&n->machine->network, info, &b);
	if (r == 0 && (b.len || n->resolv_filled)) {
		r = replace_file(&b);
		if (r == 0)
			n->resolv_filled = b.len;
	}
	if (r == 0 && b.len && symlink(RESOLV_FILE, RESOLV_LINK) < 0 && errno != EEXIST)
		log_debug("%s: %s", RESOLV_LINK, strerror(errno));
	if (r < 0)
		log_warn("%s: %s", RESOLV_FILE, strerror(-r));
	buf_free(&b);
}

/* ---- the uplink ---- */

static void warn_overlap(const struct network_up *n, const struct uplink_info *info)
{
	const struct inet *ranges[] = { &n->machine->network.pod_range4,
					&n->machine->network.pod_range6 };
	char a[INET_TEXT_BYTES], b[INET_TEXT_BYTES];

	for (size_t i = 0; i < info->n_addrs; i++)
		for (size_t k = 0; k < ARRAY_SIZE(ranges); k++)
			if (ranges[k]->family && inet_overlap(ranges[k], &info->addrs[i]))
				log_error("the uplink's %s overlaps the pods' range %s: "
					  "set network.podCidrs in machine.json",
					  inet_format_cidr(&info->addrs[i], a),
					  inet_format_cidr(ranges[k], b));
}

static void on_changed(void *arg, const struct uplink_info *info)
{
	struct network_up *n = arg;

	write_resolv(n, info);
	if (info->state == UPLINK_READY)
		warn_overlap(n, info);
	pods_uplink_changed(n->pods, info);
	if (n->settled || (info->state != UPLINK_READY && info->state != UPLINK_NONE &&
			   info->state != UPLINK_FAILED))
		return;
	n->settled = true;
	n->on_settled(n->arg);
}

int network_up_start(struct network_up *n, struct pods *pods,
		     const struct machine *machine, const char *ip, struct err *e)
{
	const struct uplink_hooks hooks = { .changed = on_changed, .arg = n };
	int r;

	n->pods = pods;
	n->machine = machine;
	r = uplink_start(&n->uplink, n->loop, &n->monitor, &machine->network,
			 *ip ? ip : NULL, &hooks, e);
	if (r == -EINVAL) {
		log_err(LOG_ERROR, "command line", e);
		r = 0;
	}
	return r;
}

void network_up_stop(struct network_up *n)
{
	uplink_stop(n->uplink);
}

void network_up_describe(const struct network_up *n, struct json_object *info)
{
	struct json_object *o = n->uplink ? uplink_json(n->uplink) : NULL;

	if (o && json_object_object_add(info, "uplink", o) < 0)
		json_object_put(o);
}
