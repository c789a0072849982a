// SPDX-License-Identifier: Apache-2.0
/*
 * panic.c - see panic.h.
 */
#include "init/panic.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "init/outcome.h"

static const int fault_signals[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				     SIGABRT, SIGTRAP, SIGSYS };

/* More than any register frame (AVX-512, AMX) and the few frames below the handler. */
#define STACK_BYTES     (64 * 1024)
#define CONSOLE_WAIT_MS 500
#define KILL_WAIT_MS    2000
/* Some 400 bytes, at 1200 baud. */
#define DRAIN_WAIT_MS   4000

/* How often the handler was entered: each time less is tried. */
enum { TRY_ALL, TRY_LAST_ACT, TRY_REAPING };

static struct panic_policy policy_now = { .how = END_STAY, .console_fd = -1 };
static char final_line[OUTCOME_SHORT_BYTES + 1];
static volatile sig_atomic_t entered;
static _Alignas(16) char stack[STACK_BYTES];

/* ---- words ------------------------------------------------------------------------ */

static void say(const char *text, size_t len)
{
	struct pollfd p = { .fd = policy_now.console_fd, .events = POLLOUT };

	while (p.fd >= 0 && len) {
		ssize_t n = write(p.fd, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n == 0 || errno != EAGAIN ||
			   poll(&p, 1, CONSOLE_WAIT_MS) <= 0) {
			return; /* a console that is stuck holds nothing up */
		}
	}
}

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *put_hex(char *at, uintptr_t value)
{
	int shift = (int)sizeof(value) * 8 - 4;

	at = put_text(at, "0x");
	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[value >> shift & 15];
	return at;
}

static uintptr_t fault_ip(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)context->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static void say_fault(int sig, const siginfo_t *si, const ucontext_t *context)
{
	const char *name = sigabbrev_np(sig);
	char line[256], *at = line;

	at = put_text(at, "\npodinit: fault in PID 1: SIG");
	at = put_text(at, name ? name : "?");
	at = put_text(at, " at ");
	at = put_hex(at, fault_ip(context));
	at = put_text(at, ", address ");
	at = put_hex(at, (uintptr_t)si->si_addr);
	at = put_text(at, ", version " PODINIT_VERSION "\n");
	say(line, (size_t)(at - line));
}

/* ---- the way down ----------------------------------------------------------------- */

static void wind_down(void)
{
	/* -1 means everybody only to PID 1 of a namespace; to others it means the host.
	 */
	if (getpid() != 1)
		return;
	(void)kill(-1, SIGTERM);
	end_reap(policy_now.grace_ms);
	(void)kill(-1, SIGKILL);
	end_reap(KILL_WAIT_MS);
	if (policy_now.end.initial_pid_ns)
		end_sync(policy_now.sync_ms);
}

static void on_fault(int sig, siginfo_t *si, void *context)
{
	int attempt = entered;

	entered = attempt + 1;
	if (attempt <= TRY_LAST_ACT)
		say_fault(sig, si, context);
	if (policy_now.how != END_STAY) {
		if (attempt == TRY_ALL)
			wind_down();
		if (attempt <= TRY_LAST_ACT) {
			say(final_line, strlen(final_line));
			end_drain(policy_now.console_fd, DRAIN_WAIT_MS);
			(void)end_now(&policy_now.end, policy_now.how, END_CODE_PANIC);
		}
	}
	if (attempt <= TRY_REAPING)
		end_hold();
	for (;;)
		(void)pause(); /* nothing that could fault is left */
}

int panic_install(const struct panic_policy *policy)
{
	const struct outcome o = {
		.kind = OUTCOME_FAILED,
		.exit_code = END_CODE_PANIC,
		.action = policy->end.initial_pid_ns ? machine_end_name(policy->how) :
						       "exit",
	};
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	/* SA_NODEFER: a second fault must come here too, not to the kernel's panic. */
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	int r = sigaltstack(&alternate, NULL) < 0 ? -errno : 0;

	policy_now = *policy;
	(void)outcome_short(&o, final_line);
	strcat(final_line, "\n"); /* it has a byte more than outcome_short() uses */
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(fault_signals); i++)
		(void)sigaction(fault_signals[i], &sa,
				NULL); /* all of them can be caught */
	return r;
}
