// SPDX-License-Identifier: Apache-2.0
/*
 * pod_caps.c - a member's capabilities, as the kernel shows them in /proc/self/status of
 * a child: bounding set, root, other users, and what is left after exec.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/pod_spec.h"
#include "pod/caps.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define NOBODY   65534

/* What "docker run" gives; anybody can look it up in /proc of such a container. */
#define DEFAULT  UINT64_C(0xa80425fb)

struct sets {
	uint64_t inheritable, permitted, effective, bounding, ambient;
};

static struct sets *told; /* by the child */
static struct sets ours;

/* false when one of them is missing. */
static bool parse_sets(const char *text, struct sets *ret)
{
	const char *at = strstr(text, "CapInh:");
	unsigned long long v[5];

	if (!at || sscanf(at,
			  "CapInh: %llx CapPrm: %llx CapEff: %llx CapBnd: %llx "
			  "CapAmb: %llx",
			  &v[0], &v[1], &v[2], &v[3], &v[4]) != 5)
		return false;
	*ret = (struct sets){ v[0], v[1], v[2], v[3], v[4] };
	return true;
}

static bool read_sets(struct sets *ret)
{
	char text[8192];

	return fd_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof(text)) > 0 &&
	       parse_sets(text, ret);
}

/* Runs fn in a child: its exit code; "told" is what it had in the end. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int code = fn();

		_exit(read_sets(told) ? code : 99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int group_setup(void **state)
{
	(void)state;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return told == MAP_FAILED || !read_sets(&ours) ? -1 : 0;
}

static bool may_all(uint64_t caps)
{
	return geteuid() == 0 && (ours.permitted & caps) == caps &&
	       (ours.bounding & caps) == caps;
}

#define NEEDS(caps)                 \
	do {                        \
		if (!may_all(caps)) \
			skip();     \
	} while (0)

static void default_is_what_people_expect(void **state)
{
	(void)state;
	assert_true(caps_default() == DEFAULT);
}

/* ---- the bounding set ------------------------------------------------------------- */

static uint64_t keep;

static int limit(void)
{
	return -caps_limit_bounding(keep);
}

static void bounding_set_is_what_is_kept(void **state)
{
	const uint64_t kept[] = { DEFAULT,        0,
				  BIT(CAP_CHOWN), BIT(40),
				  ~UINT64_C(0),   ~BIT(CAP_SYS_ADMIN) };

	(void)state;
	NEEDS(DEFAULT);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		keep = kept[i];
		assert_int_equal(in_child(limit), 0);
		assert_true(told->bounding == (ours.bounding & keep));
		/* Only the ceiling: what the child has it still needs. */
		assert_true(told->effective == ours.effective);
	}
}

static int limit_without_setpcap(void)
{
	if (caps_apply(DEFAULT & ~BIT(CAP_SETPCAP), true) < 0)
		return 98;
	return -caps_limit_bounding(0);
}

static void bounding_set_needs_setpcap(void **state)
{
	(void)state;
	NEEDS(DEFAULT);
	assert_int_equal(in_child(limit_without_setpcap), EPERM);
	assert_true(told->bounding == ours.bounding);
}

/* ---- what the member has ---------------------------------------------------------- */

static int apply_root(void)
{
	return -caps_apply(keep, true);
}

static void root_has_what_is_kept(void **state)
{
	const uint64_t kept[] = { DEFAULT, 0, BIT(CAP_NET_BIND_SERVICE),
				  DEFAULT | BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF) };

	(void)state;
	NEEDS(DEFAULT | BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		keep = kept[i];
		assert_int_equal(in_child(apply_root), 0);
		assert_true(told->permitted == keep && told->effective == keep);
		assert_true(told->inheritable == 0 && told->ambient == 0);
	}
}

/* A member that keeps its sets on the change of user has none of them all the same. */
static int apply_nobody(void)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) || !read_sets(told) || !told->permitted)
		return 98;
	return -caps_apply(DEFAULT, false);
}

static void other_users_have_none(void **state)
{
	(void)state;
	NEEDS(DEFAULT);
	assert_int_equal(in_child(apply_nobody), 0);
	assert_true(told->permitted == 0 && told->effective == 0);
	assert_true(told->inheritable == 0 && told->ambient == 0);
}

/* podinit itself may have been started with ambient capabilities. */
static int raise_ambient(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return 96;
	data[0].inheritable = 1U << CAP_KILL;
	if (syscall(SYS_capset, &header, data) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0) < 0)
		return 97;
	return read_sets(told) && told->ambient == BIT(CAP_KILL) ? 0 : 98;
}

static int apply_over_ambient(void)
{
	int code = raise_ambient();

	return code ? code : -caps_apply(DEFAULT, true);
}

static void ambient_and_inheritable_end(void **state)
{
	(void)state;
	NEEDS(DEFAULT);
	assert_int_equal(in_child(apply_over_ambient), 0);
	assert_true(told->permitted == DEFAULT);
	assert_true(told->inheritable == 0 && told->ambient == 0);
}

static int take_back(void)
{
	if (caps_apply(BIT(CAP_KILL), true) < 0)
		return 98;
	return -caps_apply(DEFAULT, true);
}

static void what_is_gone_stays_gone(void **state)
{
	(void)state;
	NEEDS(DEFAULT);
	assert_int_equal(in_child(take_back), EPERM);
	assert_true(told->permitted == BIT(CAP_KILL));
}

/* ---- after exec ------------------------------------------------------------------- */

/* The sets of a program that was executed as the launch child does it. */
static void exec_as(bool is_root, struct sets *ret)
{
	char text[8192];
	size_t len = 0;
	ssize_t n;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (dup2(fds[1], 1) < 0 || caps_limit_bounding(DEFAULT) < 0 ||
		    (!is_root && (setresgid(NOBODY, NOBODY, NOBODY) ||
				  setresuid(NOBODY, NOBODY, NOBODY))) ||
		    caps_apply(DEFAULT, is_root) < 0)
			_exit(98);
		(void)execl("/bin/cat", "cat", "/proc/self/status", NULL);
		_exit(99);
	}
	fd_close(&fds[1]);
	while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	fd_close(&fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(parse_sets(text, ret));
}

static void exec_gives_nothing_back(void **state)
{
	struct sets s;

	(void)state;
	NEEDS(DEFAULT);
	exec_as(true, &s);
	assert_true(s.permitted == DEFAULT && s.effective == DEFAULT);
	assert_true(s.bounding == DEFAULT && s.inheritable == 0 && s.ambient == 0);
	exec_as(false, &s);
	assert_true(s.permitted == 0 && s.effective == 0 && s.ambient == 0);
	assert_true(s.bounding == DEFAULT && s.inheritable == 0);
}

static void add_then_drop(void **state)
{
	static const struct {
		struct spec_caps spec;
		uint64_t want;
	} rows[] = {
		{ { .add = 0 }, DEFAULT },
		{ { .add = BIT(CAP_NET_ADMIN) }, DEFAULT | BIT(CAP_NET_ADMIN) },
		{ { .drop = BIT(CAP_CHOWN) }, DEFAULT & ~BIT(CAP_CHOWN) },
		{ { .add = BIT(CAP_SYS_TIME), .drop = BIT(CAP_SYS_TIME) }, DEFAULT },
		{ { .drop_all = true }, 0 },
		{ { .drop_all = true, .add = BIT(CAP_NET_BIND_SERVICE) },
		  BIT(CAP_NET_BIND_SERVICE) },
		{ { .drop_all = true, .add_all = true }, 0 },
	};
	struct spec_caps all = { .add_all = true, .drop = BIT(CAP_KILL) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (caps_of(&rows[i].spec) != rows[i].want)
			fail_msg("row %zu: %llx", i,
				 (unsigned long long)caps_of(&rows[i].spec));
	assert_true(caps_of(&all) == (ours.permitted & ~BIT(CAP_KILL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_is_what_people_expect),
		cmocka_unit_test(bounding_set_is_what_is_kept),
		cmocka_unit_test(bounding_set_needs_setpcap),
		cmocka_unit_test(root_has_what_is_kept),
		cmocka_unit_test(other_users_have_none),
		cmocka_unit_test(ambient_and_inheritable_end),
		cmocka_unit_test(what_is_gone_stays_gone),
		cmocka_unit_test(exec_gives_nothing_back),
		cmocka_unit_test(add_then_drop),
	};

	return cmocka_run_group_tests_name("pod_caps", tests, group_setup, NULL);
}
