// SPDX-License-Identifier: Apache-2.0
/*
 * loop.h - the one event loop: epoll, priorities, timers, deferred free.
 *
 * Owns: the epoll descriptor, the timerfd, the queue of ready sources, the timer heap.
 * Called by: every module; one loop in the process, handed around as a pointer.
 * Never: allocates after loop_init() but to grow the timer heap; never sleeps for a
 * fixed time; never wakes up when nothing is due.
 *
 * A source is embedded in its owner; the callback gets the source and uses
 * container_of(). Events are hints: the callback re-reads the state, takes a bounded
 * bite and returns. epoll is level-triggered, so what is left raises again.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <sys/epoll.h>

#include "base/list.h"
#include "base/util.h"

/*
 * The order within one turn. Each line says which race its place prevents.
 */
enum loop_prio {
	LOOP_START,  /* start pipes and readiness: who says "ready" and dies was ready */
	LOOP_LOG,    /* before EXIT: the last line explains the death */
	LOOP_EXIT,   /* before CGROUP: the status is known when the group is empty */
	LOOP_CGROUP, /* before KERNEL: an emptied group releases what others wait for */
	LOOP_KERNEL, /* netlink, uevents, BPF ring: detail for what is recorded above */
	LOOP_TIMER, /* after all facts: a deadline must not beat the event it waits for */
	LOOP_CONTROL,    /* after facts and timers: an answer shows the newest state */
	LOOP_BACKGROUND, /* whatever can wait for a quieter turn */
	LOOP_PRIO_MAX
};

struct loop;
struct loop_src;

/* events: EPOLLIN, EPOLLOUT, EPOLLHUP, ... as epoll_wait(2) gave them. */
typedef void (*loop_src_fn)(struct loop_src *src, uint32_t events);

struct loop_src {
	loop_src_fn fn;
	struct loop *loop; /* NULL while not added */
	int fd;            /* borrowed: the owner closes it, after loop_src_remove() */
	enum loop_prio prio;
	uint32_t events;  /* interest */
	uint32_t pending; /* what this turn's epoll_wait() reported */
	struct list ready;
};

struct loop_timer;
typedef void (*loop_timer_fn)(struct loop_timer *timer);

/* A deadline on CLOCK_BOOTTIME. Zero-initialise, set fn, then loop_timer_set(). */
struct loop_timer {
	loop_timer_fn fn;
	struct loop *loop; /* NULL while not armed */
	int64_t at_ns;
	size_t slot; /* place in the heap */
};

/* Memory or descriptors that go away after the running batch, when no pending event
 * can name them any more. Embedded in the object to be freed. */
struct loop_garbage {
	void (*fn)(struct loop_garbage *garbage);
	struct loop_garbage *next;
};

/* -errno when a descriptor cannot be had. Above main's marked line only. */
int loop_init(struct loop **ret);
void loop_free(struct loop *loop);

/* Starts watching fd; events 0 adds it parked. The source is zeroed or was removed
 * before. -EPERM when epoll cannot watch this kind of file (a regular one), -ENOMEM,
 * -ENOSPC (fs.epoll.max_user_watches). Level-triggered: no EPOLLET, no EPOLLONESHOT. */
int loop_src_add(struct loop *loop, struct loop_src *src, int fd, uint32_t events,
		 enum loop_prio prio, loop_src_fn fn);

/* Changes the interest; 0 parks the source (EPOLLERR and EPOLLHUP are parked too), which
 * never fails; leaving the park may, as loop_src_add(), and the source stays parked. */
int loop_src_set(struct loop_src *src, uint32_t events);

/* Stops watching; legal inside any callback, also for a source that is pending in this
 * turn, and for one that was never added. Call it before closing the descriptor. */
void loop_src_remove(struct loop_src *src);

/* (Re-)arms; at_ns in the past fires in this turn or the next, TIME_NEVER disarms.
 * -ENOMEM when the heap cannot grow (see loop_timer_reserve); re-arming cannot fail. In
 * its callback a timer is no longer armed and may be set again, or freed. */
int loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns);
void loop_timer_cancel(struct loop_timer *timer);

/* Makes room for n timers in all, so that arming them cannot fail later. */
int loop_timer_reserve(struct loop *loop, size_t n);

/* The time at which this turn began: handlers of one turn agree on it. Outside a turn,
 * the time. */
int64_t loop_now(const struct loop *loop);

/* Calls garbage->fn when this turn ends, or before the next one waits. */
void loop_defer_free(struct loop *loop, struct loop_garbage *garbage);

/* Runs one turn: waits for events (timeout_ms -1 = for ever), then calls everything due
 * in priority order. Returns the number of callbacks run (0 after a signal) or -errno,
 * which only a broken descriptor of ours can cause. Not to be called from a callback. */
int loop_turn(struct loop *loop, int timeout_ms);

/* Turns until loop_stop(), and to the end of that turn; none when the stop came before.
 * Returns the code given there, or loop_turn()'s -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int code);

/* Counters for `podinit-info` and the idle test. */
struct loop_stats {
	uint64_t wakeups; /* turns: each begins with one wait */
	uint64_t callbacks;
	int64_t longest_ns;    /* longest single callback */
	uint64_t timers_armed; /* now */
};
void loop_get_stats(const struct loop *loop, struct loop_stats *ret);

#endif
