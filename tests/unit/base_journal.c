// SPDX-License-Identifier: Apache-2.0
/*
 * base_journal.c - the ring of numbered records: wrap, loss counts, cursors, cut bodies,
 * and a model that remembers everything, driven by random operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/journal.h"

static uint64_t append_text(struct journal *j, uint32_t kind, const char *text)
{
	return journal_append(j, kind, 7000 + kind, "head", 4, text, strlen(text));
}

static void test_sizes(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(journal_init(&j, 0), -EINVAL);
	assert_int_equal(journal_init(&j, 2048), -EINVAL);
	assert_int_equal(journal_init(&j, 5000), -EINVAL);
	assert_int_equal(journal_init(&j, (size_t)1 << 40), -EINVAL);
	assert_int_equal(journal_init(&j, 4096), 0);
	journal_free(&j);
	journal_free(&j);
}

static void test_record(void **state)
{
	struct journal_cursor c = { 0 };
	struct journal_record r;
	struct journal j;
	uint64_t lost;

	(void)state;
	assert_int_equal(journal_init(&j, 4096), 0);
	assert_false(journal_next(&j, &c, &r, &lost));
	assert_int_equal(append_text(&j, 3, "hello"), 1);
	assert_int_equal(journal_append(&j, 4, -1, NULL, 0, NULL, 0), 2);

	assert_true(journal_next(&j, &c, &r, &lost));
	assert_int_equal(lost, 0);
	assert_int_equal(r.seq, 1);
	assert_int_equal(r.kind, 3);
	assert_int_equal(r.wall_ns, 7003);
	assert_int_equal(r.head_len, 4);
	assert_memory_equal(r.head, "head", 4);
	assert_int_equal(r.body_len, 5);
	assert_memory_equal(r.body, "hello", 5);

	assert_true(journal_next(&j, &c, &r, &lost));
	assert_int_equal(r.seq, 2);
	assert_int_equal(r.wall_ns, -1);
	assert_int_equal(r.head_len + r.body_len, 0);
	assert_false(journal_next(&j, &c, &r, &lost));

	/* A cursor at the end goes on when something comes. */
	append_text(&j, 5, "more");
	assert_true(journal_next(&j, &c, &r, &lost));
	assert_int_equal(r.seq, 3);
	assert_int_equal(lost, 0);
	journal_free(&j);
}

static void test_cut(void **state)
{
	static char big[8192];
	struct journal_cursor c = { 0 };
	struct journal_record r;
	struct journal j;
	uint64_t lost;

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(journal_init(&j, 4096), 0);
	for (int i = 0; i < 4; i++)
		journal_append(&j, 0, 0, "head", 4, big, sizeof(big));
	for (uint64_t seq = 1; seq <= 4; seq++) {
		assert_true(journal_next(&j, &c, &r, &lost));
		assert_int_equal(lost, 0);
		assert_int_equal(r.seq, seq);
		assert_int_equal(r.head_len, 4);
		assert_in_range(r.body_len, 900, 1024);
		assert_int_equal(r.body_len, journal_body_max(&j, 4));
		assert_memory_equal(r.body, big, r.body_len);
	}
	journal_free(&j);
}

static void test_lost(void **state)
{
	struct journal_cursor slow, fresh = { 0 };
	struct journal_record r;
	struct journal j;
	uint64_t lost, seen = 0, missed = 0;

	(void)state;
	assert_int_equal(journal_init(&j, 4096), 0);
	append_text(&j, 1, "first");
	journal_seek_start(&j, &slow);
	assert_true(journal_next(&j, &slow, &r, &lost));
	for (int i = 0; i < 1000; i++)
		append_text(&j, 2, "a line of some length");
	while (journal_next(&j, &slow, &r, &lost)) {
		missed += lost;
		seen++;
		assert_int_equal(r.seq, 1 + missed + seen);
	}
	assert_true(missed > 0);
	assert_int_equal(missed + seen, 1000);

	/* A cursor that never read anything has lost nothing. */
	assert_true(journal_next(&j, &fresh, &r, &lost));
	assert_int_equal(lost, 0);
	assert_int_equal(r.seq, j.first_seq);
	journal_free(&j);
}

static void test_seek(void **state)
{
	struct journal_cursor c;
	struct journal_record r;
	struct journal j;
	uint64_t lost;

	(void)state;
	assert_int_equal(journal_init(&j, 4096), 0);
	for (int i = 0; i < 500; i++)
		append_text(&j, 2, "0123456789");
	for (uint64_t seq = j.first_seq; seq < j.next_seq; seq++) {
		journal_seek_seq(&j, &c, seq);
		assert_true(journal_next(&j, &c, &r, &lost));
		assert_int_equal(r.seq, seq);
		assert_int_equal(lost, 0);
	}
	journal_seek_seq(&j, &c, 1);
	assert_true(journal_next(&j, &c, &r, &lost));
	assert_int_equal(r.seq, j.first_seq);
	journal_seek_seq(&j, &c, 100000);
	assert_false(journal_next(&j, &c, &r, &lost));
	assert_int_equal(append_text(&j, 9, "new"), 501);
	assert_true(journal_next(&j, &c, &r, &lost));
	assert_int_equal(r.seq, 501);
	journal_seek_end(&j, &c);
	assert_false(journal_next(&j, &c, &r, &lost));
	journal_free(&j);
}

/* Pages that were never written are not there: the promise behind a ring per member. */
static void test_lazy(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned char here[64];
	size_t touched = 0;
	struct journal j;

	(void)state;
	assert_int_equal(journal_init(&j, sizeof(here) * (size_t)page), 0);
	append_text(&j, 1, "one line");
	assert_int_equal(mincore(j.map, j.size, here), 0);
	for (size_t i = 0; i < sizeof(here); i++)
		touched += here[i] & 1;
	assert_int_equal(touched, 1);
	journal_free(&j);
}

/* ---- the model -------------------------------------------------------------------- */

#define MODEL_RECORDS 20000
#define MODEL_CURSORS 4

struct model_record {
	uint32_t kind, head_len, body_len;
	unsigned char fill;
};

static struct model_record model[MODEL_RECORDS + 1]; /* by number */
static uint32_t seed = 12345;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void model_append(struct journal *j, uint64_t seq)
{
	static unsigned char head[600], body[2000];
	struct model_record m = {
		.kind = rnd(1000),
		.head_len = rnd(20) ? rnd(40) : rnd(600),
		.body_len = rnd(20) ? rnd(100) : rnd(2000),
		.fill = (unsigned char)rnd(256),
	};

	memset(head, m.fill, sizeof(head));
	memset(body, m.fill ^ 0xff, sizeof(body));
	assert_int_equal(journal_append(j, m.kind, (int64_t)seq * 3, head, m.head_len,
					body, m.body_len),
			 seq);
	m.body_len = (uint32_t)MIN(m.body_len, 1024 - 24 - m.head_len);
	model[seq] = m;
}

static void model_check(const struct journal_record *r)
{
	const struct model_record *m = &model[r->seq];

	assert_int_equal(r->kind, m->kind);
	assert_int_equal(r->wall_ns, (int64_t)r->seq * 3);
	assert_int_equal(r->head_len, m->head_len);
	assert_int_equal(r->body_len, m->body_len);
	for (size_t i = 0; i < r->head_len; i++)
		assert_int_equal(((const unsigned char *)r->head)[i], m->fill);
	for (size_t i = 0; i < r->body_len; i++)
		assert_int_equal(((const unsigned char *)r->body)[i], m->fill ^ 0xff);
}

static void test_model(void **state)
{
	struct journal_cursor cursors[MODEL_CURSORS] = { 0 };
	uint64_t expect[MODEL_CURSORS] = { 0 }; /* 0: nothing read yet */
	uint64_t seq = 0, lost;
	struct journal_record r;
	struct journal j;

	(void)state;
	assert_int_equal(journal_init(&j, 4096), 0);
	while (seq < MODEL_RECORDS) {
		uint32_t who = rnd(MODEL_CURSORS);

		if (rnd(3))
			model_append(&j, ++seq);
		assert_true(j.head - j.tail <= j.size);
		/* Cursor 0 keeps up, the last one is far behind. */
		if (rnd(1 + who * who * 20))
			continue;
		while (journal_next(&j, &cursors[who], &r, &lost)) {
			if (expect[who])
				assert_int_equal(r.seq, expect[who] + lost);
			else
				assert_int_equal(lost, 0);
			model_check(&r);
			expect[who] = r.seq + 1;
		}
		assert_int_equal(cursors[who].seq,
				 seq + 1 > 1 ? seq + 1 : cursors[who].seq);
	}
	journal_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_record),
		cmocka_unit_test(test_cut),   cmocka_unit_test(test_lost),
		cmocka_unit_test(test_seek),  cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
