// SPDX-License-Identifier: Apache-2.0
/*
 * nft_parse.c - the reader of requests: text to struct nft_job, strictly.
 *
 * Owns: the job's memory. Called by: nft_main.c, the fuzzer. One blank between words, one
 * newline at the end of each line; numbers without sign and leading zeros; addresses as
 * base/inet.h reads them. Whatever else is refused with its line's number: who wrote it
 * is podinit, and half of a request is worth nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "netlink/nft_job.h"

#define WORDS_MAX 6

const uint8_t nft_ip_protocols[NFT_PROTOCOL_MAX] = { IPPROTO_TCP, IPPROTO_UDP,
						     IPPROTO_SCTP };
const char *const nft_protocol_texts[NFT_PROTOCOL_MAX] = { "tcp", "udp", "sctp" };

struct parse {
	struct nft_job *job;
	size_t line;
	struct err *e;
	char *words[WORDS_MAX];
	size_t n_words;
};

struct verb {
	const char *name;
	size_t n_words;
	bool of_filter; /* stands after "filter" only */
	int (*read)(struct parse *p);
};

static int refuse(struct parse *p, const char *what, const char *word)
{
	return err_setx(p->e, STAGE_CONFIG, EINVAL, "line %zu: %s%s%s%s", p->line, what,
			word ? " \"" : "", word ? word : "", word ? "\"" : "");
}

static int read_port_number(struct parse *p, const char *word, uint16_t *ret)
{
	unsigned int n = 0;
	size_t len = strlen(word);

	if (len < 1 || len > 5 || word[0] == '0' || strspn(word, "0123456789") != len)
		return refuse(p, "not a port", word);
	for (; *word; word++)
		n = n * 10 + (unsigned int)(*word - '0');
	if (n > UINT16_MAX)
		return refuse(p, "port above 65535", NULL);
	*ret = (uint16_t)n;
	return 0;
}

static int read_protocol(struct parse *p, const char *word, enum nft_protocol *ret)
{
	for (size_t i = 0; i < NFT_PROTOCOL_MAX; i++)
		if (strcmp(word, nft_protocol_texts[i]) == 0) {
			*ret = (enum nft_protocol)i;
			return 0;
		}
	return refuse(p, "unknown protocol", word);
}

static int read_network(struct parse *p, const char *word, struct inet *ret)
{
	struct inet net;

	if (inet_parse_cidr(word, ret) < 0)
		return refuse(p, "not a network", word);
	net = inet_masked(ret);
	if (!inet_same(&net, ret))
		return refuse(p, "bits behind the prefix of", word);
	return 0;
}

/* 0.0.0.0 and :: are every address of the pod's family. */
static bool is_any(const struct inet *a)
{
	static const uint8_t zero[16];

	return memcmp(a->bytes, zero, inet_length(a)) == 0;
}

static int read_change(struct parse *p)
{
	struct nft_op *op = &p->job->ops[p->job->n_ops];
	struct nft_port *port = &op->port;
	char **words = p->words;
	int r;

	if (p->job->start == NFT_DROP)
		return refuse(p, "a port after drop", NULL);
	*op = (struct nft_op){ .remove = words[0][0] == 'r' };
	r = read_protocol(p, words[1], &port->protocol);
	if (r == 0 && strcmp(words[2], "*") != 0 &&
	    inet_parse_address(words[2], &port->host) < 0)
		r = refuse(p, "not an address", words[2]);
	if (r == 0)
		r = read_port_number(p, words[3], &port->host_port);
	if (r == 0 &&
	    (inet_parse_address(words[4], &port->pod) < 0 || is_any(&port->pod)))
		r = refuse(p, "not a pod's address", words[4]);
	if (r == 0)
		r = read_port_number(p, words[5], &port->pod_port);
	if (r < 0)
		return r;
	if (port->host.family && port->host.family != port->pod.family)
		return refuse(p, "host and pod of different families", NULL);
	if (port->host.family && is_any(&port->host))
		port->host = (struct inet){ 0 };
	p->job->n_ops++;
	return 0;
}

static bool name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len < 1 || len >= sizeof(((struct nft_base *)NULL)->bridge))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] == 0x7f || name[i] == '/')
			return false;
	return true;
}

static int read_range(struct parse *p, const char *word, int family, struct inet *ret)
{
	int r;

	if (strcmp(word, "-") == 0)
		return 0;
	r = read_network(p, word, ret);
	if (r == 0 && ret->family != family)
		r = refuse(p, "range of the wrong family", word);
	return r;
}

static int read_reset(struct parse *p)
{
	struct nft_base base = { 0 };
	int r;

	if (!name_is_good(p->words[1]))
		return refuse(p, "not an interface's name", p->words[1]);
	memcpy(base.bridge, p->words[1], strlen(p->words[1]));
	r = read_range(p, p->words[2], AF_INET, &base.range4);
	if (r == 0)
		r = read_range(p, p->words[3], AF_INET6, &base.range6);
	if (r < 0)
		return r;
	p->job->base = base;
	p->job->start = NFT_RESET;
	p->job->n_ops = 0;
	return 0;
}

static int read_drop(struct parse *p)
{
	p->job->start = NFT_DROP;
	p->job->n_ops = 0;
	return 0;
}

static int read_filter(struct parse *p)
{
	if (p->line != 1)
		return refuse(p, "filter has to be alone", NULL);
	p->job->is_filter = true;
	return 0;
}

static int read_internal(struct parse *p)
{
	int r = read_network(p, p->words[1], &p->job->internal[p->job->n_internal]);

	p->job->n_internal += r == 0;
	return r;
}

static int read_external(struct parse *p)
{
	int r = read_network(p, p->words[1], &p->job->external[p->job->n_external]);

	p->job->n_external += r == 0;
	return r;
}

static int read_open_port(struct parse *p)
{
	struct nft_port *port = &p->job->ports[p->job->n_ports];
	int r = read_protocol(p, p->words[1], &port->protocol);

	if (r == 0)
		r = read_port_number(p, p->words[2], &port->pod_port);
	p->job->n_ports += r == 0;
	return r;
}

static const struct verb verbs[] = {
	{ "add", 6, false, read_change },       { "remove", 6, false, read_change },
	{ "reset", 4, false, read_reset },      { "drop", 1, false, read_drop },
	{ "filter", 1, false, read_filter },    { "internal", 2, true, read_internal },
	{ "external", 2, true, read_external }, { "port", 3, true, read_open_port },
};

static int read_line(struct parse *p, char *line)
{
	char *word;

	p->n_words = 0;
	while ((word = strsep(&line, " "))) {
		if (!*word)
			return refuse(p, "an empty word", NULL);
		if (p->n_words == WORDS_MAX)
			return refuse(p, "too many words", NULL);
		p->words[p->n_words++] = word;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		const struct verb *v = &verbs[i];

		if (strcmp(p->words[0], v->name) != 0)
			continue;
		if (p->n_words != v->n_words)
			return refuse(p, "wrong number of words for", v->name);
		if (v->of_filter && !p->job->is_filter)
			return refuse(p, "no filter before", v->name);
		if (!v->of_filter && p->job->is_filter)
			return refuse(p, "filter has to be alone", NULL);
		return v->read(p);
	}
	return refuse(p, "unknown request", p->words[0]);
}

static bool make_room(struct nft_job *job, size_t lines, bool filter)
{
	if (!filter) {
		job->ops = calloc(lines, sizeof(*job->ops));
		return job->ops;
	}
	job->internal = calloc(lines, sizeof(*job->internal));
	job->external = calloc(lines, sizeof(*job->external));
	job->ports = calloc(lines, sizeof(*job->ports));
	return job->internal && job->external && job->ports;
}

int nft_job_parse(struct nft_job *ret, const char *text, size_t len, struct err *e)
{
	struct parse p = { .job = ret, .e = e };
	const char *end = text + len, *newline;
	size_t lines = 0;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (len == 0 || len > NFT_REQUEST_BYTES)
		return err_setx(e, STAGE_CONFIG, EINVAL, "a request of %zu bytes", len);
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	if (!make_room(ret, lines + 1, *text == 'f'))
		return err_set(e, STAGE_CONFIG, ENOMEM, "read the request");
	for (; text < end && r == 0; text = newline + 1) {
		char line[NFT_LINE_BYTES + 1];
		size_t n;

		p.line++;
		newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline)
			return refuse(&p, "cut: no newline", NULL);
		n = (size_t)(newline - text);
		if (n > NFT_LINE_BYTES)
			return refuse(&p, "too long", NULL);
		if (memchr(text, '\0', n))
			return refuse(&p, "a NUL byte", NULL);
		memcpy(line, text, n);
		line[n] = '\0';
		r = read_line(&p, line);
	}
	return r;
}

void nft_job_free(struct nft_job *job)
{
	free(job->ops);
	free(job->internal);
	free(job->external);
	free(job->ports);
	memset(job, 0, sizeof(*job));
}
