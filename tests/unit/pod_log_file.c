// SPDX-License-Identifier: Apache-2.0
/*
 * pod_log_file.c - log files: layout, rotation, retention, faults of the disk, attacks.
 * Needs root for the one that mounts a tiny tmpfs, and skips it otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pod/log_file.h"

static char root[64], dir[128], member_dir[256];
static struct log_limits limits;
static struct log_file file;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void tree_remove(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/podinit-test-log-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(dir, sizeof(dir), "%s/var/log/pods", root);
	snprintf(member_dir, sizeof(member_dir), "%s/ns_pod_uid/main", dir);
	limits = (struct log_limits){ .dir = dir, .max_bytes = 1 << 20, .max_files = 3 };
	log_file_init(&file, &limits, "ns_pod_uid", "main", 7);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_file_close(&file);
	tree_remove(root);
	return 0;
}

static size_t files_count(const char *prefix, off_t *ret_bytes)
{
	DIR *d = opendir(member_dir);
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	assert_non_null(d);
	*ret_bytes = 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		assert_int_equal(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW),
				 0);
		*ret_bytes += st.st_size;
		n++;
	}
	closedir(d);
	return n;
}

/* All of the member's files, oldest name first, the live one last. */
static char *files_text(uint32_t attempt)
{
	char command[512], *text = calloc(1, 1 << 20);
	FILE *p;

	snprintf(command, sizeof(command),
		 "cd %s && cat $(ls -1 %u.log.* 2>/dev/null) %u.log", member_dir, attempt,
		 attempt);
	p = popen(command, "r");
	assert_non_null(p);
	(void)!fread(text, 1, (1 << 20) - 1, p);
	assert_int_equal(pclose(p), 0);
	return text;
}

static void write_text(const char *text)
{
	assert_int_equal(log_file_write(&file, text, strlen(text)), 0);
}

static void test_layout(void **state)
{
	char path[512], pod_dir[NAME_MAX + 1], pod[254];
	struct stat st;
	char *text;

	(void)state;
	write_text("one\n");
	write_text("two\nthree\n");
	snprintf(path, sizeof(path), "%s/7.log", member_dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777 & ~0640, 0);
	text = files_text(7);
	assert_string_equal(text, "one\ntwo\nthree\n");
	free(text);
	assert_int_equal(file.code, 0);
	assert_int_equal(file.lost_bytes, 0);

	log_file_pod_dir(pod_dir, "default", "web", "1-2-3");
	assert_string_equal(pod_dir, "default_web_1-2-3");
	memset(pod, 'p', 253);
	pod[253] = '\0';
	log_file_pod_dir(pod_dir, "default", pod, "11111111-2222-3333-4444-555555555555");
	assert_int_equal(strlen(pod_dir), NAME_MAX);
	assert_string_equal(strrchr(pod_dir, '_'),
			    "_11111111-2222-3333-4444-555555555555");
}

/* Many rotations within one second: none overwrites another, the newest are kept. */
static void test_rotation(void **state)
{
	char line[64], *text;
	off_t bytes;
	int last;

	(void)state;
	limits.max_bytes = 100;
	for (int i = 0; i < 200; i++) {
		snprintf(line, sizeof(line), "line %05d\n",
			 i); /* 11 bytes: 9 to a file */
		write_text(line);
		assert_in_range(files_count("7.log", &bytes), 1, 3);
		assert_true(bytes <= 300);
	}
	assert_int_equal(files_count("7.log", &bytes), 3);
	text = files_text(7);
	/* 200 = 22 * 9 + 2: two full files and the newest two lines. */
	last = 180;
	for (char *at = text; *at; at += 11) {
		snprintf(line, sizeof(line), "line %05d\n", last++);
		assert_memory_equal(at, line, 11);
	}
	assert_int_equal(last, 200);
	free(text);
}

/* Another process goes on with the files, within the same second: after the pruning too
 * its names are the newest. */
static void test_rotation_goes_on(void **state)
{
	char line[64], path[512], *text;
	off_t bytes;

	(void)state;
	limits.max_bytes = 11; /* a line to a file */
	for (int i = 0; i < 40; i++) {
		snprintf(line, sizeof(line), "line %05d\n", i);
		write_text(line);
		log_file_close(&file);
		log_file_init(&file, &limits, "ns_pod_uid", "main", 7);
	}
	assert_int_equal(files_count("7.log", &bytes), 3);
	text = files_text(7);
	assert_string_equal(text, "line 00037\nline 00038\nline 00039\n");
	free(text);

	/* The clock was set back, and somebody left what is no name of ours. */
	for (const char *const *name =
		     (const char *const[]){ "7.log.29991231-235959", "7.log.zzz",
					    "7.log.29991231-235959-x",
					    "7.log.29991231-2359590",
					    "77.log.30000101-000000", NULL };
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", member_dir, *name);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	write_text("line 00040\n");
	snprintf(path, sizeof(path), "%s/7.log.29991231-235959-000001", member_dir);
	assert_int_equal(access(path, F_OK), 0);
}

/* One burst larger than several files is cut between lines. */
static void test_rotation_in_burst(void **state)
{
	static char burst[11 * 1000 + 1];
	char *text;
	off_t bytes;

	(void)state;
	limits.max_bytes = 4096;
	limits.max_files = 10;
	for (int i = 0; i < 1000; i++)
		snprintf(burst + i * 11, 12, "line %05d\n", i);
	write_text(burst);
	assert_int_equal(files_count("7.log", &bytes), 3);
	text = files_text(7);
	assert_string_equal(text, burst);
	free(text);

	/* A line longer than the limit goes into a file of its own. */
	memset(burst, 'x', sizeof(burst) - 2);
	burst[sizeof(burst) - 2] = '\n';
	write_text(burst);
	write_text("short\n");
	assert_int_equal(file.lost_bytes, 0);
	assert_int_equal(files_count("7.log", &bytes), 5);
	assert_int_equal(bytes, 2 * 11000 + 6);
}

static void test_one_file(void **state)
{
	off_t bytes;

	(void)state;
	limits.max_bytes = 100;
	limits.max_files = 1;
	for (int i = 0; i < 50; i++)
		write_text("0123456789\n");
	assert_int_equal(files_count("7.log", &bytes), 1);
	assert_true(bytes <= 100);
}

static void test_old_attempts(void **state)
{
	char path[512];
	off_t bytes;

	(void)state;
	for (uint32_t attempt = 0; attempt < 12; attempt++) {
		log_file_close(&file);
		log_file_init(&file, &limits, "ns_pod_uid", "main", attempt);
		limits.max_bytes = 15;
		write_text("0123456789\n");
		write_text("0123456789\n"); /* with a rotated file each */
		limits.max_bytes = 1 << 20;
		snprintf(path, sizeof(path), "%s/notes.txt", member_dir);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	assert_int_equal(files_count("", &bytes), 7);
	assert_int_equal(files_count("9.log", &bytes), 2);
	assert_int_equal(files_count("10.log", &bytes), 2);
	assert_int_equal(files_count("11.log", &bytes), 2);
	assert_int_equal(files_count("notes", &bytes), 1); /* not ours, not touched */
}

static void test_directory_removed(void **state)
{
	char *text;

	(void)state;
	write_text("before\n");
	tree_remove(dir);
	write_text("after\n");
	text = files_text(7);
	assert_string_equal(text, "after\n");
	free(text);
	assert_int_equal(file.lost_bytes, 0);

	/* A member who truncates its own log does not confuse the rotation. */
	limits.max_bytes = 10;
	assert_int_equal(ftruncate(file.fd, 0), 0);
	write_text("again\n");
	text = files_text(7);
	assert_string_equal(text, "again\n");
	free(text);
}

static void test_links(void **state)
{
	char victim[128], path[512], buf[8] = "";
	int fd;

	(void)state;
	snprintf(victim, sizeof(victim), "%s/victim", root);
	fd = open(victim, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	write_text("make the directories\n");
	log_file_close(&file);

	/* The file itself. */
	snprintf(path, sizeof(path), "%s/7.log", member_dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(victim, path), 0);
	assert_int_equal(log_file_write(&file, "evil\n", 5), -ELOOP);
	assert_int_equal(file.lost_bytes, 5);
	assert_int_equal(file.code, ELOOP);
	/* A fifo does not hold us. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(log_file_write(&file, "evil\n", 5), -ENXIO);
	assert_int_equal(unlink(path), 0);

	/* The member's directory. */
	assert_int_equal(rmdir(member_dir), 0);
	assert_int_equal(symlink(root, member_dir), 0);
	assert_true(log_file_write(&file, "evil\n", 5) < 0);
	snprintf(path, sizeof(path), "%s/7.log", root);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(unlink(member_dir), 0);

	assert_int_equal(pread(fd, buf, sizeof(buf), 0), 0);
	close(fd);
	write_text("good again\n");
	assert_int_equal(file.code, 0);
	assert_int_equal(file.lost_bytes, 15);
}

/* In a child with its own mounts: a file system of 64 KiB. */
static int full_disk(void)
{
	static char burst[16 * 6000 + 1], line[] = "0123456789abcde\n";
	char path[512], *text;
	struct stat st;
	off_t at = 0;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (mount("tmpfs", root, "tmpfs", 0, "size=64k") < 0)
		return 77;
	for (int i = 0; i < 6000; i++)
		memcpy(burst + i * 16, line, 16);
	if (log_file_write(&file, burst, sizeof(burst) - 1) != -ENOSPC ||
	    file.code != ENOSPC || !file.lost_bytes)
		return 1;
	/* Whole lines only, and what is missing is counted to the byte. */
	if (fstat(file.fd, &st) < 0 || st.st_size % 16 || st.st_size < 40000 ||
	    (uint64_t)st.st_size + file.lost_bytes != sizeof(burst) - 1)
		return 2;
	if (log_file_write(&file, line, 16) != -ENOSPC)
		return 3;
	at = st.st_size;
	snprintf(path, sizeof(path), "remount,size=1m");
	if (mount("tmpfs", root, NULL, MS_REMOUNT, "size=1m") < 0)
		return 4;
	if (log_file_write(&file, "room again\n", 11) != 0 || file.code)
		return 5;
	text = files_text(7);
	return strcmp(text + at, "room again\n") == 0 ? 0 : 6;
}

static void test_disk_full(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(full_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A mark says which bytes are written already, also across a rotation. */
static struct log_mark marks[16];
static size_t marks_len;

static void on_mark(struct log_file *f, const struct log_mark *mark)
{
	(void)f;
	assert_true(marks_len < ARRAY_SIZE(marks));
	marks[marks_len++] = *mark;
}

static void test_resume(void **state)
{
	struct log_file next;

	(void)state;
	limits.max_bytes = 30;
	marks_len = 0;
	file.mark = on_mark;
	write_text("0123456789\n0123456789\n0123456789\n"); /* 22 bytes, rotate, 11 */
	assert_int_equal(marks_len, 5);

	log_file_init(&next, &limits, "ns_pod_uid", "main", 7);
	/* Killed before the rotation: 22 bytes were in a file that has another inode now.
	 */
	assert_int_equal(marks[1].done, 22);
	assert_int_equal(log_file_resume(&next, &marks[1], 33), 22);
	/* Killed after the last write, before its mark. */
	assert_int_equal(log_file_resume(&next, &marks[3], 33), 33);
	/* Killed in the middle of it. */
	assert_int_equal(ftruncate(file.fd, 4), 0);
	assert_int_equal(log_file_resume(&next, &marks[3], 33), 26);
	/* Never more than there is. */
	assert_int_equal(log_file_resume(&next, &marks[3], 25), 25);
	log_file_close(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rotation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rotation_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rotation_in_burst, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_attempts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resume, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
