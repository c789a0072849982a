// SPDX-License-Identifier: Apache-2.0
/*
 * resolv_file.c - the text of a pod's /etc/resolv.conf.
 *
 * Owns: nothing; text out of records. Called by: names.c, in its children. As the kubelet
 * makes it (pkg/kubelet/network/dns/dns.go: parseResolvConf, appendDNSConfig,
 * formDNSConfigFitsLimits), without a cluster's DNS: ClusterFirst is then the machine's.
 * Never does a system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "config/machine.h"
#include "pod/names_parts.h"

#define SERVERS_MAX       3    /* MAXNS of glibc's resolv.h; musl has the same */
#define SEARCHES_MAX      32   /* MaxDNSSearchPaths of the kubelet */
#define SEARCH_LIST_BYTES 2048 /* MaxDNSSearchListChars of the kubelet */
/* Longer ones make older resolvers abort (kubelet, formDNSSearchFitsLimits). */
#define SEARCH_BYTES      253

#define WORDS_MAX         128 /* of one kind, before the limits are applied */
#define BLANK             " \t\r"

struct words {
	const char *at[WORDS_MAX];
	size_t n;
};

struct resolv {
	struct arena arena; /* texts that are not somebody else's */
	struct words servers, searches, options;
	bool left_out;
	bool failed; /* memory */
};

static void add(struct resolv *f, struct words *w, const char *text)
{
	if (!text) {
		f->failed = true;
		return;
	}
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->at[i], text))
			return;
	if (w->n == WORDS_MAX)
		f->left_out = true;
	else
		w->at[w->n++] = text;
}

/* An option of the same name is replaced where it stands. */
static void add_option(struct resolv *f, const char *text)
{
	size_t len = text ? strcspn(text, ":") : 0;
	struct words *w = &f->options;

	for (size_t i = 0; text && i < w->n; i++)
		if (strcspn(w->at[i], ":") == len && !strncmp(w->at[i], text, len)) {
			w->at[i] = text;
			return;
		}
	add(f, w, text);
}

/* "example.org." is "example.org"; the root alone stays ".". */
static void add_search(struct resolv *f, const char *text, size_t len)
{
	if (len > 1 && text[len - 1] == '.')
		len--;
	add(f, &f->searches, arena_strndup(&f->arena, text, len));
}

static void add_searches(struct resolv *f, const char *text)
{
	for (;;) {
		size_t len;

		text += strspn(text, BLANK);
		len = strcspn(text, BLANK);
		if (!len)
			return;
		add_search(f, text, len);
		text += len;
	}
}

/* ---- the machine's file ---- */

struct keep {
	bool servers, searches, options;
};

/* line is ours to cut. */
static void take_line(struct resolv *f, char *line, struct keep keep)
{
	char *rest = NULL, *key = strtok_r(line, BLANK, &rest), *word;

	if (!key || key[0] == '#' || key[0] == ';')
		return;
	if (keep.servers && !strcmp(key, "nameserver")) {
		word = strtok_r(NULL, BLANK, &rest);
		if (word)
			add(f, &f->servers, word);
	} else if (keep.searches && !strcmp(key, "search")) {
		f->searches.n = 0; /* the last such line counts */
		add_searches(f, rest);
	} else if (keep.options && !strcmp(key, "options")) {
		while ((word = strtok_r(NULL, BLANK, &rest)))
			add_option(f, word);
	}
}

static void take_file(struct resolv *f, const char *text, struct keep keep)
{
	char *copy = text ? arena_strdup(&f->arena, text) : NULL, *rest = copy, *line;

	if (text && !copy)
		f->failed = true;
	while (copy && (line = strsep(&rest, "\n")))
		take_line(f, line, keep);
}

/* Servers, searches and options each from the first who has some: machine.json, the
 * uplink, the machine's file. */
static void take_machine(struct resolv *f, const struct pods *pods, const char *file)
{
	const struct machine_network *net = &pods->machine->network;
	const struct uplink_info *uplink = &pods->uplink;
	struct keep keep = {
		.servers = !net->dns_servers && !uplink->n_servers,
		.searches = !net->dns_searches && !uplink->search[0],
		.options = !net->dns_options,
	};
	char ip[INET_TEXT_BYTES];

	for (size_t i = 0; net->dns_servers && net->dns_servers[i]; i++)
		add(f, &f->servers, net->dns_servers[i]);
	for (size_t i = 0; !net->dns_servers && i < uplink->n_servers; i++)
		add(f, &f->servers,
		    arena_strdup(&f->arena, inet_format(&uplink->servers[i], ip)));
	for (size_t i = 0; net->dns_searches && net->dns_searches[i]; i++)
		add_search(f, net->dns_searches[i], strlen(net->dns_searches[i]));
	if (!net->dns_searches)
		add_searches(f, uplink->search);
	for (size_t i = 0; net->dns_options && net->dns_options[i]; i++)
		add_option(f, net->dns_options[i]);
	take_file(f, file, keep);
}

static void take_pod(struct resolv *f, const struct spec_dns *dns)
{
	for (size_t i = 0; i < dns->n_servers; i++)
		add(f, &f->servers, dns->servers[i]);
	for (size_t i = 0; i < dns->n_searches; i++)
		add(f, &f->searches, dns->searches[i]);
	for (size_t i = 0; i < dns->n_options; i++) {
		const struct spec_dns_option *o = &dns->options[i];
		bool has_value = o->value && o->value[0];

		add_option(f,
			   arena_printf(&f->arena, "%s%s%s", o->name,
					has_value ? ":" : "", has_value ? o->value : ""));
	}
}

static void apply_limits(struct resolv *f)
{
	struct words *w = &f->searches;
	size_t n = 0, len = 0, kept = 0;

	if (f->servers.n > SERVERS_MAX) {
		f->servers.n = SERVERS_MAX;
		f->left_out = true;
	}
	for (size_t i = 0; i < w->n; i++)
		if (strlen(w->at[i]) <= SEARCH_BYTES)
			w->at[n++] = w->at[i];
	for (; kept < MIN(n, (size_t)SEARCHES_MAX); kept++) {
		len += strlen(w->at[kept]) + (kept > 0);
		if (len > SEARCH_LIST_BYTES)
			break;
	}
	f->left_out = f->left_out || kept < w->n;
	w->n = kept;
}

/* "key a b c", nothing without words. */
static int put_line(struct buf *b, const char *key, const struct words *w)
{
	int r = w->n ? buf_printf(b, "%s", key) : 0;

	for (size_t i = 0; r == 0 && i < w->n; i++)
		r = buf_printf(b, " %s", w->at[i]);
	return r == 0 && w->n ? buf_append(b, "\n", 1) : r;
}

int names_resolv_text(const struct pod *pod, const char *machine_resolv, struct buf *ret)
{
	struct resolv *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return -ENOMEM;
	arena_init(&f->arena, 2 * NAMES_MACHINE_BYTES + NAMES_RESOLV_BYTES);
	if (pod->spec->dns.policy != DNS_NONE)
		take_machine(f, pod->pods, machine_resolv);
	take_pod(f, &pod->spec->dns);
	apply_limits(f);
	if (f->failed)
		r = -ENOMEM;
	if (r == 0)
		r = put_line(ret, "search", &f->searches);
	for (size_t i = 0; r == 0 && i < f->servers.n; i++)
		r = buf_printf(ret, "nameserver %s\n", f->servers.at[i]);
	if (r == 0)
		r = put_line(ret, "options", &f->options);
	if (r == 0 && f->left_out)
		r = 1;
	arena_free(&f->arena);
	free(f);
	return r;
}
