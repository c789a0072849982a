// SPDX-License-Identifier: Apache-2.0
/*
 * log_service.c - see log_service.h. Keeps a writer alive as long as there is one to
 * keep: what it has not written waits in the ring, so its death costs nothing but time.
 */
#include "pod/log_service.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/time.h"
#include "pod/log_writer.h"

/* A writer that dies at the same message again and again: wait, and give the message up
 * after a few times. */
#define DEATHS_MAX        3
#define RESTART_FIRST_NS  (100 * NSEC_PER_MSEC)
#define RESTART_SHIFT_MAX 6

/* Reports read in one callback. */
#define REPORTS_MAX       64

static void writer_start(struct log_service *s);

/* ---- users ------------------------------------------------------------------------ */

void log_service_join(struct log_service *s, struct log_user *user, const char *name)
{
	*user = (struct log_user){ .id = ++s->last_id, .name = name };
	list_append(&s->users, &user->node);
}

void log_service_leave(struct log_user *user)
{
	list_remove(&user->node);
}

/* Tells the first of a series of errors, and the end of the series. */
static void user_note(struct log_user *user, uint64_t lost_bytes, int code)
{
	user->lost_bytes += lost_bytes;
	if (code && !user->code)
		log_warn("%s: cannot write the log file: %s", user->name, strerror(code));
	else if (!code && user->code)
		log_info("%s: the log file is written again, %llu bytes were lost so far",
			 user->name, (unsigned long long)user->lost_bytes);
	user->code = code;
}

static struct log_user *user_find(struct log_service *s, uint64_t id)
{
	list_for_each(it, &s->users) {
		struct log_user *user = list_entry(it, struct log_user, node);

		if (user->id == id)
			return user;
	}
	return NULL;
}

void log_service_open(struct log_service *s, struct log_user *user, struct log_file *file)
{
	if (s->direct) {
		user_note(user, 0, -log_file_open(file));
		return;
	}
	/* A fresh file starts without a fault; without room the first lines make it. */
	user->code = 0;
	(void)log_ring_put(&s->ring, LOG_MESSAGE_LINES, user->id, file, NULL, 0);
}

void log_service_write(struct log_service *s, struct log_user *user,
		       struct log_file *file, const char *lines, size_t len)
{
	uint64_t lost = file->lost_bytes;
	int r;

	if (s->direct) {
		r = log_file_write(file, lines, len);
		user_note(user, file->lost_bytes - lost, -r);
		return;
	}
	if (s->finished ||
	    !log_ring_put(&s->ring, LOG_MESSAGE_LINES, user->id, file, lines, len)) {
		user_note(user, len, ENOBUFS);
		return;
	}
	if (user->code == ENOBUFS)
		user_note(user, 0, 0);
	if (s->writer_pidfd < 0 && !s->restart.loop)
		writer_start(s);
}

void log_service_close(struct log_service *s, struct log_user *user,
		       struct log_file *file)
{
	if (s->direct)
		log_file_close(file);
	else
		/* Without room it stays open until its slot is needed. */
		(void)log_ring_put(&s->ring, LOG_MESSAGE_CLOSE, user->id, file, NULL, 0);
}

bool log_service_remove_pod(struct log_service *s, const struct log_owner *owner)
{
	char pod_dir[NAME_MAX + 1];
	struct log_file file;

	if (s->direct || s->finished)
		return false;
	log_file_pod_dir(pod_dir, owner->namespace, owner->pod, owner->uid);
	log_file_init(&file, &s->limits, pod_dir, "", 0);
	return log_ring_put(&s->ring, LOG_MESSAGE_REMOVE, 0, &file, NULL, 0);
}

/* ---- back-pressure ---------------------------------------------------------------- */

bool log_service_full(const struct log_service *s)
{
	return !s->direct && log_ring_used(&s->ring) >= LOG_RING_SOFT_BYTES;
}

void log_service_wait(struct log_service *s, struct log_waiter *waiter)
{
	(void)loop_src_set(waiter->src, 0); /* parking cannot fail */
	list_remove(&waiter->node);
	list_append(&s->waiters, &waiter->node);
	log_ring_want_room(&s->ring);
}

static void waiters_wake(struct log_service *s)
{
	while (!list_empty(&s->waiters)) {
		struct log_waiter *w = list_entry(s->waiters.next, struct log_waiter,
						  node);

		/* Out of kernel memory: the others have to wait for the next time too. */
		if (loop_src_set(w->src, EPOLLIN) < 0) {
			log_ring_want_room(&s->ring);
			return;
		}
		list_remove(&w->node);
	}
}

/* ---- the writer ------------------------------------------------------------------- */

static void finish_end(struct log_service *s)
{
	void (*done)(void *arg) = s->finish_done;

	s->finished = true;
	s->finish_done = NULL;
	loop_timer_cancel(&s->finish);
	loop_timer_cancel(&s->restart);
	if (s->writer_pidfd >= 0)
		(void)proc_signal(s->writer_pidfd, SIGKILL); /* its exit still comes */
	if (done)
		done(s->finish_arg);
}

static void finish_put(struct log_service *s)
{
	if (s->finish_put || s->direct)
		return;
	s->finish_put = log_ring_put(&s->ring, LOG_MESSAGE_FINISH, 0, NULL, NULL, 0);
	if (!s->finish_put)
		log_ring_want_room(&s->ring);
}

/* true while there may be more. */
static bool report_take(struct log_service *s)
{
	struct log_report r;
	struct log_user *user;

	if (read(s->report_fd, &r, sizeof(r)) != (ssize_t)sizeof(r))
		return false;
	if (!r.log_id) {
		waiters_wake(s);
		if (s->finish_done)
			finish_put(s);
		return true;
	}
	user = user_find(s, r.log_id);
	if (user)
		user_note(user, r.lost_bytes, MAX(r.code, 0));
	return true;
}

static void on_report(struct loop_src *src, uint32_t events)
{
	struct log_service *s = container_of(src, struct log_service, report_src);
	int n = 0;

	(void)events;
	while (n < REPORTS_MAX && report_take(s))
		n++;
	/* Hung up and empty: its exit says the rest, and the loop must not spin until. */
	if (!n && (events & EPOLLHUP))
		loop_src_remove(src);
}

static void writer_forget(struct log_service *s)
{
	loop_src_remove(&s->writer_src);
	loop_src_remove(&s->report_src);
	fd_close(&s->writer_pidfd);
	fd_close(&s->report_fd);
}

/* The message that killed several writers is given up, so that the others get through.
 * No writer is alive: the consumer's side is ours. */
static void message_drop(struct log_service *s)
{
	const struct log_message *m = log_ring_peek(&s->ring);
	struct log_user *user;

	if (!m || m->kind == LOG_MESSAGE_FINISH)
		return;
	user = user_find(s, m->log_id);
	if (user)
		user_note(user, m->lines_bytes, EIO);
	log_ring_take(&s->ring);
	s->deaths = 0;
}

/* 0 = at once: the dead one had got on. Being killed is no message's fault. */
static int64_t restart_delay_ns(struct log_service *s, bool killed)
{
	const struct log_message *m = log_ring_peek(&s->ring);
	uint64_t number = m ? m->number : s->ring.next_number;

	if (number != s->death_number) {
		s->death_number = number;
		s->deaths = 0;
		return 0;
	}
	s->deaths++;
	if (s->deaths >= DEATHS_MAX && !killed)
		message_drop(s);
	return RESTART_FIRST_NS << MIN(s->deaths, (unsigned int)RESTART_SHIFT_MAX);
}

static void on_restart(struct loop_timer *timer)
{
	writer_start(container_of(timer, struct log_service, restart));
}

/* Without memory for the timer the next lines start it, see log_service_write(). */
static void writer_start_later(struct log_service *s, int64_t delay_ns)
{
	(void)loop_timer_set(s->loop, &s->restart, time_add(loop_now(s->loop), delay_ns));
}

static void on_writer_exit(struct loop_src *src, uint32_t events)
{
	struct log_service *s = container_of(src, struct log_service, writer_src);
	struct proc_exit e = { 0 };
	int r = proc_collect(s->writer_pidfd, &e, NULL);
	const struct log_message *m;
	int64_t delay_ns;

	(void)events;
	if (r == -EAGAIN)
		return;
	while (report_take(s))
		;
	writer_forget(s);
	/* It may have died between taking the wish for room and granting it. */
	waiters_wake(s);
	if (s->finished)
		return; /* file systems are going: nothing may open a file there again */
	m = s->finish_put ? log_ring_peek(&s->ring) : NULL;
	if (r == 0 && m && m->kind == LOG_MESSAGE_FINISH && !e.by_signal) {
		if (e.status)
			log_warn("the log files could not be flushed to the disk");
		finish_end(s);
		return;
	}
	log_warn("the log writer ended (%s %d), another one goes on",
		 e.by_signal ? "signal" : "exit code", e.status);
	delay_ns = restart_delay_ns(s, e.by_signal && e.status == SIGKILL);
	if (delay_ns)
		writer_start_later(s, delay_ns);
	else
		writer_start(s);
}

static int writer_clone(struct log_service *s)
{
	int fds[2];
	pid_t pid;
	int r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	s->report_fd = fds[0];
	pid = proc_clone(0, -1, &s->writer_pidfd);
	if (pid == 0)
		_exit(log_writer_run(&s->ring, &s->limits, fds[1]));
	fd_close(&fds[1]);
	if (pid < 0)
		return pid;
	r = fd_set_nonblock(s->report_fd);
	if (r == 0)
		r = loop_src_add(s->loop, &s->report_src, s->report_fd, EPOLLIN, LOOP_LOG,
				 on_report);
	if (r == 0)
		r = loop_src_add(s->loop, &s->writer_src, s->writer_pidfd, EPOLLIN,
				 LOOP_EXIT, on_writer_exit);
	return r;
}

static void writer_start(struct log_service *s)
{
	int r = writer_clone(s);
	struct proc_exit e;

	if (r == 0)
		return;
	log_warn("cannot start the log writer: %s", strerror(-r));
	if (s->writer_pidfd >= 0) {
		/* Nobody would hear of its end, so there must not be two. */
		(void)proc_signal(s->writer_pidfd, SIGKILL);
		(void)proc_collect(s->writer_pidfd, &e, NULL);
	}
	writer_forget(s);
	writer_start_later(s, RESTART_FIRST_NS << RESTART_SHIFT_MAX);
}

/* ---- the end ---------------------------------------------------------------------- */

static void on_finish(struct loop_timer *timer)
{
	struct log_service *s = container_of(timer, struct log_service, finish);

	if (!s->direct)
		log_warn("the log writer did not finish in time, %zu bytes are left",
			 log_ring_used(&s->ring));
	finish_end(s);
}

void log_service_finish(struct log_service *s, int64_t deadline_ns,
			void (*done)(void *arg), void *arg)
{
	s->finish_done = done;
	s->finish_arg = arg;
	finish_put(s);
	if (!s->direct && !s->finished && s->writer_pidfd < 0) {
		loop_timer_cancel(&s->restart);
		writer_start(s);
	}
	/* Without memory for the timer: better done too early than never. */
	if (loop_timer_set(s->loop, &s->finish, s->direct ? 0 : deadline_ns) < 0)
		finish_end(s);
}

/* ---- the beginning ---------------------------------------------------------------- */

/* On a file system in memory a write never waits. What cannot be told goes to the writer,
 * which is right everywhere. */
static bool dir_in_memory(struct log_service *s)
{
	_cleanup_close_ int fd = log_dir_open(s->dir);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

static int service_open(struct log_service *s)
{
	int r;

	s->bite = malloc(LOG_BITE_BYTES);
	s->out = malloc(LOG_RING_LINES_MAX);
	s->dir = strdup(s->config.dir);
	if (!s->bite || !s->out || !s->dir)
		return -ENOMEM;
	s->limits = (struct log_limits){
		.dir = s->dir,
		.max_bytes = s->config.max_bytes,
		.max_files = s->config.max_files,
	};
	s->direct = dir_in_memory(s) && !s->config.force_writer;
	if (s->direct)
		return 0;
	r = log_ring_init(&s->ring);
	if (r == 0)
		writer_start(s);
	return r;
}

int log_service_init(struct log_service **ret, struct loop *loop,
		     const struct log_config *config, struct journal *journal,
		     struct err *e)
{
	struct log_service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, STAGE_LOG, ENOMEM, "log service");
	s->loop = loop;
	s->config = *config;
	s->journal = journal;
	s->writer_pidfd = s->report_fd = -1;
	s->restart.fn = on_restart;
	s->finish.fn = on_finish;
	list_init(&s->users);
	list_init(&s->waiters);
	r = service_open(s);
	if (r < 0) {
		log_service_free(s);
		return err_set(e, STAGE_LOG, -r, "log service for %s", config->dir);
	}
	*ret = s;
	return 0;
}

void log_service_free(struct log_service *s)
{
	if (!s)
		return;
	assert(list_empty(&s->users));
	if (s->writer_pidfd >= 0)
		(void)proc_signal(s->writer_pidfd, SIGKILL);
	writer_forget(s);
	loop_timer_cancel(&s->restart);
	loop_timer_cancel(&s->finish);
	log_ring_free(&s->ring);
	free(s->bite);
	free(s->out);
	free(s->dir);
	free(s);
}
