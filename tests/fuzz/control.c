// SPDX-License-Identifier: Apache-2.0
/*
 * control.c - fuzzer of the channel: bytes on a socket, all the way to the answers.
 *
 * Built by clang with -fsanitize=fuzzer; corpus in tests/fuzz/corpus/control/. The pods
 * are faked (tests/unit/control_fake.h). Checks beside the sanitizers': each line that
 * comes back is a JSON object and valid UTF-8, and all memory of unfinished input is
 * returned.
 */
#include "tests/unit/control_fake.h"

#include "base/log.h"
#include "base/str.h"
#include "control/client.h"
#include "control/state.h"

static struct fake *f;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tear_down(void)
{
	void *state = f;

	(void)fake_teardown(&state);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	void *state;

	(void)argc;
	(void)argv;
	log_set_level(LOG_ERROR);
	(void)fake_setup(&state);
	f = state;
	/* Small rings: they turn over, and a replay is short. */
	journal_free(&f->pods.events);
	journal_free(&f->pods.lines);
	(void)journal_init(&f->pods.events, 4096);
	(void)journal_init(&f->pods.lines, 4096);
	fake_log_lines = 3;
	(void)atexit(tear_down);
	return 0;
}

static void check_line(const char *line, size_t len)
{
	struct json_object *obj;

	for (size_t i = 0; i < len;) {
		size_t n = str_utf8_len(line + i, len - i);

		if (n == 0)
			abort();
		i += n;
	}
	obj = json_tokener_parse(line);
	if (!json_object_is_type(obj, json_type_object))
		abort();
	json_object_put(obj);
}

/* Takes what was answered and checks whole lines. */
static void take_answers(int fd)
{
	static char text[CLIENT_OUT_MAX + 1];
	static size_t len;
	char *line = text, *end;
	ssize_t n;

	while ((n = recv(fd, text + len, sizeof(text) - 1 - len, MSG_DONTWAIT)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = '\0';
		check_line(line, (size_t)(end - line));
		line = end + 1;
	}
	len -= (size_t)(line - text);
	memmove(text, line, len);
	if (n == 0)
		len = 0; /* end of stream */
}

static void forget_pods(void)
{
	for (size_t i = 0; i < fake_n; i++)
		pod_spec_free(fake_pods[i].spec);
	fake_n = 0;
	(void)fake_add("default", "web");
	(void)fake_add("default", "two");
	fake_pods[1].two_members = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fake_connect(f);
	size_t at = 0;

	forget_pods();
	while (at < size) {
		ssize_t n = send(fd, data + at, MIN(size - at, (size_t)4096),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		fake_turns(f, 1);
		fake_event(f, POD_EVENT_MEMBER_EXITED, "{\"a\":\"\xFF\"}");
		fake_log(f, (const char *)data, MIN(size, (size_t)300), data[0] & 3);
		take_answers(fd);
	}
	(void)shutdown(fd, SHUT_WR);
	for (int i = 0; i < 4; i++) {
		fake_turns(f, 1);
		take_answers(fd);
	}
	close(fd);
	fake_turns(f, 4);
	if (f->control->n_sockets || f->control->pool.used)
		abort();
	return 0;
}
