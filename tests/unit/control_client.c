// SPDX-License-Identifier: Apache-2.0
/*
 * control_client.c - bad, slow and greedy clients, and subscriptions that fall behind.
 */
#include "tests/unit/control_fake.h"

#include "control/client.h"
#include "control/state.h"

static struct client *server_side(struct fake *f)
{
	assert_false(list_empty(&f->control->clients));
	return list_entry(f->control->clients.prev, struct client, link);
}

static bool gone(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* ---- input ---------------------------------------------------------------------------
 */

static void test_ten_thousand_requests_at_once(void **state)
{
	static const char request[] = "{\"execute\":\"qmp_capabilities\",\"id\":1}";
	struct fake *f = *state;
	int fd = fake_client(f), answers = 0;
	size_t sent = 0, want = 10000 * (sizeof(request) - 1), most = 0;
	char *all = malloc(want);
	struct client *cl = server_side(f);

	for (size_t i = 0; i < want; i += sizeof(request) - 1)
		memcpy(all + i, request, sizeof(request) - 1);
	while (answers < 10000) {
		ssize_t n = sent < want ?
				    send(fd, all + sent, want - sent, MSG_NOSIGNAL) :
				    0;

		if (n > 0)
			sent += (size_t)n;
		fake_turns(f, 1);
		most = MAX(most, cl->out.len);
		assert_true(cl->rest.len <= CLIENT_READ_BYTES);
		/* Takes few of them, so that they pile up. */
		for (int i = 0; i < 3 && answers < 10000; i++) {
			assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":1}");
			answers++;
		}
	}
	assert_true(most <= CLIENT_OUT_HIGH + 4096);
	free(all);
	close(fd);
}

static void test_reading_stops_while_output_is_full(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f), n = 0;
	struct client *cl = server_side(f);
	uint64_t before;

	/* Answers of 24 KB for 40 bytes of request, none taken. */
	while (send(fd, "{\"execute\":\"query-commands\"}\n", 29, MSG_NOSIGNAL) == 29 &&
	       n++ < 1000)
		fake_turns(f, 1);
	fake_turns(f, 100);
	before = f->control->requests;
	assert_true(cl->out.len >= CLIENT_OUT_HIGH);
	assert_true(cl->out.len < 2 * CLIENT_OUT_HIGH);
	fake_turns(f, 100);
	assert_int_equal(f->control->requests, before);
	assert_non_null(cl->stall_timer.loop);
	/* Others are served meanwhile. */
	close(fake_client(f));
	for (int i = 0; i < n; i++)
		assert_non_null(strstr(fake_line(f, fd), "query-commands"));
	close(fd);
}

static void test_a_stalled_client_is_dropped(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	struct client *cl = server_side(f);

	while (cl->out.len < CLIENT_OUT_HIGH) {
		(void)!send(fd, "{\"execute\":\"query-commands\"}\n", 29, MSG_NOSIGNAL);
		fake_turns(f, 1);
	}
	assert_int_equal(f->control->n_sockets, 1);
	/* Its deadline, without the wait. */
	assert_int_equal(loop_timer_set(f->loop, &cl->stall_timer, 1), 0);
	fake_turns(f, 3);
	assert_int_equal(f->control->n_sockets, 0);
	assert_int_equal(f->control->dropped, 1);
	close(fd);
}

static void test_half_a_request_is_given_up(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	struct client *cl = server_side(f);
	int64_t first_ns;

	fake_send(fd, "{\"execute\":");
	fake_turns(f, 3);
	assert_non_null(cl->half_timer.loop);
	assert_true(f->control->pool.used > 0);
	first_ns = cl->half_timer.at_ns;
	/* It is silence that is limited, not the time a serial line takes. */
	fake_send(fd, " ");
	fake_turns(f, 3);
	assert_true(cl->half_timer.at_ns > first_ns);
	assert_int_equal(loop_timer_set(f->loop, &cl->half_timer, 1), 0);
	assert_non_null(strstr(fake_line(f, fd), "an unfinished request was given up"));
	assert_int_equal(f->control->pool.used, 0);
	assert_null(cl->half_timer.loop);
	fake_send(fd, "{\"execute\":\"qmp_capabilities\"}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{}}");
	close(fd);
}

static void test_a_half_closed_client_gets_its_answers(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, "{\"execute\":\"qmp_capabilities\"}{\"execute\":\"pod-list\"}");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_string_equal(fake_line(f, fd), "{\"return\":{}}");
	assert_string_equal(fake_line(f, fd), "{\"return\":[]}");
	assert_null(fake_line(f, fd));
	assert_int_equal(f->control->n_sockets, 0);
	close(fd);
}

static void test_a_client_that_leaves_at_once_is_obeyed(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, "{\"execute\":\"shutdown\"}");
	close(fd);
	fake_turns(f, 5);
	assert_int_equal(f->shutdowns, 1);
	assert_int_equal(f->control->n_sockets, 0);
}

static void test_too_many_clients(void **state)
{
	struct fake *f = *state;
	int fds[CONTROL_CLIENTS_MAX], extra;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = fake_client(f);
	extra = fake_connect(f);
	assert_non_null(strstr(fake_line(f, extra), "too many clients"));
	assert_null(fake_line(f, extra));
	close(extra);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	fake_turns(f, 5);
	close(fake_client(f));
}

static void test_random_bytes_harm_nobody(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	uint32_t x = 12345;
	char junk[4096], sink[65536];

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(junk); i++) {
			x = x * 1664525 + 1013904223;
			junk[i] = (x >> 24) % 3 ? "{}[]\",:\\\n"[(x >> 16) % 9] :
						  (char)(x >> 16);
		}
		(void)!send(fd, junk, sizeof(junk), MSG_NOSIGNAL);
		fake_turns(f, 5);
		while (recv(fd, sink, sizeof(sink), 0) > 0)
			fake_turns(f, 1);
	}
	fake_send(fd, "\xFF\n{\"execute\":\"qmp_capabilities\",\"id\":\"end\"}");
	for (;;) {
		const char *line = fake_line(f, fd);

		assert_non_null(line);
		if (strcmp(line, "{\"return\":{},\"id\":\"end\"}") == 0)
			break;
		assert_non_null(strstr(line, "{\"error\":"));
	}
	close(fd);
}

/* ---- subscriptions -------------------------------------------------------------------
 */

#define SUBSCRIBE(args) "{\"execute\":\"subscribe\",\"arguments\":{" args "},\"id\":0}\n"

static void expect(struct fake *f, int fd, const char *part)
{
	const char *line = fake_line(f, fd);

	if (!line || !strstr(line, part))
		fail_msg("'%s' instead of '%s'", line ? line : "end", part);
}

static void test_events_come_as_they_happen(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_event(f, POD_EVENT_POD_CHANGED, "{\"n\":1}");
	fake_send(fd, SUBSCRIBE("\"replay\":false"));
	expect(f, fd, "{\"return\":{\"eventSeq\":2,\"logSeq\":1},\"id\":0}");
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{\"n\":2,\"s\":\"\xFF\"}");
	assert_string_equal(
		fake_line(f, fd),
		"{\"event\":\"MEMBER_EXITED\",\"timestamp\":{\"seconds\":"
		"1700000000,\"microseconds\":123456},\"seq\":2,\"data\":{\"n\":2,"
		"\"s\":\"\xEF\xBF\xBD\"}}");
	fake_send(fd, "{\"execute\":\"unsubscribe\"}");
	expect(f, fd, "{\"return\":{}}");
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{\"n\":3}");
	fake_send(fd, "{\"execute\":\"qmp_capabilities\"}");
	expect(f, fd, "{\"return\":{}}");
	close(fd);
}

static void test_topics_replay_and_since(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_event(f, POD_EVENT_POD_CHANGED, "{\"n\":1}");
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{\"n\":2}");
	fake_event(f, POD_EVENT_POD_DELETED, "{\"n\":3}");
	fake_send(fd, SUBSCRIBE("\"events\":[\"pod\"]"));
	expect(f, fd, "\"eventSeq\":1");
	expect(f, fd, "{\"n\":1}");
	expect(f, fd, "{\"n\":3}");
	fake_send(fd, SUBSCRIBE("\"events\":[\"member\",\"pod\"],\"since\":2"));
	expect(f, fd, "\"eventSeq\":2");
	expect(f, fd, "{\"n\":2}");
	expect(f, fd, "{\"n\":3}");
	close(fd);
}

static void test_log_lines(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, SUBSCRIBE("\"events\":[\"log\",\"member\"]"));
	expect(f, fd, "return");
	/* Log first, event second: the event is sent first. */
	fake_log(f, "a\tb\xFF", 4, LOG_STDERR * 2 + 1);
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{}");
	expect(f, fd, "MEMBER_EXITED");
	assert_string_equal(
		fake_line(f, fd),
		"{\"event\":\"LOG\",\"timestamp\":{\"seconds\":1700000000,"
		"\"microseconds\":0},\"seq\":1,\"data\":{\"namespace\":\"default\","
		"\"pod\":\"web\",\"member\":\"main\",\"attempt\":3,\"stream\":"
		"\"stderr\",\"partial\":true,\"line\":\"a\\tb\xEF\xBF\xBD\"}}");
	close(fd);
}

static void test_a_slow_subscriber_is_told_what_it_lost(void **state)
{
	static char text[1000];
	struct fake *f = *state;
	int fd = fake_client(f);
	struct client *cl = server_side(f);
	uint64_t seen = 0, lost = 0, n = 5000;

	memset(text, 'x', sizeof(text));
	fake_send(fd, SUBSCRIBE("\"events\":[\"log\",\"pod\"]"));
	expect(f, fd, "return");
	for (uint64_t i = 0; i < n; i++) {
		fake_log(f, text, sizeof(text), 0);
		fake_turns(f, 1);
		/* What waits for it does not grow with the flood. */
		assert_true(cl->out.len <= CLIENT_OUT_LOW + 8192);
	}
	fake_event(f, POD_EVENT_POD_CHANGED, "{}");
	while (seen + lost < n) {
		const char *line = fake_line(f, fd), *count;

		if (strstr(line, "\"event\":\"LOG\"")) {
			seen++;
		} else if (strstr(line, "POD_CHANGED")) {
			continue;
		} else {
			assert_non_null(strstr(line, "\"event\":\"LOST\""));
			assert_non_null(strstr(line, "\"of\":\"log\"}}"));
			count = strstr(line, "\"count\":");
			lost += strtoull(count + 8, NULL, 10);
		}
	}
	assert_int_equal(seen + lost, n);
	assert_true(lost > 0);
	close(fd);
}

static void test_waking_is_free_without_subscribers(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	struct loop_stats before, after;

	fake_turns(f, 3);
	loop_get_stats(f->loop, &before);
	for (int i = 0; i < 1000; i++)
		fake_event(f, POD_EVENT_POD_CHANGED, "{}");
	fake_turns(f, 3);
	loop_get_stats(f->loop, &after);
	assert_int_equal(after.callbacks, before.callbacks);
	assert_true(list_empty(&f->control->subscribers));
	close(fd);
}

static void test_an_idle_subscriber_costs_no_turn(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	struct loop_stats before, after;

	fake_send(fd, SUBSCRIBE(""));
	expect(f, fd, "return");
	fake_turns(f, 5);
	loop_get_stats(f->loop, &before);
	fake_turns(f, 5);
	loop_get_stats(f->loop, &after);
	assert_int_equal(after.callbacks, before.callbacks);
	close(fd);
	fake_turns(f, 3);
	assert_int_equal(f->control->n_sockets, 0);
}

/* ---- draining ------------------------------------------------------------------------
 */

static void test_drain_waits_for_last_words(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f), late;

	fake_send(fd, SUBSCRIBE(""));
	expect(f, fd, "return");
	fake_event(f, POD_EVENT_POD_CHANGED, "{\"last\":1}");
	control_drain(f->control, time_boot_ns() + 3600 * NSEC_PER_SEC, fake_drained, f);
	assert_false(f->drained);
	fake_turns(f, 5);
	assert_true(f->drained);
	expect(f, fd, "{\"last\":1}");
	late = fake_connect(f);
	expect(f, late, "going down");
	close(late);
	close(fd);
}

static void test_drain_ends_at_its_deadline(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);
	struct client *cl = server_side(f);

	while (cl->out.len < CLIENT_OUT_HIGH) {
		(void)!send(fd, "{\"execute\":\"query-commands\"}\n", 29, MSG_NOSIGNAL);
		fake_turns(f, 1);
	}
	control_drain(f->control, time_boot_ns() + 20 * NSEC_PER_MSEC, fake_drained, f);
	fake_turns(f, 3);
	assert_false(f->drained);
	for (int i = 0; i < 100 && !f->drained; i++)
		assert_true(loop_turn(f->loop, 1000) >= 0);
	assert_true(f->drained);
	assert_false(gone(fd));
	close(fd);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_ten_thousand_requests_at_once),
		TEST(test_reading_stops_while_output_is_full),
		TEST(test_a_stalled_client_is_dropped),
		TEST(test_half_a_request_is_given_up),
		TEST(test_a_half_closed_client_gets_its_answers),
		TEST(test_a_client_that_leaves_at_once_is_obeyed),
		TEST(test_too_many_clients),
		TEST(test_random_bytes_harm_nobody),
		TEST(test_events_come_as_they_happen),
		TEST(test_topics_replay_and_since),
		TEST(test_log_lines),
		TEST(test_a_slow_subscriber_is_told_what_it_lost),
		TEST(test_waking_is_free_without_subscribers),
		TEST(test_an_idle_subscriber_costs_no_turn),
		TEST(test_drain_waits_for_last_words),
		TEST(test_drain_ends_at_its_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
