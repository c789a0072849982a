// SPDX-License-Identifier: Apache-2.0
/*
 * scale.c - what grows with the number of pods and members, and what must not.
 *
 * Prints the time from a member's last instruction to the published record of its exit
 * with MEMBERS idle ones alive, and the cost of creating and deleting a pod beside 1, 200
 * and 1,000 others. Usage: scale WORKDIR
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "pod/pod.h"
#include "tests/bench/world.h"

#define PODS    10
#define PER_POD 100
#define EXITS   (PODS * PER_POD)
#define CYCLES  40
#define STAMP   "/run/stamp"

static const char head[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
			   "{\"name\":\"%s\"},\"spec\":{\"restartPolicy\":\"Always\","
			   "\"volumes\":[{\"name\":\"stamp\",\"hostPath\":{\"path\":"
			   "\"" STAMP "\"}}],\"containers\":[%s]}}";
static const char one[] = "%s{\"name\":\"m%d\",\"image\":\"bench\",\"command\":[\"/bin/"
			  "idle\",\"/stamp\"],\"volumeMounts\":[{\"name\":\"stamp\","
			  "\"mountPath\":\"/stamp\"}]}";

static int64_t woken_ns, published_ns;
static struct journal_cursor cursor;

/* The record is there for everybody: from here on subscribers are woken. */
static void journal_grew(void *arg)
{
	const struct pods *pods = arg;
	struct journal_record record;
	uint64_t lost;

	while (journal_next(&pods->events, &cursor, &record, &lost))
		if (record.kind == POD_EVENT_MEMBER_EXITED && !published_ns) {
			published_ns = time_boot_ns();
			woken_ns = loop_now(pods->loop);
		}
}

static struct pod *create(struct world *w, const char *name, int members)
{
	static char list[32768];
	size_t len = 0;

	for (int i = 0; i < members; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, one, i ? "," : "",
					i);
	if (len >= sizeof(list))
		world_fail("manifest", E2BIG);
	return world_pod(w, head, name, list);
}

static bool all_run(const struct pod *pod)
{
	for (size_t i = 0; i < pod->n_members; i++)
		if (pod->members[i].state != MEMBER_RUNNING)
			return false;
	return true;
}

static void exits(struct world *w, volatile int64_t *stamp)
{
	static int64_t samples[EXITS], kernel[EXITS], ours[EXITS];
	struct pod *pods[PODS];
	int64_t begin = time_boot_ns();
	char name[32];

	for (int i = 0; i < PODS; i++) {
		(void)snprintf(name, sizeof(name), "idle%d", i);
		pods[i] = create(w, name, PER_POD);
		WORLD_UNTIL(w, all_run(pods[i]));
	}
	printf("thousand_members start_ms=%.0f\n",
	       (double)(time_boot_ns() - begin) / NSEC_PER_MSEC);
	for (size_t i = 0; i < EXITS; i++) {
		struct pod *pod = pods[i % PODS];
		struct member *m = &pod->members[i / PODS % PER_POD];
		uint32_t restarts = m->restarts;

		*stamp = -1;
		published_ns = 0;
		if (member_kill(pod, m->spec->name, SIGTERM) < 0)
			world_fail("member_kill", ESRCH);
		WORLD_UNTIL(w, published_ns);
		samples[i] = published_ns - *stamp;
		kernel[i] = woken_ns - *stamp;
		ours[i] = published_ns - woken_ns;
		/* Back to a thousand. Each member ends once: the next is past its start.
		 */
		WORLD_UNTIL(w, m->restarts > restarts && m->state == MEMBER_RUNNING);
	}
	figures_print("exit_to_record", samples, EXITS);
	figures_print("exit_to_wake", kernel, EXITS);
	figures_print("wake_to_record", ours, EXITS);
	for (int i = 0; i < PODS; i++)
		world_delete(w, pods[i]);
}

static void cycles(struct world *w, const char *label)
{
	int64_t creates[CYCLES], deletes[CYCLES];
	char text[64];

	for (size_t i = 0; i < CYCLES; i++) {
		int64_t begin = time_boot_ns(), middle;
		struct pod *pod = create(w, "cycle", 1);

		WORLD_UNTIL(w, all_run(pod));
		middle = time_boot_ns();
		world_delete(w, pod);
		creates[i] = middle - begin;
		deletes[i] = time_boot_ns() - middle;
	}
	(void)snprintf(text, sizeof(text), "create_beside_%s", label);
	figures_print(text, creates, CYCLES);
	(void)snprintf(text, sizeof(text), "delete_beside_%s", label);
	figures_print(text, deletes, CYCLES);
}

static void flatness(struct world *w)
{
	static const int steps[] = { 1, 200, 1000 };
	int alive = 0;
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (; alive < steps[i]; alive++) {
			struct pod *pod;

			(void)snprintf(name, sizeof(name), "alive%d", alive);
			pod = create(w, name, 1);
			WORLD_UNTIL(w, all_run(pod));
		}
		(void)snprintf(name, sizeof(name), "%d", alive);
		cycles(w, name);
	}
}

int main(int argc, char **argv)
{
	struct rlimit files;
	static struct world world;
	char images[300];
	volatile int64_t *stamp;
	int fd;

	if (argc != 2)
		return 2;
	WORLD_CHECK(getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = files.rlim_max;
	WORLD_CHECK(setrlimit(RLIMIT_NOFILE, &files));
	(void)snprintf(images, sizeof(images), "%s/images", argv[1]);
	world_init(&world, images, 0);
	world.pods.hooks.journal_grew = journal_grew;
	world.pods.hooks.arg = &world.pods;
	fd = open(STAMP, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	WORLD_CHECK(fd);
	WORLD_CHECK(ftruncate(fd, sizeof(*stamp)));
	stamp = mmap(NULL, sizeof(*stamp), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (stamp == MAP_FAILED)
		world_fail("mmap", errno);
	exits(&world, stamp);
	flatness(&world);
	return 0; /* what still runs dies with this PID 1 */
}
