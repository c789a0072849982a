// SPDX-License-Identifier: Apache-2.0
/*
 * init_reap.c - orphans are taken, known children are left to their owners.
 *
 * Real processes: the test is a child subreaper, so orphans of its children come to it as
 * they come to PID 1.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "base/known.h"
#include "base/proc.h"
#include "base/time.h"
#include "init/reap.h"
#include "init/signals.h"

#define ORPHANS  1000
#define KNOWN    50
#define LIMIT_NS (30 * NSEC_PER_SEC)

struct owner {
	int pidfd;
	int want;
	int seen; /* times its exit was delivered */
	struct loop_src src;
};

static struct loop *loop;
static struct reap reap;
static int collected;

static void owner_exited(struct loop_src *src, uint32_t events)
{
	struct owner *o = container_of(src, struct owner, src);
	struct proc_exit e;

	(void)events;
	assert_int_equal(proc_collect(o->pidfd, &e, NULL), 0);
	assert_false(e.by_signal);
	assert_int_equal(e.status, o->want);
	o->seen++;
	collected++;
	loop_src_remove(&o->src);
	fd_close(&o->pidfd);
}

/* A known child that leaves n orphans, each ending at once, and exits with code. */
static pid_t start_known(struct owner *o, int n, int code)
{
	pid_t pid = proc_clone(0, -1, &o->pidfd);

	assert_true(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < n; i++)
			if (fork() == 0)
				_exit(7);
		_exit(code);
	}
	o->want = code;
	o->seen = 0;
	return pid;
}

static void watch(struct owner *o)
{
	o->src.loop = NULL;
	assert_int_equal(
		loop_src_add(loop, &o->src, o->pidfd, EPOLLIN, LOOP_EXIT, owner_exited),
		0);
}

static void turn_until(uint64_t orphans, int known)
{
	int64_t end_ns = time_boot_ns() + LIMIT_NS;

	while (reap.taken < orphans || collected < known) {
		uint64_t before = reap.taken;

		assert_true(time_boot_ns() < end_ns);
		assert_true(loop_turn(loop, 1000) >= 0);
		assert_true(reap.taken - before <= REAP_BATCH);
	}
}

static void assert_no_child_left(void)
{
	assert_int_equal(waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT), -1);
	assert_int_equal(errno, ECHILD);
}

static int set_up(void **state)
{
	(void)state;
	signals_begin();
	collected = 0;
	return prctl(PR_SET_CHILD_SUBREAPER, 1) || loop_init(&loop) ||
	       reap_start(&reap, loop);
}

static int tear_down(void **state)
{
	(void)state;
	reap_stop(&reap);
	loop_free(loop);
	return 0;
}

static void a_thousand_orphans_among_known_children(void **state)
{
	static struct owner owners[KNOWN];

	(void)state;
	for (int i = 0; i < KNOWN; i++) {
		(void)start_known(&owners[i], ORPHANS / KNOWN, i);
		watch(&owners[i]);
	}
	turn_until(ORPHANS, KNOWN);
	assert_int_equal(reap.taken, ORPHANS);
	for (int i = 0; i < KNOWN; i++)
		assert_int_equal(owners[i].seen, 1);
	assert_no_child_left();
}

static void orphans_behind_a_slow_owner_come_when_it_collects(void **state)
{
	struct owner first = { .pidfd = -1 }, second = { .pidfd = -1 };
	siginfo_t si = { 0 };
	pid_t pid;

	(void)state;
	/* Older than the orphans, so that waitid(2) shows it before them. */
	pid = start_known(&first, 0, 3);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	(void)start_known(&second, 300, 4);
	watch(&second);
	turn_until(0, 1);
	/* All that there is to do without the first one's owner; no spinning on it. */
	while (loop_turn(loop, 200) > 0)
		;
	assert_int_equal(reap.hidden_by, pid);
	assert_true(known_has(pid));
	assert_int_equal(loop_turn(loop, 50), 0);

	watch(&first);
	turn_until(300, 2);
	assert_int_equal(first.seen, 1);
	assert_int_equal(second.seen, 1);
	assert_false(known_has(pid));
	assert_no_child_left();
}

static void an_exit_before_the_descriptor_is_found(void **state)
{
	siginfo_t si = { 0 };
	pid_t pid;

	(void)state;
	reap_stop(&reap);
	/* As if SIGCHLD had come and gone before it was blocked. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	{
		struct timespec none = { 0 };
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		(void)sigtimedwait(&set, NULL, &none);
	}
	assert_int_equal(reap_start(&reap, loop), 0);
	turn_until(1, 0);
	assert_no_child_left();
}

static void without_children_nothing_happens(void **state)
{
	(void)state;
	while (loop_turn(loop, 50) > 0)
		;
	assert_int_equal(reap.taken, 0);
	assert_int_equal(reap.hidden_by, 0);
}

static void known_holds_any_pid(void **state)
{
	(void)state;
	const pid_t pids[] = { 1, 63, 64, 32767, 4 * 1024 * 1024 - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_false(known_has(pids[i]));
		known_add(pids[i]);
		assert_true(known_has(pids[i]));
	}
	assert_false(known_has(62));
	assert_false(known_has(65));
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		known_remove(pids[i]);
		assert_false(known_has(pids[i]));
	}
	/* Out of range is nobody's. */
	known_add(0);
	known_add(-1);
	known_add(4 * 1024 * 1024);
	assert_false(known_has(0));
	assert_false(known_has(-1));
	assert_false(known_has(4 * 1024 * 1024));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thousand_orphans_among_known_children,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			orphans_behind_a_slow_owner_come_when_it_collects, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(an_exit_before_the_descriptor_is_found,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_children_nothing_happens, set_up,
						tear_down),
		cmocka_unit_test(known_holds_any_pid),
	};

	return cmocka_run_group_tests_name("init reap", tests, NULL, NULL);
}
