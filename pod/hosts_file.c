// SPDX-License-Identifier: Apache-2.0
/*
 * hosts_file.c - the text of a pod's /etc/hosts.
 *
 * Owns: nothing; text out of records. Called by: names.c, in its children. The head, the
 * pod's own entries and the aliases are as the kubelet writes them (kubelet_pods.go,
 * managedHostsFileContent and nodeHostsFileContent); between them stand the other pods of
 * this machine, which has no cluster DNS to ask. Never does a system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/machine.h"
#include "pod/names_parts.h"

#define HEAD      "# Kubernetes-managed hosts file.\n"
#define HEAD_HOST "# Kubernetes-managed hosts file (host network).\n"
#define ALIASES   "\n# Entries added by HostAliases.\n"

static const char own_lines[] = "127.0.0.1\tlocalhost\n"
				"::1\tlocalhost ip6-localhost ip6-loopback\n"
				"fe00::0\tip6-localnet\n"
				"fe00::0\tip6-mcastprefix\n"
				"fe00::1\tip6-allnodes\n"
				"fe00::2\tip6-allrouters\n";

static const char *const own_names[] = { "localhost",       "ip6-localhost",
					 "ip6-loopback",    "ip6-localnet",
					 "ip6-mcastprefix", "ip6-allnodes",
					 "ip6-allrouters" };

static int put(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

/* A pod of such a name must not take over its neighbours' loopback: resolvers join the
 * lines of one name. */
static bool is_own_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_names); i++)
		if (!strcmp(name, own_names[i]))
			return true;
	return false;
}

bool names_pod_listed(const struct pod *pod)
{
	return pod->spec && !pod->spec->host_network && pod->net.made &&
	       pod->state != POD_ENDED;
}

/* The name in the pod's own line and, for its neighbours, beside the pod's name. */
static const char *short_name(const struct pod *pod)
{
	const struct pod_spec *spec = pod->spec;

	return spec->hostname_override ? spec->hostname_override : spec->hostname;
}

/* Calls put_line() for each address of the pod. */
static int each_address(const struct pod *pod,
			int (*put_line)(struct buf *b, const char *ip, const void *arg),
			struct buf *b, const void *arg)
{
	const struct inet *addrs[] = { &pod->net.ip4, &pod->net.ip6 };
	char ip[INET_TEXT_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(addrs); i++)
		if (addrs[i]->family)
			r = put_line(b, inet_format(addrs[i], ip), arg);
	return r;
}

/* ---- its own entries ---- */

static int put_own_line(struct buf *b, const char *ip, const void *arg)
{
	const struct pod *pod = arg;
	char fqdn[512];

	if (names_fqdn(pod, fqdn, sizeof(fqdn)))
		return buf_printf(b, "%s\t%s\t%s\n", ip, fqdn, short_name(pod));
	return buf_printf(b, "%s\t%s\n", ip, short_name(pod));
}

static int put_head(const struct pod *pod, const char *machine_hosts, struct buf *b)
{
	size_t len = machine_hosts ? strlen(machine_hosts) : 0;
	int r;

	if (!pod->spec->host_network) {
		r = put(b, HEAD);
		if (r == 0)
			r = put(b, own_lines);
		return r < 0 ? r : each_address(pod, put_own_line, b, pod);
	}
	r = put(b, HEAD_HOST);
	if (r == 0 && len)
		r = put(b, machine_hosts);
	if (r == 0 && len && machine_hosts[len - 1] != '\n')
		r = put(b, "\n");
	return r;
}

static int put_aliases(const struct pod *pod, struct buf *b)
{
	int r = pod->spec->n_aliases ? put(b, ALIASES) : 0;

	for (size_t i = 0; r == 0 && i < pod->spec->n_aliases; i++) {
		const struct spec_host_alias *a = &pod->spec->aliases[i];

		r = put(b, a->ip);
		for (size_t k = 0; r == 0 && k < a->n_names; k++)
			r = buf_printf(b, "\t%s", a->names[k]);
		if (r == 0)
			r = put(b, "\n");
	}
	return r;
}

/* ---- the other pods ---- */

/* A line about pod for readers in namespace; own: the reader's own name, which nobody
 * else may bear in its file. */
struct other {
	const struct pod *pod;
	const char *namespace, *own;
};

static bool name_usable(const struct other *o, const char *name)
{
	return !is_own_name(name) && (!o->own || strcmp(name, o->own) != 0);
}

static int put_other_line(struct buf *b, const char *ip, const void *arg)
{
	const struct other *o = arg;
	const struct pod *pod = o->pod;
	const char *host = short_name(pod);
	bool near = !strcmp(pod->namespace, o->namespace);
	char fqdn[512];
	int r = buf_printf(b, "%s\t%s.%s", ip, pod->name, pod->namespace);

	if (r == 0 && near && name_usable(o, pod->name))
		r = buf_printf(b, "\t%s", pod->name);
	if (r == 0 && near && strcmp(host, pod->name) != 0 && name_usable(o, host))
		r = buf_printf(b, " %s", host);
	if (r == 0 && names_fqdn(pod, fqdn, sizeof(fqdn)))
		r = buf_printf(b, "\t%s", fqdn);
	return r < 0 ? r : put(b, "\n");
}

static int put_others(const struct pod *reader, struct buf *b)
{
	struct other o = {
		.namespace = reader->namespace,
		.own = reader->spec->host_network ? NULL : short_name(reader),
	};
	int r = 0;

	list_for_each(node, &reader->pods->list) {
		o.pod = list_entry(node, struct pod, node);
		if (r == 0 && o.pod != reader && names_pod_listed(o.pod))
			r = each_address(o.pod, put_other_line, b, &o);
	}
	return r;
}

int names_hosts_text(const struct pod *pod, const char *machine_hosts, struct buf *ret)
{
	int r = put_head(pod, machine_hosts, ret);

	if (r == 0)
		r = put_others(pod, ret);
	return r < 0 ? r : put_aliases(pod, ret);
}

/* ---- the same for many at once ---- */

int hosts_view_make(const struct pods *pods, const char *namespace,
		    struct hosts_view *ret)
{
	struct hosts_view view = { .namespace = namespace };
	struct other o = { .namespace = namespace };
	int r = 0;

	buf_init(&view.text, NAMES_HOSTS_BYTES);
	view.at = calloc(pods->count + 1, sizeof(*view.at));
	if (!view.at)
		return -ENOMEM;
	list_for_each(node, &pods->list) {
		o.pod = list_entry(node, struct pod, node);
		if (view.n >= pods->count || r < 0)
			break;
		view.at[view.n++] = view.text.len;
		if (names_pod_listed(o.pod))
			r = each_address(o.pod, put_other_line, &view.text, &o);
	}
	view.at[view.n] = view.text.len;
	if (r < 0)
		hosts_view_free(&view);
	else
		*ret = view;
	return r;
}

void hosts_view_free(struct hosts_view *view)
{
	if (view->at)
		buf_free(&view->text);
	free(view->at);
	view->at = NULL;
}

/* Whether a neighbour has a name that this pod has as its own. */
static bool name_is_shared(const struct pod *reader)
{
	const char *own = short_name(reader);

	list_for_each(node, &reader->pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (pod != reader && names_pod_listed(pod) &&
		    !strcmp(pod->namespace, reader->namespace) &&
		    (!strcmp(pod->name, own) || !strcmp(short_name(pod), own)))
			return true;
	}
	return false;
}

int hosts_text_from_view(const struct pod *pod, size_t index,
			 const struct hosts_view *view, const char *machine_hosts,
			 struct buf *ret)
{
	const char *text = buf_head(&view->text);
	size_t skip, after;
	int r;

	if (index >= view->n || (!pod->spec->host_network && name_is_shared(pod)))
		return names_hosts_text(pod, machine_hosts, ret);
	skip = view->at[index];
	after = view->at[index + 1];
	r = put_head(pod, machine_hosts, ret);
	if (r == 0 && skip)
		r = buf_append(ret, text, skip);
	if (r == 0 && view->text.len > after)
		r = buf_append(ret, text + after, view->text.len - after);
	return r < 0 ? r : put_aliases(pod, ret);
}
