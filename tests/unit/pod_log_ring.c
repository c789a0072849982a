// SPDX-License-Identifier: Apache-2.0
/*
 * pod_log_ring.c - the queue to the log writer: order, wrap, fill, marks, and a consumer
 * that puts nonsense where its offset should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pod/log_ring.h"

static char lines[LOG_RING_LINES_MAX];
static struct log_file file;
static const struct log_limits limits = { .dir = "/nowhere",
					  .max_bytes = 1,
					  .max_files = 1 };
static struct log_ring ring;

static int setup(void **state)
{
	(void)state;
	log_file_init(&file, &limits, "ns_pod_uid", "main", 3);
	return log_ring_init(&ring);
}

static int teardown(void **state)
{
	(void)state;
	log_ring_free(&ring);
	log_ring_free(&ring);
	return 0;
}

static bool put(uint64_t number, size_t len)
{
	memset(lines, (int)('a' + number % 26), len);
	return log_ring_put(&ring, LOG_MESSAGE_LINES, number, &file, lines, len);
}

static void take(uint64_t number, size_t len)
{
	const struct log_message *m = log_ring_peek(&ring);

	assert_non_null(m);
	assert_int_equal(m->kind, LOG_MESSAGE_LINES);
	assert_int_equal(m->log_id, number);
	assert_int_equal(m->number, number);
	assert_int_equal(m->attempt, 3);
	assert_string_equal(m->bytes, "ns_pod_uid");
	assert_string_equal(log_message_member(m), "main");
	assert_int_equal(m->lines_bytes, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(log_message_lines(m)[i], 'a' + number % 26);
	log_ring_take(&ring);
}

static uint32_t seed = 99;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* A model of lengths, random puts and takes; long enough to wrap many times. */
static void test_model(void **state)
{
	static size_t lens[65536];
	uint64_t first = 1, next = 1;
	size_t queued = 0, refused = 0;

	(void)state;
	for (int i = 0; i < 120000; i++) {
		size_t len = rnd(30) ? rnd(300) : rnd(LOG_RING_LINES_MAX + 1);

		/* Phases in which it fills up, and in which it runs dry. */
		if (rnd(100) < (i / 15000 % 2 ? 30u : 70u)) {
			if (put(next, len)) {
				lens[next++ % ARRAY_SIZE(lens)] = len;
				queued += len;
			} else {
				refused++;
				assert_true(log_ring_used(&ring) >
					    LOG_RING_BYTES_MAX - 3 * LOG_RING_LINES_MAX);
			}
		} else if (first < next) {
			len = lens[first % ARRAY_SIZE(lens)];
			take(first++, len);
			queued -= len;
		}
		assert_true(log_ring_used(&ring) >= queued);
		assert_int_equal(first == next, log_ring_used(&ring) == 0);
	}
	assert_true(refused > 0);
	while (first < next) {
		take(first, lens[first % ARRAY_SIZE(lens)]);
		first++;
	}
	assert_null(log_ring_peek(&ring));
	assert_int_equal(log_ring_used(&ring), 0);
}

/* While the consumer keeps up, little of it has pages. */
static void test_thrift(void **state)
{
	static unsigned char here[LOG_RING_BYTES_MAX / 4096 + 1];
	size_t touched = 0;

	(void)state;
	for (uint64_t i = 1; i < 100000; i++) {
		assert_true(put(i, 100));
		take(i, 100);
	}
	assert_true(ring.queued > LOG_RING_BYTES_MAX);
	assert_int_equal(mincore(ring.shared, LOG_RING_BYTES_MAX + 4096, here), 0);
	for (size_t i = 0; i < sizeof(here); i++)
		touched += here[i] & 1;
	assert_true(touched <= LOG_RING_SOFT_BYTES / 4096 + 3);
}

/* Up to the soft limit there is always room for one more burst. */
static void test_reserve(void **state)
{
	uint64_t n = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t first = n;

		while (log_ring_used(&ring) < LOG_RING_SOFT_BYTES)
			assert_true(put(n++, 1 + rnd(LOG_RING_LINES_MAX)));
		/* A pipe full of newlines: 41 bytes of file for each. */
		for (size_t left = 65536 * 41; left > 0;) {
			size_t len = MIN(left, sizeof(lines));

			assert_true(put(n++, len));
			left -= len;
		}
		for (; first < n; first++)
			log_ring_take(&ring);
	}
}

static void test_room(void **state)
{
	uint64_t first = 1, n = 1;

	(void)state;
	assert_false(log_ring_room_wanted(&ring));
	while (log_ring_used(&ring) < LOG_RING_SOFT_BYTES)
		assert_true(put(n++, 10000));
	log_ring_want_room(&ring);
	assert_false(log_ring_room_wanted(&ring));
	while (!log_ring_room_wanted(&ring)) {
		take(first++, 10000);
		assert_true(first < n);
	}
	assert_in_range(log_ring_used(&ring), 1, LOG_RING_SOFT_BYTES / 2);
	assert_false(log_ring_room_wanted(&ring)); /* once */
}

static void test_marks(void **state)
{
	const struct log_message *m;
	struct log_mark mark;

	(void)state;
	assert_true(put(1, 10));
	assert_true(put(2, 10));
	m = log_ring_peek(&ring);
	assert_false(log_ring_marked(&ring, m, &mark));
	log_ring_mark(&ring, m, &(struct log_mark){ .done = 3, .inode = 4, .size = 5 });
	log_ring_mark(&ring, m, &(struct log_mark){ .done = 6, .inode = 7, .size = 8 });
	assert_true(log_ring_marked(&ring, m, &mark));
	assert_int_equal(mark.done, 6);
	assert_int_equal(mark.inode, 7);
	assert_int_equal(mark.size, 8);
	log_ring_take(&ring);
	assert_false(log_ring_marked(&ring, log_ring_peek(&ring), &mark));
}

/* The offset belongs to the other process: a wild one must not make us read outside. */
static void test_wild_offset(void **state)
{
	uint32_t *read_at = (uint32_t *)ring.shared + 1;

	(void)state;
	assert_true(put(1, 100));
	for (uint32_t i = 0; i < 64; i++) {
		*read_at = i < 32 ? 1U << i : ~(1U << (i - 32));
		(void)log_ring_used(&ring);
		(void)put(2 + i, 100);
	}
}

/* Two processes, a million wake-ups at most: nothing is missed. */
static void test_two_processes(void **state)
{
	const uint64_t total = 20000;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		for (uint64_t n = 1; n <= total; n++) {
			const struct log_message *m;

			alarm(20); /* a lost wake-up ends the test */
			while (!(m = log_ring_peek(&ring)))
				log_ring_wait(&ring);
			if (m->number != n || m->lines_bytes != n % 5000)
				_exit(1);
			log_ring_take(&ring);
		}
		_exit(0);
	}
	for (uint64_t n = 1; n <= total;)
		if (put(n, n % 5000))
			n++;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_model, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thrift, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reserve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wild_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_processes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
