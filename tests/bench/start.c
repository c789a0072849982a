// SPDX-License-Identifier: Apache-2.0
/*
 * start.c - how long a start takes, from the request to the exit that was seen: a member
 * of podinit, a whole pod, and the same program through crun, bubblewrap and bare system
 * calls. All take turns, so that the machine's moods meet all of them.
 *
 * Usage: start ROUNDS WORKDIR [RIVAL ...]: all of them, or those named; see
 * tests/bench/run for what WORKDIR holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "pod/pod.h"
#include "tests/bench/bare_start.h"
#include "tests/bench/world.h"

#define WARM_UP    3
#define ROUNDS_MAX 1000
/* No restart comes by itself. */
#define BACKOFF_MS 3600000

#define POD(name, restart)                                                       \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"restartPolicy\":\"" restart                             \
	"\",\"containers\":[{\"name\":\"main\",\"image\":\"bench\",\"command\":" \
	"[\"/bin/true\"]}]}}"

struct bench {
	struct world world;
	struct pod *pod; /* stays; its member is started again and again */
	struct bare_start bare;
	int group_fd;
	char dir[256], root[300], bundle[300], shared[300];
};

static void run_member(struct bench *b)
{
	struct member *m = &b->pod->members[0];

	member_feed(m, MEMBER_EV_DEADLINE); /* the back-off is over */
	WORLD_UNTIL(&b->world, m->state == MEMBER_BACKOFF);
	if (m->now.exit_code != 0)
		world_fail("member", EPROTO);
}

static struct pod *last_pod;

static void run_pod(struct bench *b)
{
	last_pod = world_pod(&b->world, "%s", POD("once", "Never"));
	WORLD_UNTIL(&b->world, pod_ended(last_pod));
}

static void after_pod(struct bench *b)
{
	if (strcmp(last_pod->phase, "Succeeded") != 0)
		world_fail("pod", EPROTO);
	world_delete(&b->world, last_pod);
}

static void run_bare_member(struct bench *b)
{
	int code = bare_start(&b->bare);

	if (code != 0)
		world_fail("bare_start", code > 0 ? code : errno);
}

/* With what belongs to a pod: namespaces and two levels of groups of its own. */
static void run_bare_pod(struct bench *b)
{
	struct bare_start bare = b->bare;
	_cleanup_close_ int group_fd = -1;

	WORLD_CHECK(mkdirat(b->group_fd, "once", 0755));
	WORLD_CHECK(mkdirat(b->group_fd, "once/main", 0755));
	group_fd = openat(b->group_fd, "once/main", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bare.uts_fd = bare.ipc_fd = bare.net_fd = -1;
	bare.cgroup_fd = group_fd;
	if (bare_start(&bare) != 0)
		world_fail("bare_start of a pod", EPROTO);
}

static void after_bare_pod(struct bench *b)
{
	WORLD_CHECK(unlinkat(b->group_fd, "once/main", AT_REMOVEDIR));
	WORLD_CHECK(unlinkat(b->group_fd, "once", AT_REMOVEDIR));
}

static void run_program(const char *const *argv)
{
	extern char **environ;
	int status = -1;
	pid_t pid;
	int r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);

	if (r != 0)
		world_fail(argv[0], r);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		world_fail(argv[0], EPROTO);
}

static void run_crun(struct bench *b)
{
	run_program((const char *const[]){ "crun", "--cgroup-manager=cgroupfs", "run",
					   "-b", b->bundle, "bench", NULL });
}

static void run_crun_shared(struct bench *b)
{
	run_program((const char *const[]){ "crun", "--cgroup-manager=cgroupfs", "run",
					   "-b", b->shared, "bench", NULL });
}

static void run_bwrap(struct bench *b)
{
	run_program((const char *const[]){ "bwrap",
					   "--unshare-pid",
					   "--unshare-net",
					   "--unshare-ipc",
					   "--unshare-uts",
					   "--hostname",
					   "bench",
					   "--unshare-cgroup",
					   "--as-pid-1",
					   "--bind",
					   b->root,
					   "/",
					   "--proc",
					   "/proc",
					   "--dev",
					   "/dev",
					   "--mqueue",
					   "/dev/mqueue",
					   "--ro-bind",
					   "/sys",
					   "/sys",
					   "--cap-drop",
					   "ALL",
					   "--new-session",
					   "--clearenv",
					   "/bin/true",
					   NULL });
}

static void run_spawn(struct bench *b)
{
	char path[320];

	(void)snprintf(path, sizeof(path), "%s/bin/true", b->root);
	run_program((const char *const[]){ path, NULL });
}

static const struct {
	const char *name;
	void (*run)(struct bench *b);
	void (*after)(struct bench *b); /* not measured */
} rivals[] = {
	{ "podinit_member", run_member, NULL },
	{ "bare_member", run_bare_member, NULL },
	{ "podinit_pod", run_pod, after_pod },
	{ "bare_pod", run_bare_pod, after_bare_pod },
	{ "crun_run", run_crun, NULL },
	{ "crun_run_shared", run_crun_shared, NULL },
	{ "bwrap", run_bwrap, NULL },
	{ "spawn_only", run_spawn, NULL },
};

static void bench_init(struct bench *b, const char *dir)
{
	char images[300];
	struct member *m;

	(void)snprintf(b->dir, sizeof(b->dir), "%s", dir);
	(void)snprintf(images, sizeof(images), "%s/images", dir);
	(void)snprintf(b->root, sizeof(b->root), "%s/images/bench/latest/rootfs", dir);
	(void)snprintf(b->bundle, sizeof(b->bundle), "%s/bundle", dir);
	(void)snprintf(b->shared, sizeof(b->shared), "%s/shared", dir);
	world_init(&b->world, images, BACKOFF_MS);
	b->pod = world_pod(&b->world, "%s", POD("stays", "Always"));
	m = &b->pod->members[0];
	WORLD_UNTIL(&b->world, m->state == MEMBER_BACKOFF && m->restarts >= 1);

	WORLD_CHECK(mkdir("/run/bare", 0755));
	WORLD_CHECK(mkdirat(b->world.pods.cgroup_fd, "bare", 0755));
	b->group_fd = openat(b->world.pods.cgroup_fd, "bare",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	WORLD_CHECK(b->group_fd);
	WORLD_CHECK(mkdirat(b->group_fd, "main", 0755));
	b->bare = (struct bare_start){
		.lower = b->root,
		.scratch = "/run/bare",
		.program = "/bin/true",
		.uts_fd = b->pod->sandbox.uts_fd,
		.ipc_fd = b->pod->sandbox.ipc_fd,
		.net_fd = b->pod->sandbox.net_fd,
		.cgroup_fd = openat(b->group_fd, "main",
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	WORLD_CHECK(b->bare.cgroup_fd);
}

static bool wanted(char *const *names, const char *name)
{
	bool all = !*names;

	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return all;
}

int main(int argc, char **argv)
{
	static int64_t samples[ARRAY_SIZE(rivals)][ROUNDS_MAX];
	static struct bench bench;
	int rounds = argc >= 3 ? atoi(argv[1]) : 0;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	bench_init(&bench, argv[2]);
	for (int round = -WARM_UP; round < rounds; round++)
		for (size_t i = 0; i < ARRAY_SIZE(rivals); i++) {
			int64_t begin = time_boot_ns();

			if (!wanted(argv + 3, rivals[i].name))
				continue;
			rivals[i].run(&bench);
			if (round >= 0)
				samples[i][round] = time_boot_ns() - begin;
			if (rivals[i].after)
				rivals[i].after(&bench);
		}
	for (size_t i = 0; i < ARRAY_SIZE(rivals); i++)
		if (wanted(argv + 3, rivals[i].name))
			figures_print(rivals[i].name, samples[i], (size_t)rounds);
	return 0;
}
