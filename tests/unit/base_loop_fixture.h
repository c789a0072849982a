// SPDX-License-Identifier: Apache-2.0
/*
 * base_loop_fixture.h - sources on eventfds that write down when they run.
 *
 * Owns: "trace", emptied by setup() and by each ASSERT_TRACE(). *state is the loop.
 */
#ifndef TESTS_UNIT_BASE_LOOP_FIXTURE_H
#define TESTS_UNIT_BASE_LOOP_FIXTURE_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/time.h"

static int trace[1024];
static size_t traced;

static inline void trace_add(int what)
{
	assert_true(traced < ARRAY_SIZE(trace));
	trace[traced++] = what;
}

static inline void assert_trace(const int *want, size_t n)
{
	assert_int_equal(traced, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trace[i], want[i]);
	traced = 0;
}

#define ASSERT_TRACE(...)                                   \
	do {                                                \
		static const int want_[] = { __VA_ARGS__ }; \
		assert_trace(want_, ARRAY_SIZE(want_));     \
	} while (0)

/* A source on an eventfd that notes its number and then does what the test wants. */
struct probe {
	struct loop_src src;
	int fd, number;
	uint32_t events;
	void (*action)(struct probe *probe);
	struct probe *other;
	struct loop_garbage garbage;
};

static inline void probe_event(struct loop_src *src, uint32_t events)
{
	struct probe *p = container_of(src, struct probe, src);

	trace_add(p->number);
	p->events = events;
	if (p->action)
		p->action(p);
}

static inline void probe_signal(struct probe *p)
{
	assert_int_equal(eventfd_write(p->fd, 1), 0);
}

static inline void probe_quiet(struct probe *p)
{
	eventfd_t ignored;

	(void)eventfd_read(p->fd, &ignored);
}

static inline void free_probe(struct loop_garbage *garbage)
{
	struct probe *p = container_of(garbage, struct probe, garbage);

	trace_add(99);
	fd_close(&p->fd);
	free(p);
}

static inline void probe_open(struct loop *loop, struct probe *p, int number,
			      enum loop_prio prio)
{
	*p = (struct probe){ .number = number,
			     .action = probe_quiet,
			     .garbage.fn = free_probe };
	p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(p->fd >= 0);
	assert_int_equal(loop_src_add(loop, &p->src, p->fd, EPOLLIN, prio, probe_event),
			 0);
}

static inline void probe_close(struct probe *p)
{
	loop_src_remove(&p->src);
	fd_close(&p->fd);
}

static inline int setup(void **state)
{
	struct loop *loop;

	traced = 0;
	if (loop_init(&loop) < 0)
		return -1;
	*state = loop;
	return 0;
}

static inline int teardown(void **state)
{
	loop_free(*state);
	return 0;
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
