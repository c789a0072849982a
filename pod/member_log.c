// SPDX-License-Identifier: Apache-2.0
/*
 * member_log.c - see member_log.h. A bite is read into the service's buffer, split, and
 * each line goes to four places: the file's buffer, the tail, the journal, the console.
 * Only an unfinished line is kept per member, in memory that exists once it is written.
 */
#include "pod/member_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "pod/log_service.h"
#include "pod/log_split.h"
#include "pod/log_tail.h"

#define RESTS_BYTES     ((size_t)LOG_STREAM_MAX * LOG_LINE_MAX)

/* A pty holds at most this on its way to the master (TTYB_DEFAULT_MEM_LIMIT). */
#define TTY_DRAIN_BYTES 65536

struct log_source {
	struct loop_src src;
	struct log_waiter waiter;
	struct member_log *log;
	int fd; /* -1 = ended */
	struct log_split split;
};

struct member_log {
	struct log_service *service;
	struct log_user user;
	struct log_source sources[LOG_STREAM_MAX];
	int slave; /* keeps a terminal from hanging up while the member may reopen it */
	uint32_t attempt;
	struct log_stats stats;
	struct log_tail tail;
	struct log_file file;
	char *rests;  /* RESTS_BYTES */
	char *name;   /* "namespace/pod/member" */
	char *prefix; /* of its lines on the console: the name and ": " */
	char *member;
	struct log_record_head *record;
	size_t record_len;
	char pod_dir[NAME_MAX + 1];
};

/* The way of one bite. */
struct bite {
	struct member_log *log;
	enum log_stream stream;
	int64_t wall_ns;
	size_t out_len;  /* in the service's buffer */
	const char *run; /* whole lines not yet in the tail, NULL = none */
	size_t run_len;
	bool grew;
	char head[LOG_HEAD_BYTES];
};

/* ---- lines ------------------------------------------------------------------------ */

static void bite_flush(struct bite *b)
{
	struct log_service *s = b->log->service;

	if (b->out_len)
		log_service_write(s, &b->log->user, &b->log->file, s->out, b->out_len);
	b->out_len = 0;
}

static void run_flush(struct bite *b, bool partial)
{
	if (b->run)
		log_tail_append(&b->log->tail, b->wall_ns, b->log->attempt, b->stream,
				partial, b->run, b->run_len);
	b->run = NULL;
}

/* Lines that lie side by side in the bite become one run. A line from elsewhere, the
 * splitter's memory, does not stay: it is a run of its own. */
static void run_add(struct bite *b, bool partial, const char *text, size_t len)
{
	const char *bite = b->log->service->bite;
	bool stays = text >= bite && text < bite + LOG_BITE_BYTES;

	if (b->run && stays && text == b->run + b->run_len + 1 &&
	    b->run_len + len < LOG_TAIL_RUN_BYTES) {
		b->run_len += 1 + len;
	} else {
		run_flush(b, false);
		b->run = text;
		b->run_len = len;
	}
	if (partial || !stays)
		run_flush(b, partial);
}

static void journal_line(struct bite *b, bool partial, const char *text, size_t len)
{
	struct journal *j = b->log->service->journal;
	const struct log_record_head *head = b->log->record;
	size_t head_len = b->log->record_len, max = journal_body_max(j, head_len);
	uint32_t kind = (uint32_t)b->stream * 2;

	for (; len > max; text += max, len -= max)
		(void)journal_append(j, kind + 1, b->wall_ns, head, head_len, text, max);
	(void)journal_append(j, kind + partial, b->wall_ns, head, head_len, text, len);
}

static void on_line(void *arg, const char *text, size_t len, bool partial)
{
	struct bite *b = arg;
	struct member_log *log = b->log;
	struct log_service *s = log->service;

	if (LOG_CRI_BYTES(len) > LOG_RING_LINES_MAX - b->out_len)
		bite_flush(b);
	b->out_len = (size_t)(log_line_write(s->out + b->out_len, b->head, partial, text,
					     len) -
			      s->out);
	run_add(b, partial, text, len);
	if (s->journal)
		journal_line(b, partial, text, len);
	if (s->config.console)
		log_console_line(log->prefix, text, len);
	log->stats.lines += !partial;
	b->grew = true;
}

static void bite_begin(struct bite *b, struct log_source *source)
{
	struct member_log *log = source->log;

	*b = (struct bite){
		.log = log,
		.stream = (enum log_stream)(source - log->sources),
		.wall_ns = time_wall_ns(),
	};
	log_head_make(b->head, b->wall_ns, b->stream);
}

static void bite_end(struct bite *b)
{
	const struct log_config *config = &b->log->service->config;

	bite_flush(b);
	run_flush(b, false);
	if (b->grew && config->grew)
		config->grew(config->arg);
}

/* ---- sources ---------------------------------------------------------------------- */

static void source_close(struct log_source *source)
{
	loop_src_remove(&source->src);
	list_remove(&source->waiter.node);
	fd_close(&source->fd);
}

/* One read of at most max bytes. 0: nothing there now; -ENODATA: end of file, or a
 * terminal that hung up (EIO, see tty_ioctl(4)). */
static ssize_t source_read(struct log_source *source, size_t max)
{
	struct log_service *s = source->log->service;
	ssize_t n = read(source->fd, s->bite, MIN(max, (size_t)LOG_BITE_BYTES));
	struct bite b;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -ENODATA;
	bite_begin(&b, source);
	source->log->stats.bytes[b.stream] += (uint64_t)n;
	log_split_feed(&source->split, s->bite, (size_t)n, on_line, &b);
	bite_end(&b);
	return n;
}

static void source_end(struct log_source *source)
{
	struct bite b;

	bite_begin(&b, source);
	log_split_end(&source->split, on_line, &b);
	bite_end(&b);
	source_close(source);
}

static void on_readable(struct loop_src *src, uint32_t events)
{
	struct log_source *source = container_of(src, struct log_source, src);
	struct log_service *s = source->log->service;

	(void)events;
	if (log_service_full(s)) {
		log_service_wait(s, &source->waiter);
		return;
	}
	if (source_read(source, LOG_BITE_BYTES) == -ENODATA)
		source_end(source);
}

/* What is in there now; more may come for as long as a grandchild lives. */
static size_t source_left(const struct log_source *source, bool tty)
{
	int left = 0;

	if (tty)
		return TTY_DRAIN_BYTES;
	if (ioctl(source->fd, FIONREAD, &left) < 0)
		return 0;
	return (size_t)MAX(left, 0);
}

static void source_drain(struct log_source *source, bool tty)
{
	size_t left;

	if (source->fd < 0)
		return;
	left = source_left(source, tty);
	while (left) {
		ssize_t n = source_read(source, left);

		if (n <= 0)
			break;
		left -= (size_t)n;
	}
	source_end(source);
}

void member_log_drain(struct member_log *log)
{
	bool tty = log->slave >= 0, was_open = false;

	/* Without our copy the master says EIO when all is read. */
	fd_close(&log->slave);
	for (size_t i = 0; i < LOG_STREAM_MAX; i++) {
		was_open |= log->sources[i].fd >= 0;
		source_drain(&log->sources[i], tty);
	}
	if (log->file.pod_dir) {
		log_service_close(log->service, &log->user, &log->file);
		log->file.pod_dir = NULL;
	}
	/* The page of an unfinished line is given back: a stopped member costs none. */
	if (was_open)
		(void)madvise(log->rests, RESTS_BYTES, MADV_DONTNEED);
}

/* ---- opening ---------------------------------------------------------------------- */

static int source_open(struct log_source *source, int fd, bool tty)
{
	int r = fd_set_nonblock(fd);

	source->split.rest_len = 0;
	source->split.drop_cr = tty;
	if (r == 0)
		r = loop_src_add(source->log->service->loop, &source->src, fd, EPOLLIN,
				 LOOP_LOG, on_readable);
	if (r == 0)
		source->fd = fd;
	return r;
}

static int pipe_open(struct log_source *source, int *ret_write)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = source_open(source, fds[0], false);
	if (r < 0) {
		fd_close(&fds[0]);
		fd_close(&fds[1]);
		return r;
	}
	*ret_write = fds[1];
	return 0;
}

static int tty_open(struct member_log *log, int *ret_slave)
{
	_cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_close_ int slave = -1;
	int unlock = 0, r;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	/* Not by name: the pts file system it is in may be mounted nowhere. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	log->slave = fcntl(slave, F_DUPFD_CLOEXEC, 3);
	if (log->slave < 0)
		return -errno;
	r = source_open(&log->sources[LOG_STDOUT], master, true);
	if (r < 0) {
		fd_close(&log->slave);
		return r;
	}
	(void)fd_steal(&master); /* the source's now */
	*ret_slave = fd_steal(&slave);
	return 0;
}

static void ends_close(struct member_log *log, struct log_ends *ends)
{
	fd_close(&ends->out);
	fd_close(&ends->err);
	fd_close(&ends->tty);
	fd_close(&log->slave);
	for (size_t i = 0; i < LOG_STREAM_MAX; i++)
		source_close(&log->sources[i]);
}

int member_log_open(struct member_log *log, uint32_t attempt, bool tty,
		    struct log_ends *ret, struct err *e)
{
	struct log_ends ends = { .out = -1, .err = -1, .tty = -1 };
	int r;

	member_log_drain(log);
	log->attempt = log->record->attempt = attempt;
	if (tty) {
		r = tty_open(log, &ends.tty);
	} else {
		r = pipe_open(&log->sources[LOG_STDOUT], &ends.out);
		if (r == 0)
			r = pipe_open(&log->sources[LOG_STDERR], &ends.err);
	}
	if (r < 0) {
		ends_close(log, &ends);
		return err_set(e, STAGE_LOG, -r, "open %s for output",
			       tty ? "a terminal" : "pipes");
	}
	log->stats = (struct log_stats){ 0 };
	log_file_init(&log->file, &log->service->limits, log->pod_dir, log->member,
		      attempt);
	log_service_open(log->service, &log->user, &log->file);
	*ret = ends;
	return 0;
}

/* ---- life ------------------------------------------------------------------------- */

static int record_make(struct member_log *log, const struct log_owner *owner)
{
	size_t a = strlen(owner->namespace) + 1, b = strlen(owner->pod) + 1,
	       c = strlen(owner->member) + 1;

	log->record_len = sizeof(*log->record) + a + b + c;
	log->record = calloc(1, log->record_len);
	if (!log->record)
		return -ENOMEM;
	log->record->name_bytes = (uint32_t)(a + b + c);
	memcpy(log->record->names, owner->namespace, a);
	memcpy(log->record->names + a, owner->pod, b);
	memcpy(log->record->names + a + b, owner->member, c);
	return 0;
}

static int log_make(struct member_log *log, const struct log_owner *owner)
{
	char *rests;

	if (log_tail_init(&log->tail, log->service->config.tail_bytes) < 0)
		return -ENOMEM;
	rests = mmap(NULL, RESTS_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rests == MAP_FAILED)
		return -ENOMEM;
	log->rests = rests;
	for (size_t i = 0; i < LOG_STREAM_MAX; i++)
		log->sources[i].split.rest = rests + i * LOG_LINE_MAX;
	if (asprintf(&log->name, "%s/%s/%s", owner->namespace, owner->pod,
		     owner->member) < 0) {
		log->name = NULL; /* asprintf(3) leaves it undefined */
		return -ENOMEM;
	}
	if (asprintf(&log->prefix, "%s: ", log->name) < 0) {
		log->prefix = NULL;
		return -ENOMEM;
	}
	log->member = strdup(owner->member);
	log_file_pod_dir(log->pod_dir, owner->namespace, owner->pod, owner->uid);
	return log->member ? record_make(log, owner) : -ENOMEM;
}

struct member_log *member_log_new(struct log_service *s, const struct log_owner *owner)
{
	struct member_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->service = s;
	log->slave = log->file.fd = -1;
	list_init(&log->user.node);
	for (size_t i = 0; i < LOG_STREAM_MAX; i++) {
		struct log_source *source = &log->sources[i];

		source->log = log;
		source->fd = -1;
		source->waiter.src = &source->src;
		list_init(&source->waiter.node);
	}
	if (log_make(log, owner) < 0) {
		member_log_free(log);
		return NULL;
	}
	log_service_join(s, &log->user, log->name);
	return log;
}

void member_log_free(struct member_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < LOG_STREAM_MAX; i++)
		source_close(&log->sources[i]);
	fd_close(&log->slave);
	if (log->file.pod_dir)
		log_service_close(log->service, &log->user, &log->file);
	log_service_leave(&log->user);
	if (log->rests)
		(void)munmap(log->rests, RESTS_BYTES);
	log_tail_free(&log->tail);
	free(log->name);
	free(log->prefix);
	free(log->member);
	free(log->record);
	free(log);
}

void member_log_tail(const struct member_log *log, size_t max_lines, log_line_fn fn,
		     void *arg)
{
	log_tail_read(&log->tail, max_lines, fn, arg);
}

void member_log_stats(const struct member_log *log, struct log_stats *ret)
{
	*ret = log->stats;
	ret->lost_bytes = log->user.lost_bytes;
	ret->code = log->user.code;
}
