// SPDX-License-Identifier: Apache-2.0
/*
 * init_end.c - the last act, outside a machine: it exits with the code; holding reaps; a
 * root on a disk is left clean.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/proc.h"
#include "base/time.h"
#include "init/end.h"

static void the_port_has_seven_bits(void **state)
{
	(void)state;
	assert_int_equal(end_port_value(0), 0);
	assert_int_equal(end_port_value(1), 1);
	assert_int_equal(end_port_value(125), 125);
	assert_int_equal(end_port_value(127), 127);
	assert_int_equal(end_port_value(128), 127);
	assert_int_equal(end_port_value(137), 127);
	assert_int_equal(end_port_value(255), 127);
	assert_int_equal(end_port_value(-1), 127);
}

static void in_a_container_the_end_is_an_exit(void **state)
{
	/* The port must not be touched: an outb here would be the host's. */
	const struct end end = { .debug_exit = true, .debug_exit_port = 0xf4 };
	siginfo_t si = { 0 };
	int pidfd;
	pid_t pid = proc_clone(0, -1, &pidfd);

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)end_now(&end, END_REBOOT, 137);
		_exit(1);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, 137);
	(void)close(pidfd);
}

#define REAPED_MS 20000 /* nobody is that slow who does it at all */

/* pidfd_open(2): a process that was reaped hangs up its pidfd, where the kernel (6.9)
 * says so. */
static bool was_reaped(int pidfd, int wait_ms)
{
	struct pollfd p = { .fd = pidfd };

	return poll(&p, 1, wait_ms) == 1 && (p.revents & POLLHUP);
}

static bool kernel_tells_of_reaping(void)
{
	siginfo_t si;
	int pidfd;
	pid_t pid = proc_clone(0, -1, &pidfd);
	bool told;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	told = was_reaped(pidfd, 0);
	(void)close(pidfd);
	return told;
}

/* Two children: one that ends, and one that ends once the other is gone for good. */
_Noreturn static void hold_two(int tell)
{
	int first;
	pid_t pid = proc_clone(0, -1, &first);

	if (pid == 0)
		_exit(0);
	if (pid < 0 || (pid = fork()) < 0)
		_exit(1);
	if (pid == 0)
		_exit(!was_reaped(first, REAPED_MS) || write(tell, "x", 1) != 1);
	(void)close(tell);
	end_hold();
}

/* It reaps while it goes on: the byte comes when the first child is gone, and the pipe
 * ends with the second one. */
static void holding_reaps_for_ever(void **state)
{
	siginfo_t si = { 0 };
	int fds[2], pidfd;
	char byte;
	pid_t pid;

	(void)state;
	if (!kernel_tells_of_reaping())
		skip();
	assert_int_equal(pipe(fds), 0);
	pid = proc_clone(0, -1, &pidfd);
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(fds[0]);
		hold_two(fds[1]);
	}
	(void)close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	assert_int_equal(proc_signal(pidfd, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED), 0);
	assert_int_equal(si.si_code, CLD_KILLED);
	(void)close(fds[0]);
	(void)close(pidfd);
}

/* An ext4 whose journal is in use says so in its super block (ext4: s_feature_incompat,
 * EXT4_FEATURE_INCOMPAT_RECOVER). */
static bool journal_is_dirty(const char *image)
{
	uint32_t features = 0;
	int fd = open(image, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &features, sizeof(features), 1024 + 0x60),
			 sizeof(features));
	(void)close(fd);
	return features & 4;
}

/* With the disk as its root; the parent looks at it while it is still mounted. */
static int life_on_disk(const char *dir, int tell, int wait)
{
	char command[512], byte;
	int fd;

	(void)snprintf(command, sizeof(command),
		       "cd %s && mkdir m && truncate -s 4M disk && mkfs.ext4 -q disk && "
		       "mount -o loop disk m",
		       dir);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    system(command) != 0 || chdir(dir) < 0 || chroot("m") < 0 || chdir("/") < 0)
		return 1;
	fd = open("/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0 || close(fd) < 0)
		return 2;
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			end_sync(20000);
		if (write(tell, "x", 1) != 1 || read(wait, &byte, 1) != 1)
			return 3;
	}
	/* Nobody is left behind, and the root is read-only. */
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
		return 4;
	return access("/file", W_OK) < 0 && errno == EROFS ? 0 : 5;
}

static void a_synced_root_has_a_clean_journal(void **state)
{
	char dir[] = "/tmp/podinit-test-end-XXXXXX", image[64], command[64], byte;
	int tell[2], wait[2], status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(image, sizeof(image), "%s/disk", dir);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		_exit(life_on_disk(dir, tell[1], wait[0]));
	(void)close(tell[1]);
	if (read(tell[0], &byte, 1) == 1) {
		assert_true(journal_is_dirty(image));
		assert_int_equal(write(wait[1], "x", 1), 1);
		assert_int_equal(read(tell[0], &byte, 1), 1);
		assert_false(journal_is_dirty(image));
		assert_int_equal(write(wait[1], "x", 1), 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	(void)snprintf(command, sizeof(command), "rm -rf --one-file-system %s", dir);
	assert_int_equal(system(command), 0);
}

/* Not a terminal that is stopped, not what is none; nobody is left behind. That the words
 * arrive is for a serial line to show (tests/vm). */
static void draining_holds_nothing_up(void **state)
{
	int fds[2], master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), line;
	int64_t start_ns;

	(void)state;
	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	line = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(line >= 0);
	assert_int_equal(write(line, "words", 5), 5);
	end_drain(line, 10000); /* a pty has sent what it took */
	assert_int_equal(tcflow(line, TCOOFF), 0);
	start_ns = time_boot_ns();
	end_drain(line, 300);
	assert_true(time_boot_ns() - start_ns < 5 * NSEC_PER_SEC);
	assert_int_equal(pipe(fds), 0);
	end_drain(fds[1], 10000);
	end_drain(-1, 10000);
	assert_true(time_boot_ns() - start_ns < 5 * NSEC_PER_SEC);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(line);
	(void)close(master);
	end_reap(1000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_has_seven_bits),
		cmocka_unit_test(in_a_container_the_end_is_an_exit),
		cmocka_unit_test(holding_reaps_for_ever),
		cmocka_unit_test(a_synced_root_has_a_clean_journal),
		cmocka_unit_test(draining_holds_nothing_up),
	};

	return cmocka_run_group_tests_name("init end", tests, NULL, NULL);
}
