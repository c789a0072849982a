// SPDX-License-Identifier: Apache-2.0
/*
 * reap.c - see reap.h. "Sweep again" is a SIGCHLD to ourselves: the kernel keeps one
 * pending until it is read, which is all the memory that a repeated sweep needs.
 */
#include "init/reap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/known.h"
#include "base/log.h"
#include "base/proc.h"

static void sweep_again(void)
{
	(void)raise(SIGCHLD); /* a standard signal needs no queue entry: cannot fail */
}

static void take(struct reap *reap, pid_t pid)
{
	siginfo_t si = { 0 };

	/* Ended already, so this returns at once; WNOHANG for the day it should not. */
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG) < 0 || si.si_pid != pid)
		return;
	reap->taken++;
	if (si.si_code == CLD_EXITED)
		log_debug("orphan %d ended with code %d", (int)pid, si.si_status);
	else
		log_debug("orphan %d ended by signal %d", (int)pid, si.si_status);
}

static void sweep(struct reap *reap)
{
	for (int i = 0; i < REAP_BATCH; i++) {
		pid_t pid = proc_peek_any();

		if (pid <= 0)
			return; /* none has ended, or no children at all */
		if (known_has(pid)) {
			reap->hidden_by = pid;
			return;
		}
		take(reap, pid);
	}
	sweep_again();
}

static void on_collected(pid_t pid, void *arg)
{
	struct reap *reap = arg;

	if (pid != reap->hidden_by)
		return;
	reap->hidden_by = 0;
	sweep_again();
}

static void on_sigchld(struct loop_src *src, uint32_t events)
{
	struct reap *reap = container_of(src, struct reap, src);
	struct signalfd_siginfo si;

	(void)events;
	/* Taken before the look: an exit after the look raises it anew. */
	if (read(reap->fd, &si, sizeof(si)) == sizeof(si))
		sweep(reap);
}

int reap_start(struct reap *reap, struct loop *loop)
{
	sigset_t set;
	int r;

	*reap = (struct reap){ 0 };
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	reap->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (reap->fd < 0)
		return -errno;
	r = loop_src_add(loop, &reap->src, reap->fd, EPOLLIN, LOOP_BACKGROUND,
			 on_sigchld);
	if (r < 0) {
		fd_close(&reap->fd);
		return r;
	}
	known_watch(on_collected, reap);
	/* What ended before SIGCHLD was blocked has left no signal. */
	sweep_again();
	return 0;
}

void reap_stop(struct reap *reap)
{
	known_watch(NULL, NULL);
	loop_src_remove(&reap->src);
	fd_close(&reap->fd);
}
