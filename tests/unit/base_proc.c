// SPDX-License-Identifier: Apache-2.0
/*
 * base_proc.c - processes by pidfd: every exit code, signals, core dumps, cgroups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"

#define DEADLINE_MS 20000

/* Runs body in a clone and returns in the parent, with the pidfd. A child does not
 * outlive a failed test's process. */
#define CHILD(flags, cgroup_fd, pidfd, body)                            \
	({                                                              \
		pid_t pid_ = proc_clone((flags), (cgroup_fd), (pidfd)); \
		if (pid_ == 0) {                                        \
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);         \
			body;                                           \
			_exit(99);                                      \
		}                                                       \
		pid_;                                                   \
	})

static void await_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
}

static struct proc_exit collect(int *pidfd)
{
	struct proc_exit e;

	await_end(*pidfd);
	assert_int_equal(proc_collect(*pidfd, &e, NULL), 0);
	fd_close(pidfd);
	return e;
}

static void every_exit_code_arrives(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++) {
		int pidfd;
		pid_t pid = CHILD(0, -1, &pidfd, _exit(code));
		struct proc_exit e;

		assert_true(pid > 0);
		assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
		e = collect(&pidfd);
		assert_int_equal(e.pid, pid);
		assert_int_equal(e.status, code);
		assert_false(e.by_signal || e.core_dumped);
		assert_int_equal(proc_exit_code(&e), code);
	}
}

/* The child is told apart from one that still has the dispositions it inherited: a signal
 * that was ignored there (SIGQUIT of a background job, say) would be lost, and the child
 * would wait for ever. */
static struct proc_exit die_of(int sig)
{
	int pidfd, ready[2];
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	(void)CHILD(0, -1, &pidfd, {
		proc_reset_signals();
		(void)prctl(PR_SET_DUMPABLE, 0);
		if (write(ready[1], "r", 1) != 1)
			_exit(98);
		for (;;)
			pause();
	});
	fd_close(&ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	fd_close(&ready[0]);
	assert_int_equal(proc_signal(pidfd, sig), 0);
	return collect(&pidfd);
}

static void every_deadly_signal_arrives(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;

	(void)state;
	for (int sig = 1; sig < _NSIG; sig++) {
		struct proc_exit e;

		if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG ||
		    sig == SIGWINCH || sig == SIGSTOP || sig == SIGTSTP ||
		    sig == SIGTTIN || sig == SIGTTOU)
			continue; /* do not kill */
		/* Also when the parent ignores it; glibc keeps two for itself. */
		if (sig == SIGKILL || (sig >= 32 && sig < SIGRTMIN)) {
			e = die_of(sig);
		} else {
			assert_int_equal(sigaction(sig, &ignore, &old), 0);
			e = die_of(sig);
			assert_int_equal(sigaction(sig, &old, NULL), 0);
		}
		assert_true(e.by_signal);
		assert_false(e.core_dumped);
		assert_int_equal(e.status, sig);
		assert_int_equal(proc_exit_code(&e), 128 + sig);
	}
}

static void core_dump_is_told(void **state)
{
	char dir[] = "/tmp/podinit-core-XXXXXX", command[64];
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct proc_exit e;
	int pidfd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)CHILD(0, -1, &pidfd, {
		proc_reset_signals();
		if (chdir(dir) < 0 || setrlimit(RLIMIT_CORE, &all) < 0)
			_exit(98);
		(void)prctl(PR_SET_DUMPABLE, 1);
		abort();
	});
	e = collect(&pidfd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	if (!e.by_signal && e.status == 98)
		skip(); /* a hard limit of 0 that only root may lift */
	assert_true(e.by_signal && e.core_dumped);
	assert_int_equal(e.status, SIGABRT);
	assert_int_equal(proc_exit_code(&e), 134);
}

static void peek_leaves_the_zombie(void **state)
{
	int pidfd, hold[2];
	struct proc_exit e = { .pid = -7 };
	struct rusage usage = { 0 };
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid = CHILD(0, -1, &pidfd, {
		(void)close(hold[1]);
		_exit(read(hold[0], &c, 1) == 0 ? 5 : 6);
	});
	assert_int_equal(proc_peek(pidfd, &e), -EAGAIN);
	assert_int_equal(proc_collect(pidfd, &e, NULL), -EAGAIN);
	assert_int_equal(e.pid, -7);
	assert_int_equal(proc_peek_any(), 0);

	fd_close(&hold[1]);
	await_end(pidfd);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(proc_peek(pidfd, &e), 0);
		assert_int_equal(e.pid, pid);
		assert_int_equal(e.status, 5);
		assert_int_equal(proc_peek_any(), pid);
	}
	assert_int_equal(proc_signal(pidfd, 0), 0);
	assert_int_equal(proc_collect(pidfd, &e, &usage), 0);
	assert_true(usage.ru_maxrss > 0);
	assert_int_equal(proc_collect(pidfd, &e, NULL), -ECHILD);
	assert_int_equal(proc_peek(pidfd, &e), -ECHILD);
	assert_int_equal(proc_signal(pidfd, SIGKILL), -ESRCH);
	assert_int_equal(proc_peek_any(), -ECHILD);
	fd_close(&hold[0]);
	fd_close(&pidfd);
}

static void bad_descriptors_are_errors(void **state)
{
	struct proc_exit e;
	int pidfd = -5;

	(void)state;
	assert_int_equal(proc_peek(-1, &e), -EINVAL);
	assert_int_equal(proc_collect(0, &e, NULL), -EBADF);
	assert_int_equal(proc_signal(-1, SIGTERM), -EBADF);
	assert_int_equal(proc_clone(0, 0, &pidfd), -EBADF); /* not a cgroup */
	assert_int_equal(proc_clone(CLONE_VFORK | CLONE_NEWNS | CLONE_FS, -1, &pidfd),
			 -EINVAL);
	assert_int_equal(pidfd, -5);
}

static void handler(int sig)
{
	(void)sig;
	_exit(77);
}

/* "SigBlk", "SigIgn" and "SigCgt" of /proc/self/status are all zero. */
static bool signals_are_default(void)
{
	static const char *const keys[] = { "SigBlk:", "SigIgn:", "SigCgt:" };
	char text[4096];

	if (fd_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *p = strstr(text, keys[i]);

		if (!p || strncmp(p + strlen(keys[i]), "\t0000000000000000\n", 18) != 0)
			return false;
	}
	return true;
}

static void child_gets_default_signals(void **state)
{
	struct sigaction catch = { .sa_handler = handler }, old_usr1, old_pipe;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t all, old_mask;
	struct proc_exit e;
	int pidfd;

	(void)state;
	sigfillset(&all);
	assert_int_equal(sigaction(SIGUSR1, &catch, &old_usr1), 0);
	assert_int_equal(sigaction(SIGPIPE, &ignore, &old_pipe), 0);

	/* Even before it resets anything a child does not run the parent's handler. */
	(void)CHILD(0, -1, &pidfd, (void)raise(SIGUSR1));
	e = collect(&pidfd);
	assert_true(e.by_signal);
	assert_int_equal(e.status, SIGUSR1);

	assert_int_equal(sigprocmask(SIG_SETMASK, &all, &old_mask), 0);
	(void)CHILD(0, -1, &pidfd, {
		proc_reset_signals();
		_exit(signals_are_default() ? 0 : 1);
	});
	e = collect(&pidfd);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old_mask, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &old_usr1, NULL), 0);
	assert_int_equal(sigaction(SIGPIPE, &old_pipe, NULL), 0);
	assert_int_equal(proc_exit_code(&e), 0);
}

static void close_from_leaves_the_lower_ones(void **state)
{
	struct proc_exit e;
	int pidfd;

	(void)state;
	(void)CHILD(0, -1, &pidfd, {
		if (dup2(0, 3) < 0 || dup2(0, 4) < 0 || dup2(0, 200) < 0)
			_exit(1);
		if (proc_close_from(4) < 0 || fcntl(3, F_GETFD) < 0)
			_exit(2);
		_exit(fcntl(4, F_GETFD) < 0 && fcntl(200, F_GETFD) < 0 ? 0 : 3);
	});
	e = collect(&pidfd);
	assert_int_equal(proc_exit_code(&e), 0);
}

static void process_limit_is_eagain(void **state)
{
	struct rlimit one = { 1, 1 };
	struct proc_exit e;
	int pidfd;

	(void)state;
	(void)CHILD(0, -1, &pidfd, {
		int inner = -1;

		/* The limit does not bind root. */
		if (setrlimit(RLIMIT_NPROC, &one) < 0 ||
		    (geteuid() == 0 && setuid(65534) < 0))
			_exit(1);
		pid_t pid = proc_clone(0, -1, &inner);

		_exit(pid == -EAGAIN && inner == -1 ? 0 : 2);
	});
	e = collect(&pidfd);
	assert_int_equal(proc_exit_code(&e), 0);
}

static void namespace_flags_reach_the_kernel(void **state)
{
	struct proc_exit e;
	int pidfd;
	pid_t pid = CHILD(CLONE_NEWPID, -1, &pidfd, _exit(getpid() == 1 ? 0 : 1));

	(void)state;
	if (pid == -EPERM)
		skip();
	assert_true(pid > 0);
	e = collect(&pidfd);
	assert_int_equal(proc_exit_code(&e), 0);
}

/* Makes a group below the first writable cgroup2 and opens it. */
static int make_cgroup(char *path, size_t size)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char procs[128];

		(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", roots[i]);
		if (access(procs, W_OK) < 0)
			continue;
		(void)snprintf(path, size, "%s/podinit-unit-%d", roots[i], getpid());
		if (mkdir(path, 0755) == 0)
			return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return -1;
}

static void child_starts_inside_the_cgroup(void **state)
{
	char path[128], text[4096];
	_cleanup_close_ int cgroup_fd = make_cgroup(path, sizeof(path));
	struct proc_exit e;
	int pidfd;

	(void)state;
	if (cgroup_fd < 0)
		skip();
	(void)CHILD(0, cgroup_fd, &pidfd, {
		if (fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <
		    0)
			_exit(2);
		_exit(strstr(text, strrchr(path, '/')) ? 0 : 1);
	});
	e = collect(&pidfd);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(proc_exit_code(&e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_code_arrives),
		cmocka_unit_test(every_deadly_signal_arrives),
		cmocka_unit_test(core_dump_is_told),
		cmocka_unit_test(peek_leaves_the_zombie),
		cmocka_unit_test(bad_descriptors_are_errors),
		cmocka_unit_test(child_gets_default_signals),
		cmocka_unit_test(close_from_leaves_the_lower_ones),
		cmocka_unit_test(process_limit_is_eagain),
		cmocka_unit_test(namespace_flags_reach_the_kernel),
		cmocka_unit_test(child_starts_inside_the_cgroup),
	};

	return cmocka_run_group_tests_name("base_proc", tests, NULL, NULL);
}
