// SPDX-License-Identifier: Apache-2.0
/*
 * nft_request.c - fuzzes the reader of podinit-nft's requests.
 *
 * Checked beyond "no crash": what was taken holds together, and written anew by the
 * writer it is read as the same; what was refused says in which line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/nft_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_port(const struct nft_port *port)
{
	must(port->protocol < NFT_PROTOCOL_MAX);
	must(port->host_port && port->pod_port);
	must(port->pod.family == AF_INET || port->pod.family == AF_INET6);
	must(!port->host.family || port->host.family == port->pod.family);
}

static void check_network(const struct inet *net)
{
	struct inet masked = inet_masked(net);

	must(net->prefix <= inet_length(net) * 8);
	must(inet_same(net, &masked));
}

static void write_again(const struct nft_job *job, struct buf *b)
{
	struct nft_filter f = {
		.n_internal = job->n_internal,
		.n_external = job->n_external,
		.n_ports = job->n_ports,
		.internal = job->internal,
		.external = job->external,
		.ports = job->ports,
	};

	if (job->is_filter)
		must(nft_ask_filter(b, &f) == 0);
	else if (job->start == NFT_RESET)
		must(nft_ask_reset(b, &job->base) == 0);
	else if (job->start == NFT_DROP)
		must(nft_ask_drop(b) == 0);
	for (size_t i = 0; i < job->n_ops; i++) {
		const struct nft_op *op = &job->ops[i];

		check_port(&op->port);
		must((op->remove ? nft_ask_remove : nft_ask_add)(b, &op->port) == 0);
	}
}

static void check_job(const struct nft_job *job)
{
	struct nft_job again;
	struct err e = { 0 };
	struct buf b, second;

	must(!job->is_filter || (!job->n_ops && job->start == NFT_AS_IS));
	must(job->start != NFT_DROP || !job->n_ops);
	for (size_t i = 0; i < job->n_internal; i++)
		check_network(&job->internal[i]);
	for (size_t i = 0; i < job->n_external; i++)
		check_network(&job->external[i]);
	buf_init(&b, NFT_REQUEST_BYTES);
	buf_init(&second, NFT_REQUEST_BYTES);
	write_again(job, &b);
	must(nft_job_parse(&again, buf_head(&b), b.len, &e) == 0);
	write_again(&again, &second);
	must(b.len == second.len && memcmp(buf_head(&b), buf_head(&second), b.len) == 0);
	nft_job_free(&again);
	buf_free(&b);
	buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nft_job job;
	struct err e = { 0 };
	int r = nft_job_parse(&job, (const char *)data, size, &e);

	must(r == 0 || r == -EINVAL);
	if (r == 0)
		check_job(&job);
	else
		must(e.text[0]);
	nft_job_free(&job);
	return 0;
}
