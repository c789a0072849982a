// SPDX-License-Identifier: Apache-2.0
/*
 * control_commands.c - each command over a real socket, with pods that are faked.
 */
#include "tests/unit/control_fake.h"

#include <signal.h>

/* A request and a part of the one line that answers it. */
struct row {
	const char *request, *answer;
};

static void check_rows(struct fake *f, const struct row *rows, size_t n)
{
	int fd = fake_client(f);

	for (size_t i = 0; i < n; i++) {
		const char *line;

		fake_send(fd, rows[i].request);
		line = fake_line(f, fd);
		if (!line || !strstr(line, rows[i].answer))
			fail_msg("%s\n gave %s\n instead of %s", rows[i].request,
				 line ? line : "nothing", rows[i].answer);
	}
	close(fd);
}

#define RUN(name, args) "{\"execute\":\"" name "\",\"arguments\":{" args "}}\n"

static void test_grammar_of_answers(void **state)
{
	static const struct row rows[] = {
		{ "{\"execute\":\"qmp_capabilities\"}\n", "{\"return\":{}}" },
		{ "{\"execute\":\"qmp_capabilities\",\"id\":\"x\"}\n",
		  "{\"return\":{},\"id\":\"x\"}" },
		{ RUN("qmp_capabilities", "\"enable\":[\"oob\"]"), "{\"return\":{}}" },
		{ "{\"execute\":\"nope\",\"id\":[1,2]}\n",
		  "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"unknown command "
		  "'nope'\"},\"id\":[1,2]}" },
		{ "{\"execute\":\"pod-lits\"}\n", "did you mean 'pod-list'?" },
		{ "{\"execute\":\"pod-list\",\"argument\":{}}\n",
		  "{\"class\":\"GenericError\",\"desc\":\"unknown member 'argument' of "
		  "the "
		  "request\"}" },
		{ "[1]\n", "a request is a JSON object" },
	};

	check_rows(*state, rows, ARRAY_SIZE(rows));
}

static void test_arguments_are_checked(void **state)
{
	static const struct row rows[] = {
		{ RUN("pod-status", ""), "argument 'name' is missing" },
		{ RUN("pod-status", "\"name\":1"), "argument 'name' must be a string" },
		{ RUN("pod-status", "\"name\":null"),
		  "argument 'name' must be a string" },
		{ RUN("pod-status", "\"name\":\"a\\u0000b\""),
		  "/arguments/name: \\\\u0000" },
		{ RUN("pod-status", "\"nmae\":\"a\""), "did you mean 'name'?" },
		{ RUN("pod-list", "\"xyzzy\":1"), "unknown argument 'xyzzy'\"" },
		{ RUN("podinit-info", "\"a\":1"), "unknown argument 'a'" },
		{ RUN("pod-stop", "\"name\":\"web\",\"graceSeconds\":-1"), "from 0 to" },
		{ RUN("pod-stop", "\"name\":\"web\",\"graceSeconds\":1.5"),
		  "an integer" },
		{ RUN("events", "\"since\":18446744073709551615"), "64 bits" },
		{ RUN("events", "\"max\":0"), "from 1 to 1000" },
		{ RUN("subscribe", "\"events\":\"log\""), "an array of strings" },
		{ RUN("subscribe", "\"events\":[1]"), "an array of strings" },
		{ RUN("subscribe", "\"events\":[\"pods\"]"), "not \\\"pods\\\"" },
		{ RUN("subscribe", "\"events\":[]"), "is empty" },
		{ RUN("subscribe", "\"replay\":1"), "true or false" },
		{ RUN("pod-create", "\"manifest\":\"x\""), "must be an object" },
		{ RUN("pod-create", ""), "give one of" },
		{ RUN("shutdown", "\"mode\":\"stay\""), "power-off, reboot or halt" },
		{ RUN("shutdown", "\"mode\":\"off\""), "not 'off'" },
		{ RUN("member-kill", "\"name\":\"a\",\"member\":\"m\",\"signal\":0"),
		  "name or number of a signal" },
		{ RUN("member-kill", "\"name\":\"a\",\"member\":\"m\",\"signal\":\"X\""),
		  "name or number of a signal" },
	};

	fake_add("default", "web");
	check_rows(*state, rows, ARRAY_SIZE(rows));
	assert_int_equal(((struct fake *)*state)->shutdowns, 0);
	assert_int_equal(fake_pods[0].stops, 0);
}

static void test_pods(void **state)
{
	static const struct row rows[] = {
		{ "{\"execute\":\"pod-list\"}\n", "\"name\":\"db\"}]}" },
		{ RUN("pod-list", "\"namespace\":\"prod\""),
		  "{\"return\":[{\"namespace\":\"prod\",\"name\":\"db\"}]}" },
		{ RUN("pod-status", "\"name\":\"web\""), "\"phase\":\"Running\"" },
		{ RUN("pod-status", "\"name\":\"db\""), "there is no pod default/db" },
		{ RUN("pod-status", "\"name\":\"db\",\"namespace\":\"prod\""),
		  "\"name\":\"db\"" },
		{ RUN("pod-stop", "\"name\":\"web\""), "{\"return\":{}}" },
		{ RUN("pod-delete", "\"name\":\"web\",\"graceSeconds\":3"),
		  "{\"return\":{}}" },
		{ RUN("member-kill", "\"name\":\"web\",\"member\":\"absent\""),
		  "no member 'absent'" },
		{ RUN("member-kill", "\"name\":\"web\",\"member\":\"ended\""),
		  "'ended' is not running" },
		{ RUN("member-kill", "\"name\":\"web\",\"member\":\"m\""),
		  "{\"return\":{}}" },
	};
	static const struct row by_number[] = {
		{ RUN("member-kill", "\"name\":\"web\",\"member\":\"m\",\"signal\":9"),
		  "{\"return\":{}}" },
	};
	static const struct row by_name[] = {
		{ RUN("member-kill",
		      "\"name\":\"web\",\"member\":\"m\",\"signal\":\"hup\""),
		  "{\"return\":{}}" },
	};
	struct pod *web = fake_add("default", "web");

	fake_add("prod", "db");
	check_rows(*state, rows, ARRAY_SIZE(rows));
	assert_int_equal(web->stops, 1);
	assert_int_equal(web->deletes, 1);
	assert_int_equal(web->grace_ms, 3000);
	assert_string_equal(web->killed, "m");
	assert_int_equal(web->signal, SIGTERM);
	check_rows(*state, by_number, 1);
	assert_int_equal(web->signal, SIGKILL);
	check_rows(*state, by_name, 1);
	assert_int_equal(web->signal, SIGHUP);
}

#define POD(name, more)                                                               \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name      \
	"\"},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\"" more \
	"}]}}"

static void test_create(void **state)
{
	static const struct row rows[] = {
		{ RUN("pod-create", "\"manifest\":" POD("one", "")),
		  "{\"return\":{\"created\":[{\"namespace\":\"default\",\"name\":\"one\","
		  "\"uid\":\"uid-1\"}],\"refused\":[],\"applied\":[]}}" },
		{ RUN("pod-create", "\"manifest\":" POD("one", "")), "pod one exists" },
		{ RUN("pod-create", "\"manifest\":" POD("two", ",\"imagge\":1")),
		  "\"pointer\":\"/spec/containers/0/imagge\"" },
		{ RUN("pod-create", "\"text\":\"{nonsense\""), "\"errors\":[{" },
		{ RUN("pod-create", "\"manifest\":{}"), "\"error\":{\"class\":" },
		{ RUN("pod-create",
		      "\"manifest\":{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":"
		      "[" POD("three", "") "," POD("four", ",\"imagge\":1") "]}"),
		  "\"created\":[{\"namespace\":\"default\",\"name\":\"three\"" },
	};

	check_rows(*state, rows, ARRAY_SIZE(rows));
	assert_int_equal(fake_n, 2); /* refused ones left nothing */
	assert_string_equal(fake_pods[1].name, "three");
}

static void test_create_without_room(void **state)
{
	static const struct row rows[] = {
		{ RUN("pod-create", "\"manifest\":" POD("one", "")),
		  "\"kind\":\"create\"" },
	};

	fake_create_error = ENOSPC;
	check_rows(*state, rows, 1); /* ASan: the spec is freed */
}

static void test_logs(void **state)
{
	static const struct row rows[] = {
		{ RUN("logs", "\"name\":\"web\""),
		  "\"text\":\"bad \xEF\xBF\xBD "
		  "byte\"}],\"member\":\"main\",\"nextSeq\":1}" },
		{ RUN("logs", "\"name\":\"web\",\"lines\":0"), "{\"lines\":[]" },
		{ RUN("logs", "\"name\":\"web\",\"member\":\"absent\""), "no member" },
		{ RUN("logs", "\"name\":\"two\""), "the pod has main, side" },
		{ RUN("logs", "\"name\":\"none\""), "there is no pod" },
	};

	fake_add("default", "web");
	fake_add("default", "two")->two_members = 1;
	fake_log_lines = 2;
	check_rows(*state, rows, ARRAY_SIZE(rows));
}

static void test_events(void **state)
{
	static const struct row rows[] = {
		{ "{\"execute\":\"events\"}\n",
		  "{\"return\":{\"events\":[{\"event\":\"POD_CHANGED\",\"timestamp\":"
		  "{\"seconds\":1700000000,\"microseconds\":123456},\"seq\":1,\"data\":"
		  "{\"a\":1}}," },
		{ RUN("events", "\"since\":2,\"max\":1"),
		  "{\"events\":[{\"event\":\"MEMBER_EXITED\",\"timestamp\":{\"seconds\":"
		  "1700000000,\"microseconds\":123456},\"seq\":2,\"data\":{\"b\":2}}],"
		  "\"nextSeq\":3,\"lost\":0}" },
		{ RUN("events", "\"since\":99"), "{\"events\":[],\"nextSeq\":4," },
		{ RUN("events", "\"max\":1"), "\"data\":\"{cut\"}" },
	};
	static const struct row lost[] = {
		{ RUN("events", "\"since\":1,\"max\":1"), "\"lost\":7955}" },
	};
	struct fake *f = *state;

	fake_event(f, POD_EVENT_POD_CHANGED, "{\"a\":1}");
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{\"b\":2}");
	fake_event(f, POD_EVENT_MEMBER_EXITED, "{cut");
	check_rows(f, rows, ARRAY_SIZE(rows));
	for (int i = 0; i < 10000; i++)
		fake_event(f, POD_EVENT_POD_CHANGED, "{\"a\":1}");
	check_rows(f, lost, 1);
}

static void test_machine(void **state)
{
	static const struct row rows[] = {
		{ "{\"execute\":\"podinit-info\"}\n", "\"version\":\"" },
		{ "{\"execute\":\"podinit-info\"}\n", "\"boot\":[{\"stage\"" },
		{ "{\"execute\":\"query-commands\"}\n",
		  "{\"name\":\"graceSeconds\",\"type\":\"integer\",\"required\":false" },
		{ "{\"execute\":\"podinit-log\"}\n", "{\"return\":{\"lines\":[" },
		{ "{\"execute\":\"boot\"}\n",
		  "{\"return\":{\"stages\":[{\"stage\":\"mounts\",\"atNs\":1}],"
		  "\"members\":"
		  "[{\"pod\":\"a\",\"member\":\"main\",\"execNs\":5}]}}" },
	};

	check_rows(*state, rows, ARRAY_SIZE(rows));
}

static void test_shutdown_is_answered_first(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	f->watch_fd = fd;
	fake_send(fd, RUN("shutdown", "\"mode\":\"reboot\",\"graceSeconds\":2"));
	assert_string_equal(fake_line(f, fd), "{\"return\":{\"mode\":\"reboot\"}}");
	assert_int_equal(f->shutdowns, 1);
	assert_true(f->answered_first);
	assert_int_equal(f->how, END_REBOOT);
	assert_int_equal(f->grace_ms, 2000);
	close(fd);
}

static void test_a_list_of_all_pods_fits(void **state)
{
	struct fake *f = *state;
	int fd = fake_client(f);

	fake_list_size = PODS_MAX;
	fake_send(fd, "{\"execute\":\"pod-list\",\"id\":1}\n");
	assert_non_null(strstr(fake_line(f, fd), "],\"id\":1}"));
	fake_list_size = 100 * PODS_MAX / 10;
	fake_send(fd, "{\"execute\":\"pod-list\",\"id\":2}\n");
	assert_string_equal(
		fake_line(f, fd),
		"{\"error\":{\"class\":\"GenericError\",\"desc\":\"the answer is "
		"too long\"},\"id\":2}");
	close(fd);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_grammar_of_answers),
		TEST(test_arguments_are_checked),
		TEST(test_pods),
		TEST(test_create),
		TEST(test_create_without_room),
		TEST(test_logs),
		TEST(test_events),
		TEST(test_machine),
		TEST(test_shutdown_is_answered_first),
		TEST(test_a_list_of_all_pods_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
