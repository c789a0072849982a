// SPDX-License-Identifier: Apache-2.0
/*
 * init_signals.c - mask, dispositions and what each signal asks for.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/time.h"
#include "init/signals.h"

static struct {
	int n, sig;
	struct signal_request last;
} got;

static void on_request(void *arg, const struct signal_request *r, int sig)
{
	assert_ptr_equal(arg, &got);
	got.n++;
	got.sig = sig;
	got.last = *r;
}

static void handler(int sig)
{
	(void)sig;
}

static void begin_undoes_what_was_inherited(void **state)
{
	struct sigaction sa;
	sigset_t set;

	(void)state;
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, handler);
	signals_begin();
	for (int sig = 1; sig < _NSIG; sig++) {
		if (sigaction(sig, NULL, &sa) < 0)
			continue; /* glibc's own */
		assert_ptr_equal(sa.sa_handler, sig == SIGPIPE ? SIG_IGN : SIG_DFL);
	}
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &set), 0);
	assert_true(sigismember(&set, SIGCHLD));
	assert_true(sigismember(&set, SIGTERM));
	assert_true(sigismember(&set, SIGHUP));
	assert_true(sigismember(&set, SIGRTMIN + 3));
	/* A fault that is blocked kills without a word. */
	assert_false(sigismember(&set, SIGSEGV));
	assert_false(sigismember(&set, SIGBUS));
	assert_false(sigismember(&set, SIGABRT));
}

static void each_request_is_read(void **state)
{
	const struct {
		int sig;
		enum machine_end how;
		bool harder;
	} table[] = {
		{ SIGTERM, END_POWER_OFF, false },
		{ SIGPWR, END_POWER_OFF, false },
		{ SIGUSR2, END_POWER_OFF, false },
		{ SIGUSR1, END_HALT, false },
		{ SIGINT, END_REBOOT, true },
		{ SIGRTMIN + 3, END_HALT, false },
		{ SIGRTMIN + 4, END_POWER_OFF, false },
		{ SIGRTMIN + 5, END_REBOOT, false },
	};
	struct signals s;
	struct loop *loop;

	(void)state;
	signals_begin();
	assert_int_equal(loop_init(&loop), 0);
	(void)raise(SIGTERM); /* before the descriptor exists: kept pending */
	assert_int_equal(signals_start(&s, loop, on_request, &got), 0);
	assert_int_equal(loop_turn(loop, 1000), 1);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.sig, SIGTERM);

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		memset(&got, 0, sizeof(got));
		(void)raise(table[i].sig);
		assert_int_equal(loop_turn(loop, 1000), 1);
		assert_int_equal(got.n, 1);
		assert_int_equal(got.sig, table[i].sig);
		assert_int_equal(got.last.how, table[i].how);
		assert_int_equal(got.last.harder, table[i].harder);
	}
	signals_stop(&s);
	loop_free(loop);
}

static void others_have_no_meaning_and_do_no_harm(void **state)
{
	const int sigs[] = {
		SIGHUP, SIGQUIT, SIGALRM, SIGCHLD, SIGWINCH, SIGTSTP, SIGCONT
	};
	struct signals s;
	struct loop *loop;

	(void)state;
	signals_begin();
	assert_int_equal(loop_init(&loop), 0);
	assert_int_equal(signals_start(&s, loop, on_request, &got), 0);
	memset(&got, 0, sizeof(got));
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
		assert_null(signals_meaning(sigs[i]));
		(void)raise(sigs[i]);
	}
	assert_int_equal(loop_turn(loop, 20), 0);
	assert_int_equal(got.n, 0);
	signals_stop(&s);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin_undoes_what_was_inherited),
		cmocka_unit_test(each_request_is_read),
		cmocka_unit_test(others_have_no_meaning_and_do_no_harm),
	};

	return cmocka_run_group_tests_name("init signals", tests, NULL, NULL);
}
