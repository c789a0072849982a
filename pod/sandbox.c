// SPDX-License-Identifier: Apache-2.0
/*
 * sandbox.c - the pod's uts, ipc and net namespaces, held by descriptors.
 *
 * A helper child makes them (unshare of a net namespace may wait for the kernel's lock),
 * sets the hostname, makes the pod's interfaces, and passes the descriptors back. No
 * pause process: a namespace lives as long as somebody holds a descriptor of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "netlink/nl.h"
#include "pod/names.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "pod/sysctls.h"
#include "pod/volumes.h"

#define SANDBOX_TIMEOUT_NS (10 * NSEC_PER_SEC) /* milliseconds when all is well */
#define SANDBOX_SOCK       3                   /* child.keep_fd */

void sandbox_init(struct sandbox *s)
{
	*s = (struct sandbox){ .uts_fd = -1, .ipc_fd = -1, .net_fd = -1, .sock = -1 };
	child_init(&s->child);
}

void sandbox_release(struct sandbox *s)
{
	fd_close(&s->uts_fd);
	fd_close(&s->ipc_fd);
	fd_close(&s->net_fd);
	fd_close(&s->sock);
	s->made = false;
	loop_timer_cancel(&s->retry);
}

/* ---- in the child ---- */

static int fail(const char *what, int code)
{
	(void)dprintf(STDERR_FILENO, "%s: %s", what, strerror(code));
	return 1;
}

/* In the new namespaces: name and interfaces. */
static int furnish(const struct pod *pod, struct nl *machine)
{
	char hostname[65]; /* __NEW_UTS_LEN and NUL */
	struct err e = { 0 };
	int r = names_hostname(pod, hostname, sizeof(hostname));

	if (r < 0) {
		char fqdn[512] = "";

		(void)names_fqdn(pod, fqdn, sizeof(fqdn));
		(void)dprintf(STDERR_FILENO,
			      "the FQDN %s is longer than a hostname's 64 bytes", fqdn);
		return 1;
	}
	if (sethostname(hostname, strlen(hostname)) < 0)
		return fail("sethostname", errno);
	if (network_make(pod, machine, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	return 0;
}

static int sandbox_run(void *arg)
{
	const struct pod *pod = arg;
	bool host = pod->spec->host_network;
	struct nl *machine = NULL;
	int fds[3], r;
	size_t n = 0;
	struct err e = { 0 };

	if (volumes_make(pod, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	r = names_write(pod);
	if (r < 0)
		return fail("write names", -r);
	if (!host && nl_open(&machine, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	/* A pod on the machine's network has the machine's name too, as in Kubernetes. */
	if (unshare((pod->spec->host_ipc ? 0 : CLONE_NEWIPC) |
		    (host ? 0 : CLONE_NEWUTS | CLONE_NEWNET)) < 0)
		return fail("unshare", errno);
	if (!pod->spec->host_ipc)
		fds[n++] = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
	if (!host && furnish(pod, machine))
		return 1;
	if (sysctls_apply(pod->spec, &e) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", e.text);
		return 1;
	}
	if (!host) {
		fds[n++] = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
		fds[n++] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] < 0)
			return fail("open namespace", errno);
	r = n ? fd_send(SANDBOX_SOCK, fds, n, 's') : 0;
	return r < 0 ? fail("pass namespaces", -r) : 0;
}

/* ---- in PID 1 ---- */

static void tell(struct pod *pod, const char *reason, const char *trouble)
{
	pod->reason = reason;
	free(pod->message);
	pod->message = trouble ? strdup(trouble) : NULL;
	pod_update_status(pod);
}

void sandbox_tell(struct pod *pod, const char *trouble)
{
	tell(pod, trouble ? "FailedCreatePodSandBox" : NULL, trouble);
}

/* What its volumes need is not there: at once when it comes, see volumes_changed(). */
static bool volumes_missing(struct pod *pod)
{
	struct sandbox *s = &pod->sandbox;
	struct err e = { 0 };
	int64_t delay;

	if (volumes_check(pod, &e) == 0)
		return false;
	delay = backoff_next(&s->backoff, &pod->pods->backoff, 0);
	log_warn("pod %s/%s: %s", pod->namespace, pod->name, e.text);
	(void)loop_timer_set(pod->pods->loop, &s->retry,
			     time_add(loop_now(pod->pods->loop), delay));
	tell(pod, "FailedMount", e.text);
	return true;
}

static void sandbox_failed(struct pod *pod, const char *what)
{
	struct sandbox *s = &pod->sandbox;
	int64_t delay = backoff_next(&s->backoff, &pod->pods->backoff, 0);

	log_error("pod %s/%s: sandbox: %s; next try in %lld ms", pod->namespace,
		  pod->name, what, (long long)(delay / NSEC_PER_MSEC));
	(void)loop_timer_set(pod->pods->loop, &s->retry,
			     time_add(loop_now(pod->pods->loop), delay));
	sandbox_tell(pod, what);
}

static void sandbox_take(struct pod *pod)
{
	struct sandbox *s = &pod->sandbox;
	int fds[FD_PASS_MAX];
	bool own_ipc = !pod->spec->host_ipc, own_net = !pod->spec->host_network;
	size_t n = 0, want = own_ipc + (own_net ? 2 : 0), at = 0;
	struct err e = { 0 };
	char tag;
	int r = want ? fd_receive(s->sock, fds, &n, &tag) : 0;

	fd_close(&s->sock);
	if (r < 0 || n != want) {
		for (size_t i = 0; r == 0 && i < n; i++)
			fd_close(&fds[i]);
		sandbox_failed(pod, "namespaces were not passed");
		return;
	}
	if (own_ipc)
		s->ipc_fd = fds[at++];
	if (own_net) {
		s->uts_fd = fds[at++];
		s->net_fd = fds[at++];
	}
	s->made = true;
	if (pod->spec->share_pid && pause_start(pod, &e) < 0) {
		sandbox_release(s);
		sandbox_failed(pod, e.text);
		return;
	}
	network_made(pod);
	volumes_ready(pod);
	pod_advance(pod);
}

static void sandbox_done(struct child *child)
{
	struct sandbox *s = container_of(child, struct sandbox, child);
	struct pod *pod = container_of(s, struct pod, sandbox);

	if (pod->state != POD_CREATED) { /* stopped meanwhile */
		fd_close(&s->sock);
		pod_advance(pod);
	} else if (child_ok(child)) {
		sandbox_take(pod);
	} else {
		fd_close(&s->sock);
		sandbox_failed(pod, child_failure(child));
	}
}

static void sandbox_retry(struct loop_timer *timer)
{
	struct sandbox *s = container_of(timer, struct sandbox, retry);

	sandbox_start(container_of(s, struct pod, sandbox));
}

void sandbox_start(struct pod *pod)
{
	struct sandbox *s = &pod->sandbox;
	struct err e = { 0 };
	int socks[2], r;

	s->retry.fn = sandbox_retry;
	if (pod->state != POD_CREATED || child_running(&s->child) || s->made)
		return;
	if (sysctls_check(pod->pods->machine, pod->spec, &e) < 0) {
		pod_reject(pod, "SysctlForbidden", e.text);
		return;
	}
	/* The network starts those that wait for it, but nobody who has a retry to come.
	 */
	loop_timer_cancel(&s->retry);
	if (volumes_missing(pod) || !network_ready(pod))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks) <
	    0) {
		sandbox_failed(pod, strerror(errno));
		return;
	}
	/* The child is forked with all that is known by now. */
	memset(pod->volumes_dirty, 0, sizeof(pod->volumes_dirty));
	s->sock = socks[0];
	s->child.name = "sandbox";
	s->child.argv = NULL;
	s->child.run = sandbox_run;
	s->child.arg = pod;
	s->child.timeout_ns = SANDBOX_TIMEOUT_NS;
	s->child.keep_fd = socks[1];
	s->child.done = sandbox_done;
	r = child_start(pod->pods->loop, &s->child);
	fd_close(&socks[1]);
	if (r < 0) {
		fd_close(&s->sock);
		sandbox_failed(pod, strerror(-r));
	}
}

bool sandbox_ready(const struct pod *pod)
{
	return pod->sandbox.made && network_up(pod) &&
	       (!pod->spec->share_pid || pause_ready(&pod->pause));
}
