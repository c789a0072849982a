// SPDX-License-Identifier: Apache-2.0
/*
 * control_deferred.c - answers that come later: order, ends of the client, going down.
 */
#include "tests/unit/control_fake.h"

#include "control/client.h"
#include "control/state.h"

#define ASK(id)  "{\"execute\":\"pod-net\",\"id\":" id "}\n"
#define NEXT(id) "{\"execute\":\"qmp_capabilities\",\"id\":" id "}\n"

static struct client *server_side(struct fake *f)
{
	assert_false(list_empty(&f->control->clients));
	return list_entry(f->control->clients.prev, struct client, link);
}

static bool silent(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* Turns of the loop that something woke, within a moment in which nothing is due. */
static int wakeups(struct fake *f)
{
	int n = 0;

	for (int i = 0; i < 20; i++)
		n += loop_turn(f->loop, 1) > 0;
	return n;
}

static void test_later_requests_wait_for_the_answer(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f), other = fake_client(f);

	fake_send(fd, NEXT("1") ASK("2") NEXT("3"));
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":1}");
	fake_turns(f, 5);
	assert_int_equal(fake_n_net, 1);
	assert_string_equal(fake_net_of, "/");
	fake_send(fd, NEXT("4"));
	fake_turns(f, 5);
	assert_true(silent(fd));
	/* Others do not wait, and nobody spins. */
	fake_send(other, NEXT("9"));
	assert_string_equal(fake_line(f, other), "{\"return\":{},\"id\":9}");
	assert_int_equal(wakeups(f), 0);
	fake_net_answer("{\"pods\":[1]}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{\"pods\":[1]},\"id\":2}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":3}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":4}");
	close(fd);
	close(other);
}

static void test_events_go_on(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, "{\"execute\":\"subscribe\"}\n");
	assert_non_null(fake_line(f, fd));
	fake_send(fd, ASK("1"));
	fake_turns(f, 5);
	assert_int_equal(fake_n_net, 1);
	(void)journal_append(&f->pods.events, POD_EVENT_POD_CHANGED, 1, NULL, 0,
			     "{\"pod\":\"a\"}", 11);
	control_wake(f->control);
	assert_non_null(strstr(fake_line(f, fd), "POD_CHANGED"));
	fake_net_answer("{}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":1}");
	close(fd);
}

static void test_what_is_asked_for(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	(void)fake_add("default", "a");
	(void)fake_add("other", "b");
	fake_send(fd, "{\"execute\":\"pod-net\",\"arguments\":{\"name\":\"a\"}}\n");
	fake_turns(f, 5);
	assert_string_equal(fake_net_of, "/a");
	fake_net_answer("{}");
	assert_non_null(fake_line(f, fd));
	fake_send(fd, "{\"execute\":\"pod-net\",\"arguments\":"
		      "{\"namespace\":\"other\"}}\n");
	fake_turns(f, 5);
	assert_string_equal(fake_net_of, "other/");
	fake_net_answer(NULL);
	assert_non_null(strstr(fake_line(f, fd), "asking the kernel: timed out"));
	fake_send(fd, "{\"execute\":\"pod-net\",\"arguments\":{\"name\":\"x\"}}\n");
	assert_non_null(strstr(fake_line(f, fd), "there is no pod default/x"));
	close(fd);
}

static void test_refusals_are_answers(void **state)
{
	static const struct {
		int error;
		const char *text;
	} rows[] = {
		{ -EAGAIN, "try again" },
		{ -ESHUTDOWN, "going down" },
		{ -EINVAL, "refused" },
		{ -EMFILE, "Too many open files" },
	};
	struct fake *f = *state;
	int fd = fake_client(f);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_net_error = rows[i].error;
		fake_send(fd, ASK("1"));
		assert_non_null(strstr(fake_line(f, fd), rows[i].text));
	}
	close(fd);
}

static void test_a_half_closed_client_gets_it(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, ASK("1") NEXT("2"));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	fake_turns(f, 5);
	assert_int_equal(wakeups(f), 0);
	fake_net_answer("{}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":1}");
	assert_string_equal(fake_line(f, fd), "{\"return\":{},\"id\":2}");
	assert_null(fake_line(f, fd));
	close(fd);
}

static void test_nobody_is_answered_who_is_gone(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	/* Before it is read, and after. */
	fake_send(fd, ASK("1"));
	close(fd);
	fake_turns(f, 10);
	assert_int_equal(f->control->n_sockets, 0);
	assert_int_equal(fake_net_cancelled, 1);
	fd = fake_client(f);
	fake_send(fd, ASK("1") NEXT("2"));
	fake_turns(f, 10);
	assert_int_equal(fake_n_net, 1);
	close(fd);
	fake_turns(f, 10);
	assert_int_equal(f->control->n_sockets, 0);
	assert_int_equal(fake_net_cancelled, 2);
	assert_int_equal(fake_n_net, 0);
}

/* A port that is opened by another host process owes it nothing. */
static void test_a_reset_forgets_it(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, ASK("1"));
	fake_turns(f, 5);
	client_reset(server_side(f));
	assert_int_equal(fake_net_cancelled, 1);
	assert_false(server_side(f)->deferred.waiting);
	close(fd);
	fake_turns(f, 5);
}

static void test_too_long_an_answer(void **state)
{
	struct fake *f = *state;
	size_t len = CLIENT_OUT_MAX + 10;
	char *text = malloc(len + 1);
	int fd = fake_client(f);

	assert_non_null(text);
	memset(text, ' ', len);
	text[len] = '\0';
	memcpy(text, "[1", 2);
	text[len - 1] = ']';
	fake_send(fd, ASK("7"));
	fake_turns(f, 5);
	fake_net_answer(text);
	assert_string_equal(
		fake_line(f, fd),
		"{\"error\":{\"class\":\"GenericError\",\"desc\":\"the answer "
		"is too long\"},\"id\":7}");
	free(text);
	close(fd);
}

static void test_the_machines_end_is_the_answer(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_send(fd, ASK("1"));
	fake_turns(f, 5);
	control_drain(f->control, time_boot_ns() + 3600 * NSEC_PER_SEC, fake_drained, f);
	assert_non_null(strstr(fake_line(f, fd), "the machine is going down"));
	assert_int_equal(fake_net_cancelled, 1);
	fake_turns(f, 5);
	assert_true(f->drained);
	close(fd);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_later_requests_wait_for_the_answer),
		TEST(test_events_go_on),
		TEST(test_what_is_asked_for),
		TEST(test_refusals_are_answers),
		TEST(test_a_half_closed_client_gets_it),
		TEST(test_nobody_is_answered_who_is_gone),
		TEST(test_a_reset_forgets_it),
		TEST(test_too_long_an_answer),
		TEST(test_the_machines_end_is_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
