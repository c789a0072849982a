// SPDX-License-Identifier: Apache-2.0
/*
 * signals.c - see signals.h.
 */
#include "init/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"

/* Raised by a fault in our own code: blocked, the kernel would end us without a word. */
static const int fault_signals[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				     SIGABRT, SIGTRAP, SIGSYS };

#define READ_BATCH 8

static const struct signal_request power_off = { END_POWER_OFF, false };
static const struct signal_request halt = { END_HALT, false };
static const struct signal_request restart = { END_REBOOT, false };
/* Ctrl-Alt-Del is a person at the keyboard, who presses again when it takes too long.
 * Hypervisors and UPS daemons repeat their wish for no other reason than to be heard. */
static const struct signal_request ctrl_alt_del = { END_REBOOT, true };

const struct signal_request *signals_meaning(int sig)
{
	if (sig == SIGTERM || sig == SIGPWR || sig == SIGUSR2)
		return &power_off;
	if (sig == SIGINT)
		return &ctrl_alt_del;
	if (sig == SIGUSR1)
		return &halt;
	/* systemd(1), the signals that machined, libvirt and others send to any init. */
	if (sig == SIGRTMIN + 3)
		return &halt;
	if (sig == SIGRTMIN + 4)
		return &power_off;
	if (sig == SIGRTMIN + 5)
		return &restart;
	return NULL;
}

void signals_begin(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t set;

	/* SIGKILL, SIGSTOP and glibc's own two are refused, and nothing else can fail. */
	for (int sig = 1; sig < _NSIG; sig++)
		(void)sigaction(sig, &sa, NULL);
	/* A console or client that is gone is an error of write(2), not our end. */
	sa.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &sa, NULL);

	sigfillset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(fault_signals); i++)
		sigdelset(&set, fault_signals[i]);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
}

static void on_signal(struct loop_src *src, uint32_t events)
{
	struct signals *s = container_of(src, struct signals, src);
	struct signalfd_siginfo si[READ_BATCH];
	ssize_t n = read(s->fd, si, sizeof(si));

	(void)events;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(si[0]); i++) {
		int sig = (int)si[i].ssi_signo;
		const struct signal_request *r = signals_meaning(sig);

		if (r)
			s->request(s->arg, r, sig);
	}
}

int signals_start(struct signals *s, struct loop *loop,
		  void (*request)(void *arg, const struct signal_request *r, int sig),
		  void *arg)
{
	sigset_t set;
	int r;

	*s = (struct signals){ .request = request, .arg = arg };
	sigemptyset(&set);
	for (int sig = 1; sig < _NSIG; sig++)
		if (signals_meaning(sig))
			sigaddset(&set, sig);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	r = loop_src_add(loop, &s->src, s->fd, EPOLLIN, LOOP_CONTROL, on_signal);
	if (r < 0)
		fd_close(&s->fd);
	return r;
}

void signals_stop(struct signals *s)
{
	loop_src_remove(&s->src);
	fd_close(&s->fd);
}
