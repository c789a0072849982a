// SPDX-License-Identifier: Apache-2.0
/*
 * loop.c - see loop.h. A turn has three steps: ask epoll for all that is ready, sort it
 * into one queue per priority, run the queues. Only the queues live across callbacks,
 * and they are linked through the sources themselves: taking a source out is O(1), and
 * no copy of an event can outlive its source.
 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

/* One epoll_wait() takes a batch; a turn takes batches until all that is ready is known
 * (else an exit of batch 1 would overtake a log line of batch 2), up to 4,096 events. */
#define LOOP_BATCH_EVENTS 128
#define LOOP_BATCH_MAX    32

#define LOOP_HEAP_FIRST   32

struct loop {
	int epoll_fd, timer_fd;
	struct list ready[LOOP_PRIO_MAX];
	struct loop_garbage *garbage;

	struct loop_timer **heap; /* a binary heap, the earliest deadline first */
	size_t timers, heap_size;
	int64_t armed_ns; /* what the timerfd is set to, TIME_NEVER = disarmed */

	int64_t now_ns;
	int64_t callback_ns; /* when the running callback began */
	bool in_turn, in_timers;
	bool stopped;
	int code;

	int called; /* callbacks of this turn */
	uint64_t wakeups, callbacks;
	int64_t longest_ns;

	struct epoll_event batch[LOOP_BATCH_EVENTS];
};

/* ---- sources ---------------------------------------------------------------------- */

static int src_ctl(struct loop_src *src, int op)
{
	struct epoll_event ev = { .events = src->events, .data.ptr = src };

	return epoll_ctl(src->loop->epoll_fd, op, src->fd, &ev) < 0 ? -errno : 0;
}

/* Fails only when the owner has closed the descriptor first. */
static void src_forget(struct loop_src *src)
{
	int r = src_ctl(src, EPOLL_CTL_DEL);

	assert(r == 0);
	(void)r; /* with NDEBUG */
}

int loop_src_add(struct loop *loop, struct loop_src *src, int fd, uint32_t events,
		 enum loop_prio prio, loop_src_fn fn)
{
	struct loop_src fresh = { .fn = fn, .loop = loop, .fd = fd, .prio = prio };
	int r;

	assert(!src->loop && fn && fd >= 0 && (unsigned int)prio < LOOP_PRIO_MAX);
	assert(!(events & (EPOLLET | EPOLLONESHOT)));
	*src = fresh;
	list_init(&src->ready);
	r = loop_src_set(src, events);
	if (r < 0)
		src->loop = NULL;
	return r;
}

int loop_src_set(struct loop_src *src, uint32_t events)
{
	uint32_t old = src->events;
	int r = 0;

	assert(src->loop && !(events & (EPOLLET | EPOLLONESHOT)));
	if (events == old)
		return 0;
	src->events = events;
	/* epoll_ctl(2): EPOLLERR and EPOLLHUP cannot be masked, so a source that wants
	 * nothing must not be registered, or a hung-up peer would spin the loop. */
	if (!events) {
		src_forget(src);
	} else {
		r = src_ctl(src, old ? EPOLL_CTL_MOD : EPOLL_CTL_ADD);
		if (r < 0) {
			src->events = old;
			return r;
		}
	}
	src->pending &= events ? events | EPOLLERR | EPOLLHUP : 0;
	if (!src->pending)
		list_remove(&src->ready);
	return 0;
}

void loop_src_remove(struct loop_src *src)
{
	if (!src->loop)
		return;
	if (src->events)
		src_forget(src);
	list_remove(&src->ready);
	src->pending = 0;
	src->events = 0;
	src->loop = NULL;
}

/* ---- timers ----------------------------------------------------------------------- */

static void heap_place(struct loop *loop, struct loop_timer *timer, size_t slot)
{
	loop->heap[slot] = timer;
	timer->slot = slot;
}

/* Moves the timer from its slot to where its deadline belongs. */
static void heap_settle(struct loop *loop, struct loop_timer *timer)
{
	size_t slot = timer->slot;

	while (slot) {
		struct loop_timer *parent = loop->heap[(slot - 1) / 2];

		if (parent->at_ns <= timer->at_ns)
			break;
		heap_place(loop, parent, slot);
		slot = (slot - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * slot + 1;

		if (child + 1 < loop->timers &&
		    loop->heap[child + 1]->at_ns < loop->heap[child]->at_ns)
			child++;
		if (child >= loop->timers || loop->heap[child]->at_ns >= timer->at_ns)
			break;
		heap_place(loop, loop->heap[child], slot);
		slot = child;
	}
	heap_place(loop, timer, slot);
}

int loop_timer_reserve(struct loop *loop, size_t n)
{
	struct loop_timer **heap;

	if (n <= loop->heap_size)
		return 0;
	heap = reallocarray(loop->heap, n, sizeof(struct loop_timer *));
	if (!heap)
		return -ENOMEM;
	loop->heap = heap;
	loop->heap_size = n;
	return 0;
}

int loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns)
{
	assert(timer->fn && (!timer->loop || timer->loop == loop));
	if (at_ns == TIME_NEVER) {
		loop_timer_cancel(timer);
		return 0;
	}
	/* A timer that sets itself to the past runs once a turn: it can neither hold this
	 * turn for ever nor stand before other timers in each of the next. */
	if (loop->in_timers)
		at_ns = MAX(at_ns, loop->now_ns + 1);
	if (!timer->loop) {
		if (loop->timers == loop->heap_size) {
			size_t want = MAX(loop->heap_size * 2, (size_t)LOOP_HEAP_FIRST);
			int r = loop_timer_reserve(loop, want);

			if (r < 0)
				return r;
		}
		timer->loop = loop;
		timer->slot = loop->timers++;
	}
	timer->at_ns = at_ns;
	heap_settle(loop, timer);
	return 0;
}

void loop_timer_cancel(struct loop_timer *timer)
{
	struct loop *loop = timer->loop;
	struct loop_timer *last;

	if (!loop)
		return;
	timer->loop = NULL;
	last = loop->heap[--loop->timers];
	if (last == timer)
		return;
	last->slot = timer->slot;
	heap_settle(loop, last);
}

/* Brings the timerfd to the earliest deadline. It is never read: setting it takes an
 * expiry back, and the deadline after an expiry is another one, or none. */
static int timers_arm(struct loop *loop)
{
	int64_t at_ns = TIME_NEVER;
	struct itimerspec spec = { 0 };

	/* An it_value of zero would disarm (timerfd_settime(2)). */
	if (loop->timers)
		at_ns = MAX(loop->heap[0]->at_ns, (int64_t)1);
	if (at_ns == loop->armed_ns)
		return 0;
	if (at_ns != TIME_NEVER) {
		spec.it_value.tv_sec = at_ns / NSEC_PER_SEC;
		spec.it_value.tv_nsec = at_ns % NSEC_PER_SEC;
	}
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		return -errno;
	loop->armed_ns = at_ns;
	return 0;
}

/* ---- one turn --------------------------------------------------------------------- */

static bool timers_due(const struct loop *loop)
{
	return loop->timers && loop->heap[0]->at_ns <= loop->now_ns;
}

static void account(struct loop *loop)
{
	int64_t end_ns = time_boot_ns();

	loop->longest_ns = MAX(loop->longest_ns, end_ns - loop->callback_ns);
	loop->callback_ns = end_ns;
	loop->callbacks++;
	loop->called++;
}

/* true when the source was not known to be ready before. */
static bool enqueue(struct loop *loop, const struct epoll_event *ev)
{
	struct loop_src *src = ev->data.ptr;
	bool fresh;

	if (!src)
		return false; /* the timerfd: it has only to end the wait */
	fresh = !src->pending;
	src->pending |= ev->events;
	if (fresh)
		list_append(&loop->ready[src->prio], &src->ready);
	return fresh;
}

/* epoll hands out ready descriptors in rotation, so a batch without a fresh one means
 * that all of them have been seen. */
static int collect(struct loop *loop, int timeout_ms)
{
	for (int i = 0; i < LOOP_BATCH_MAX; i++) {
		int n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH_EVENTS,
				   i ? 0 : timeout_ms);
		bool fresh = false;

		if (i == 0)
			loop->wakeups++;
		if (n < 0)
			return errno == EINTR ? 0 : -errno;
		for (int k = 0; k < n; k++)
			fresh |= enqueue(loop, &loop->batch[k]);
		if (n < LOOP_BATCH_EVENTS || !fresh)
			break;
	}
	return 0;
}

static void run_timers(struct loop *loop)
{
	loop->in_timers = true;
	while (timers_due(loop)) {
		struct loop_timer *timer = loop->heap[0];

		loop_timer_cancel(timer);
		timer->fn(timer);
		account(loop);
	}
	loop->in_timers = false;
}

static void run_sources(struct loop *loop, struct list *ready)
{
	while (!list_empty(ready)) {
		struct loop_src *src = list_entry(ready->next, struct loop_src, ready);
		uint32_t events = src->pending;

		src->pending = 0;
		list_remove(&src->ready);
		src->fn(src, events);
		account(loop);
	}
}

static void run_garbage(struct loop *loop)
{
	while (loop->garbage) {
		struct loop_garbage *g = loop->garbage;

		loop->garbage = g->next;
		g->fn(g);
	}
}

void loop_defer_free(struct loop *loop, struct loop_garbage *garbage)
{
	garbage->next = loop->garbage;
	loop->garbage = garbage;
}

int loop_turn(struct loop *loop, int timeout_ms)
{
	int r;

	assert(!loop->in_turn);
	run_garbage(loop); /* of callers outside a turn: the wait below may be long */
	if (timers_due(loop)) {
		timeout_ms = 0;
	} else {
		r = timers_arm(loop);
		if (r < 0)
			return r;
	}
	r = collect(loop, timeout_ms);
	if (r < 0)
		return r;

	loop->in_turn = true;
	loop->now_ns = loop->callback_ns = time_boot_ns();
	loop->called = 0;
	for (int prio = 0; prio < LOOP_PRIO_MAX; prio++) {
		if (prio == LOOP_TIMER)
			run_timers(loop);
		run_sources(loop, &loop->ready[prio]);
	}
	run_garbage(loop);
	loop->in_turn = false;
	return loop->called;
}

/* ---- the loop itself -------------------------------------------------------------- */

int loop_init(struct loop **ret)
{
	struct epoll_event ev = { .events = EPOLLIN }; /* no source: the timerfd */
	struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(loop->ready); i++)
		list_init(&loop->ready[i]);
	loop->timer_fd = -1;
	loop->armed_ns = TIME_NEVER;
	loop->now_ns = time_boot_ns();
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd >= 0)
		loop->timer_fd = timerfd_create(CLOCK_BOOTTIME,
						TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &ev) < 0) {
		r = -errno;
		loop_free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	assert(!loop->in_turn);
	run_garbage(loop);
	for (size_t i = 0; i < loop->timers; i++)
		loop->heap[i]->loop = NULL;
	free(loop->heap);
	fd_close(&loop->timer_fd);
	fd_close(&loop->epoll_fd);
	free(loop);
}

int64_t loop_now(const struct loop *loop)
{
	return loop->in_turn ? loop->now_ns : time_boot_ns();
}

void loop_stop(struct loop *loop, int code)
{
	loop->stopped = true;
	loop->code = code;
}

void loop_get_stats(const struct loop *loop, struct loop_stats *ret)
{
	*ret = (struct loop_stats){
		.wakeups = loop->wakeups,
		.callbacks = loop->callbacks,
		.longest_ns = loop->longest_ns,
		.timers_armed = loop->timers,
	};
}

int loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		int r = loop_turn(loop, -1);

		if (r < 0)
			return r;
	}
	loop->stopped = false;
	return loop->code;
}
