// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_fixture.h - an image, a volume and a plan of a member's root, entered by
 * the first process of new namespaces, which checks from inside.
 *
 * Owns: "plan" and "mounts", made anew for each test, and "shared", by which a child
 * tells.
 */
#ifndef TESTS_UNIT_ROOTFS_MEMBER_FIXTURE_H
#define TESTS_UNIT_ROOTFS_MEMBER_FIXTURE_H

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "rootfs/member_root.h"
#include "tests/unit/rootfs_fixture.h"

#define NEW_ALL                                                                    \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

struct shared {
	struct fixture_report report;
	struct step step;
	int result;
};

static struct shared *shared;

static struct member_root plan;
static struct root_mount mounts[16];

static inline void add_mount(const char *source, const char *target, bool read_only)
{
	mounts[plan.n_mounts++] = (struct root_mount){ .source = source,
						       .target = target,
						       .read_only = read_only };
}

static inline void add_host_path(const char *source, const char *target,
				 enum host_path_type type)
{
	add_mount(source, target, false);
	mounts[plan.n_mounts - 1].is_host_path = true;
	mounts[plan.n_mounts - 1].host_type = type;
}

static inline int setup(void **state)
{
	(void)state;
	fixture_up();
	fixture_mkdir("image/etc");
	fixture_mkdir("image/proc");
	fixture_mkdir("image/sys");
	fixture_mkdir("image/dev");
	fixture_mkdir("image/tmp");
	fixture_write("image/etc/motd", "image");
	fixture_mkdir("scratch");
	fixture_mkdir("vol");
	fixture_write("vol/file", "volume");
	fixture_mkdir("outside");
	memset(shared, 0, sizeof(*shared));
	fixture_report = &shared->report;
	plan = (struct member_root){
		.lower = strdup(fixture("image")),
		.scratch = strdup(fixture("scratch")),
		.own_net = true,
		.tty_fd = -1,
		.mounts = mounts,
		.hostname = "box",
	};
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	/* The member's layer lives in its own namespace only. */
	assert_int_equal(rmdir(fixture("scratch")), 0);
	fixture_down();
	free((char *)(uintptr_t)plan.lower);
	free((char *)(uintptr_t)plan.scratch);
	return 0;
}

/* In the first process of the new namespaces. */
static inline int member_main(void *inside)
{
	void (*check)(void) = *(void (**)(void))inside;

	(void)umask(022);
	shared->result = member_root_enter(&plan, &shared->step);
	if (shared->result < 0)
		return 3;
	if (check)
		check();
	return 0;
}

static inline int member_start(void *inside)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	pid_t pid = clone(member_main, stack + sizeof(stack), NEW_ALL | SIGCHLD, inside);

	return pid < 0 ? 4 : fixture_wait(pid);
}

/* 0: entered and all checks passed; 3: member_root_enter() failed; 1: see the report. */
static inline int run_in(bool user_ns, void (*inside)(void))
{
	pid_t pid;

	if (!user_ns)
		return member_start(&inside);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !fixture_map_root())
			_exit(5);
		_exit(member_start(&inside));
	}
	return pid < 0 ? 4 : fixture_wait(pid);
}

static inline void expect_inside(void (*inside)(void))
{
	int code = run_in(plan.user_ns, inside);

	if (code == 3)
		fail_msg("stage %d, %s: %s", shared->step.stage, shared->step.what,
			 strerror(shared->step.code));
	if (code != 0)
		fail_msg("exit code %d: %s", code, shared->report.text);
}

static inline void expect_failure(enum stage stage, int code, const char *what)
{
	assert_int_equal(run_in(plan.user_ns, NULL), 3);
	assert_string_equal(shared->step.what, what);
	assert_int_equal(shared->step.stage, stage);
	assert_int_equal(shared->step.code, code);
	assert_int_equal(shared->result, -code);
}

/* The line of a mount point in our mountinfo, NULL when it is none. */
static inline const char *mount_line(const char *point)
{
	static char line[1024], found[1024];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	bool have = false;
	char at[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %511s", at) == 1 &&
		    strcmp(at, point) == 0) {
			(void)strcpy(found, line);
			have = true;
		}
	if (file)
		(void)fclose(file);
	return have ? found : NULL;
}

static inline bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t len = (ssize_t)strlen(text),
		n = fd < 0 ? -1 : write(fd, text, (size_t)len);

	if (fd >= 0)
		(void)close(fd);
	return n == len;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Of the whole program: memory that its children share. */
static inline int setup_shared(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? -1 : 0;
}

#endif
