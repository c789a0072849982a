// SPDX-License-Identifier: Apache-2.0
/*
 * nft_main.c - podinit-nft: one request, one transaction, one exit code.
 *
 * Owns: the process. Started by: pod's network with the request on descriptor 3, a
 * deadline and no other descriptor. Enters a pod's namespace when told to, then keeps
 * CAP_NET_ADMIN alone, and only then reads the request. See docs/podinit-nft.8.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/nft_job.h"

#define EXIT_FAILED  1 /* the kernel said no */
#define EXIT_REFUSED 2 /* the request or the command line is wrong */

static const char usage[] =
	"usage: podinit-nft [--netns PATH] 3<REQUEST\n"
	"       podinit-nft --help | --version\n"
	"Carries out one request for podinit's nftables table; see podinit-nft(8).\n";

static int say(const struct err *e, int code)
{
	(void)fprintf(stderr, "podinit-nft: %s\n", e->text);
	return code;
}

static int enter_netns(const char *path, struct err *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set(e, STAGE_NAMESPACE, errno, "open %s", path);
	if (setns(fd, CLONE_NEWNET) < 0)
		return err_set(e, STAGE_NAMESPACE, errno, "enter network namespace %s",
			       path);
	return 0;
}

/* What is left can set up networks and nothing else. A caller without CAP_NET_ADMIN
 * learns so from the kernel's answer. */
static int give_up_rights(struct err *e)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t keep = 1u << CAP_NET_ADMIN;

	if (syscall(SYS_capget, &header, sets) < 0)
		return err_set(e, STAGE_CAPS, errno, "capget");
	sets[0].effective = sets[0].permitted = sets[0].permitted & keep;
	sets[1].effective = sets[1].permitted = 0;
	sets[0].inheritable = sets[1].inheritable = 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, sets) < 0)
		return err_set(e, STAGE_CAPS, errno, "give up capabilities");
	return 0;
}

/* Where the writer's offset stands does not matter, when it is a file. */
static int read_request(struct buf *b, struct err *e)
{
	bool seekable = lseek(NFT_REQUEST_FD, 0, SEEK_SET) == 0;
	ssize_t len = 1;

	if (!seekable && errno != ESPIPE)
		return err_set(e, STAGE_CONFIG, errno, "descriptor %d", NFT_REQUEST_FD);
	while (len > 0) {
		char piece[65536];

		len = read(NFT_REQUEST_FD, piece, sizeof(piece));
		if (len < 0 && errno != EINTR)
			return err_set(e, STAGE_CONFIG, errno, "read the request");
		if (len < 0)
			len = 1;
		else if (buf_append(b, piece, (size_t)len) < 0)
			return err_setx(e, STAGE_CONFIG, EINVAL,
					"a request above %u bytes", NFT_REQUEST_BYTES);
	}
	return 0;
}

static bool only_removes(const struct nft_job *job)
{
	for (size_t i = 0; i < job->n_ops; i++)
		if (!job->ops[i].remove)
			return false;
	return job->start == NFT_AS_IS;
}

static int carry_out(const struct nft_job *job, struct err *e)
{
	const struct nft_op *op;
	struct nft_batch b;
	int r;

	nft_batch_begin(&b);
	if (job->is_filter)
		nft_put_filter(&b, job);
	else if (job->start == NFT_RESET)
		nft_put_base(&b, &job->base);
	else if (job->start == NFT_DROP)
		nft_put_table_away(&b);
	nft_put_ops(&b, job);
	nft_batch_end(&b);
	r = nft_send(&b, &op, e);
	/* Without the table no entry is there either. */
	if (r == -ENOENT && op && only_removes(job))
		r = 0;
	nft_batch_free(&b);
	return r;
}

static int run(const char *netns)
{
	struct nft_job job = { 0 };
	struct err e = { 0 };
	struct buf request;
	int code = 0;

	if ((netns && enter_netns(netns, &e) < 0) || give_up_rights(&e) < 0)
		return say(&e, EXIT_FAILED);
	buf_init(&request, NFT_REQUEST_BYTES);
	if (read_request(&request, &e) < 0 ||
	    nft_job_parse(&job, request.len ? buf_head(&request) : "", request.len, &e) <
		    0) {
		code = say(&e, EXIT_REFUSED);
	} else if (job.is_filter && !netns) {
		(void)err_setx(&e, STAGE_CONFIG, EINVAL, "a filter needs --netns");
		code = say(&e, EXIT_REFUSED);
	} else if (carry_out(&job, &e) < 0) {
		code = say(&e, EXIT_FAILED);
	} else if (nft_forget_flows(&job, &e) < 0) {
		(void)say(&e, 0);
	}
	nft_job_free(&job);
	buf_free(&request);
	return code;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("podinit-nft %s\n", PODINIT_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return fputs(usage, stdout) < 0;
	if (argc == 1)
		return run(NULL);
	if (argc == 3 && strcmp(argv[1], "--netns") == 0)
		return run(argv[2]);
	(void)fputs(usage, stderr);
	return EXIT_REFUSED;
}
