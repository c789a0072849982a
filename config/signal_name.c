// SPDX-License-Identifier: Apache-2.0
/*
 * signal_name.c - see signal_name.h. Real-time signals are counted from glibc's SIGRTMIN,
 * 34, as Kubernetes and the container engines do.
 */
#include "config/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"

/* The first name of a number is the one that signal_name() gives. */
static const struct {
	const char *name;
	int sig;
} signals[] = {
	{ "SIGHUP", SIGHUP },       { "SIGINT", SIGINT },   { "SIGQUIT", SIGQUIT },
	{ "SIGILL", SIGILL },       { "SIGTRAP", SIGTRAP }, { "SIGABRT", SIGABRT },
	{ "SIGBUS", SIGBUS },       { "SIGFPE", SIGFPE },   { "SIGKILL", SIGKILL },
	{ "SIGUSR1", SIGUSR1 },     { "SIGSEGV", SIGSEGV }, { "SIGUSR2", SIGUSR2 },
	{ "SIGPIPE", SIGPIPE },     { "SIGALRM", SIGALRM }, { "SIGTERM", SIGTERM },
	{ "SIGSTKFLT", SIGSTKFLT }, { "SIGCHLD", SIGCHLD }, { "SIGCONT", SIGCONT },
	{ "SIGSTOP", SIGSTOP },     { "SIGTSTP", SIGTSTP }, { "SIGTTIN", SIGTTIN },
	{ "SIGTTOU", SIGTTOU },     { "SIGURG", SIGURG },   { "SIGXCPU", SIGXCPU },
	{ "SIGXFSZ", SIGXFSZ },     { "SIGPROF", SIGPROF }, { "SIGVTALRM", SIGVTALRM },
	{ "SIGWINCH", SIGWINCH },   { "SIGIO", SIGIO },     { "SIGPWR", SIGPWR },
	{ "SIGSYS", SIGSYS },       { "SIGIOT", SIGABRT },  { "SIGCLD", SIGCHLD },
	{ "SIGPOLL", SIGIO },
};

/* A decimal number in min..max that fills the text, else -EINVAL. */
static int signal_number(const char *text, int min, int max)
{
	size_t n = strlen(text);
	int v;

	if (n == 0 || n > 2 || strspn(text, "0123456789") != n)
		return -EINVAL;
	v = atoi(text);
	return v >= min && v <= max ? v : -EINVAL;
}

static int signal_parse_realtime(const char *name)
{
	int span = SIGRTMAX - SIGRTMIN, offset;

	if (strcasecmp(name, "RTMIN") == 0)
		return SIGRTMIN;
	if (strcasecmp(name, "RTMAX") == 0)
		return SIGRTMAX;
	offset = strlen(name) > 6 ? signal_number(name + 6, 0, span) : -EINVAL;
	if (offset >= 0 && strncasecmp(name, "RTMIN+", 6) == 0)
		return SIGRTMIN + offset;
	if (offset >= 0 && strncasecmp(name, "RTMAX-", 6) == 0)
		return SIGRTMAX - offset;
	return -EINVAL;
}

int signal_parse(const char *name)
{
	size_t i;
	int sig = signal_number(name, 1, SIGRTMAX);

	if (sig > 0)
		return sig;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcasecmp(name, signals[i].name + 3) == 0)
			return signals[i].sig;
	return signal_parse_realtime(name);
}

const char *signal_name(int sig)
{
	static char text[24];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].sig == sig)
			return signals[i].name;
	if (sig == SIGRTMIN)
		return "SIGRTMIN";
	if (sig == SIGRTMAX)
		return "SIGRTMAX";
	if (sig > SIGRTMIN && sig < SIGRTMAX)
		(void)snprintf(text, sizeof(text), "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		(void)snprintf(text, sizeof(text), "%d", sig);
	return text;
}
