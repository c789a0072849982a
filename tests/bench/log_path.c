// SPDX-License-Identifier: Apache-2.0
/*
 * log_path.c - the log path against `cat`: the same producer through the same pipe, once
 * through member_log (file, tail and journal), once through read(2) and write(2).
 *
 * Prints one line per line length: MB/s of both, best of ROUNDS (payload, not counting
 * the CRI heads that only the log path writes), the processor time of the reading side
 * for one MB, and the ratios. Without rotation, as cat has none either. Usage: log_path
 * [MEGABYTES [DIRECTORY]]; a directory on a disk measures the way over the writer child
 * (whose time is not ours).
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "pod/log_split.h"
#include "pod/member_log.h"

#define ROUNDS    5
#define BURST     65536
#define CAT_BYTES 131072 /* what coreutils' cat reads at once */

static char dir[256];
static size_t total_bytes;

struct figure {
	double mb_s, cpu_us_mb;
};

struct stopwatch {
	int64_t wall_ns, cpu_ns;
};

static struct stopwatch watch(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u); /* cannot fail */
	return (struct stopwatch){
		.wall_ns = time_boot_ns(),
		.cpu_ns = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
			  (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000,
	};
}

static void keep_best(struct figure *best, struct stopwatch begin)
{
	struct stopwatch end = watch();
	double mb = (double)total_bytes / 1e6;
	double mb_s = mb * 1e9 / (double)(end.wall_ns - begin.wall_ns);
	double cpu = (double)(end.cpu_ns - begin.cpu_ns) / 1e3 / mb;

	best->mb_s = MAX(best->mb_s, mb_s);
	if (best->cpu_us_mb == 0 || cpu < best->cpu_us_mb)
		best->cpu_us_mb = cpu;
}

/* Lines of len bytes, each in a write(2) of its own or as many as fit into a burst. */
static void produce(int fd, size_t len, bool by_line)
{
	static char burst[BURST];
	size_t size = by_line ? len : sizeof(burst);

	for (size_t i = 0; i < sizeof(burst); i++)
		burst[i] = (char)(i % len == len - 1 ? '\n' : 'a' + i % 23);
	for (size_t n = 0; n < total_bytes;) {
		ssize_t w = write(fd, burst, MIN(size, total_bytes - n));

		if (w <= 0)
			_exit(1);
		n += (size_t)w;
	}
	_exit(0);
}

static pid_t producer_start(int write_fd, size_t len, bool by_line)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(write_fd, 1);
		(void)close_range(3, ~0U, 0);
		produce(1, len, by_line);
	}
	return pid;
}

static void cat_run(struct figure *best, size_t len, bool by_line)
{
	static char buf[CAT_BYTES];
	char path[300];
	int fds[2], out;
	struct stopwatch begin;
	ssize_t n;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/cat", dir);
	out = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (out < 0 || pipe2(fds, O_CLOEXEC) < 0)
		exit(1);
	begin = watch();
	pid = producer_start(fds[1], len, by_line);
	close(fds[1]);
	while ((n = read(fds[0], buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			exit(1);
	(void)waitpid(pid, NULL, 0);
	keep_best(best, begin);
	close(fds[0]);
	close(out);
	(void)unlink(path);
}

static void log_run(struct figure *best, struct loop *loop, struct member_log *log,
		    uint32_t attempt, size_t len, bool by_line)
{
	struct log_ends ends;
	struct log_stats stats;
	struct stopwatch begin;
	pid_t pid;

	if (member_log_open(log, attempt, false, &ends, NULL) < 0)
		exit(1);
	begin = watch();
	pid = producer_start(ends.out, len, by_line);
	fd_close(&ends.out);
	fd_close(&ends.err);
	do {
		if (loop_turn(loop, 1000) < 0)
			exit(1);
		member_log_stats(log, &stats);
	} while (stats.bytes[LOG_STDOUT] < total_bytes);
	(void)waitpid(pid, NULL, 0);
	member_log_drain(log);
	keep_best(best, begin);
	member_log_stats(log, &stats);
	if (stats.lost_bytes)
		exit(1);
}

static void print(size_t len, bool by_line, const struct figure *cat,
		  const struct figure *ours)
{
	double ratio = ours->mb_s / cat->mb_s;

	printf("log_path producer=%s line_bytes=%zu cat_mb_s=%.0f log_mb_s=%.0f "
	       "ratio=%.2f "
	       "file_ratio=%.2f cat_cpu_us_mb=%.0f log_cpu_us_mb=%.0f\n",
	       by_line ? "line" : "burst", len, cat->mb_s, ours->mb_s, ratio,
	       ratio * (double)(len + LOG_HEAD_BYTES) / (double)len, cat->cpu_us_mb,
	       ours->cpu_us_mb);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(int argc, char **argv)
{
	static const size_t lengths[] = { 20, 80, 200, 1000 };
	struct log_owner owner = { "ns", "pod", "uid", "main" };
	struct log_config config = {
		.dir = dir, .max_bytes = 16LL << 30, .max_files = 1, .tail_bytes = 65536
	};
	struct log_service *service;
	struct member_log *log;
	struct journal lines;
	struct loop *loop;
	uint32_t attempt = 0;

	total_bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
	snprintf(dir, sizeof(dir), "%s/podinit-bench-XXXXXX",
		 argc > 2 ? argv[2] : "/dev/shm");
	if (!mkdtemp(dir) || loop_init(&loop) < 0 || journal_init(&lines, 1 << 18) < 0 ||
	    log_service_init(&service, loop, &config, &lines, NULL) < 0)
		return 1;
	log = member_log_new(service, &owner);
	if (!log)
		return 1;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(lengths); i++) {
		bool by_line = i < ARRAY_SIZE(lengths);
		size_t len = lengths[i % ARRAY_SIZE(lengths)];
		struct figure cat = { 0 }, ours = { 0 };

		for (int round = 0; round < ROUNDS; round++) {
			cat_run(&cat, len, by_line);
			log_run(&ours, loop, log, attempt++, len, by_line);
		}
		print(len, by_line, &cat, &ours);
	}
	member_log_free(log);
	log_service_free(service);
	loop_free(loop);
	journal_free(&lines);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
