// SPDX-License-Identifier: Apache-2.0
/*
 * log_ring.c - see log_ring.h. Offsets into a fixed area: equal offsets mean empty, so
 * the producer never fills the last gap. A message is contiguous; the producer jumps to
 * the front when it comes to the end. When it finds the ring empty, all of it is the
 * producer's, and it gives the pages back from time to time.
 */
#include "pod/log_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

#define MESSAGE_ALIGN 8

/* The header page is not counted. */
#define HEAD_BYTES    4096

struct mark_slot {
	uint64_t number; /* of the message */
	struct log_mark mark;
};

struct log_ring_shared {
	uint32_t write_at;    /* by the producer */
	uint32_t read_at;     /* by the consumer */
	uint32_t sleeping;    /* the consumer will block: wake it */
	uint32_t room_wanted; /* the producer waits */
	uint32_t mark_slot;
	uint64_t queued; /* by the producer, for the consumer */
	struct mark_slot marks[2];
	_Alignas(HEAD_BYTES) char area[LOG_RING_BYTES_MAX];
};

static uint32_t load(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

int log_ring_init(struct log_ring *ring)
{
	_cleanup_close_ int mem_fd = memfd_create("podinit-log", MFD_CLOEXEC);
	/* Blocking: the consumer waits in read(2). The producer adds 1 a time, and the
	 * counter would have to reach 2^64 - 1 to make that block. */
	_cleanup_close_ int wake_fd = eventfd(0, EFD_CLOEXEC);
	void *map;

	if (mem_fd < 0 || wake_fd < 0 ||
	    ftruncate(mem_fd, sizeof(struct log_ring_shared)) < 0)
		return -errno;
	map = mmap(NULL, sizeof(struct log_ring_shared), PROT_READ | PROT_WRITE,
		   MAP_SHARED, mem_fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ring = (struct log_ring){
		.shared = map,
		.mem_fd = fd_steal(&mem_fd),
		.wake_fd = fd_steal(&wake_fd),
		.next_number = 1,
	};
	return 0;
}

void log_ring_free(struct log_ring *ring)
{
	if (!ring->shared)
		return;
	(void)munmap(ring->shared,
		     sizeof(*ring->shared)); /* fails for a bad address only */
	ring->shared = NULL;
	fd_close(&ring->mem_fd);
	fd_close(&ring->wake_fd);
}

static struct log_message *message_at(const struct log_ring *ring, uint32_t at)
{
	return (struct log_message *)(ring->shared->area + at);
}

/* ---- the producer ----------------------------------------------------------------- */

/* The consumer's offset, or the producer's (nothing is queued) when it is none. */
static uint32_t read_at(const struct log_ring *ring)
{
	uint32_t at = load(&ring->shared->read_at);

	if (at > LOG_RING_BYTES_MAX - sizeof(struct log_message) || at % MESSAGE_ALIGN)
		return load(&ring->shared->write_at);
	return at;
}

static size_t used_between(const struct log_ring *ring, uint32_t from, uint32_t to,
			   uint64_t queued)
{
	const struct log_message *m;

	if (from == to)
		return 0;
	m = message_at(ring, from);
	if (m->kind == LOG_MESSAGE_JUMP)
		m = message_at(ring, 0);
	return (size_t)MIN(queued - m->queued, (uint64_t)LOG_RING_BYTES_MAX);
}

size_t log_ring_used(const struct log_ring *ring)
{
	return used_between(ring, read_at(ring), ring->write_at, ring->queued);
}

/* Where a message of total bytes may begin, leaving room for a jump after it. */
static bool place_find(const struct log_ring *ring, size_t total, uint32_t *ret)
{
	size_t end = ring->write_at + total + sizeof(struct log_message);
	uint32_t read = read_at(ring);

	*ret = ring->write_at;
	if (read > ring->write_at)
		return end < read;
	if (end < LOG_RING_BYTES_MAX)
		return true;
	*ret = 0;
	return total + sizeof(struct log_message) < read;
}

/* The consumer looks at nothing before a new write_at: an empty ring may be zeroed. */
static void pages_trim(struct log_ring *ring)
{
	if (ring->queued - ring->trimmed < LOG_RING_SOFT_BYTES ||
	    read_at(ring) != ring->write_at)
		return;
	ring->trimmed = ring->queued;
	/* A failure costs memory that was in use before, no more. */
	(void)fallocate(ring->mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			HEAD_BYTES, LOG_RING_BYTES_MAX);
}

static void message_fill(struct log_message *m, const struct log_file *file,
			 const char *lines, size_t len)
{
	if (file) {
		memcpy(m->bytes, file->pod_dir, m->pod_dir_bytes);
		memcpy(m->bytes + m->pod_dir_bytes, file->member, m->member_bytes);
	}
	if (len)
		memcpy(m->bytes + m->pod_dir_bytes + m->member_bytes, lines, len);
}

bool log_ring_put(struct log_ring *ring, enum log_message_kind kind, uint64_t log_id,
		  const struct log_file *file, const char *lines, size_t len)
{
	struct log_message head = {
		.kind = kind,
		.number = ring->next_number,
		.queued = ring->queued,
		.log_id = log_id,
		.attempt = file ? file->attempt : 0,
		.pod_dir_bytes = file ? (uint32_t)strlen(file->pod_dir) + 1 : 0,
		.member_bytes = file ? (uint32_t)strlen(file->member) + 1 : 0,
		.lines_bytes = (uint32_t)len,
	};
	size_t total = sizeof(head) + head.pod_dir_bytes + head.member_bytes + len;
	const uint64_t one = 1;
	uint32_t at;

	total = (total + MESSAGE_ALIGN - 1) & ~(size_t)(MESSAGE_ALIGN - 1);
	pages_trim(ring);
	if (!place_find(ring, total, &at))
		return false;
	if (at != ring->write_at)
		message_at(ring, ring->write_at)->kind = LOG_MESSAGE_JUMP;
	head.total = (uint32_t)total;
	*message_at(ring, at) = head;
	message_fill(message_at(ring, at), file, lines, len);
	ring->next_number++;
	ring->queued += total;
	ring->write_at = at + (uint32_t)total;
	__atomic_store_n(&ring->shared->queued, ring->queued, __ATOMIC_SEQ_CST);
	store(&ring->shared->write_at, ring->write_at);
	if (load(&ring->shared->sleeping))
		(void)!write(ring->wake_fd, &one, sizeof(one)); /* see log_ring_init() */
	return true;
}

void log_ring_want_room(struct log_ring *ring)
{
	const uint64_t one = 1;

	store(&ring->shared->room_wanted, 1);
	/* It may have emptied the ring before it could see the wish. */
	(void)!write(ring->wake_fd, &one, sizeof(one));
}

/* ---- the consumer ----------------------------------------------------------------- */

const struct log_message *log_ring_peek(const struct log_ring *ring)
{
	uint32_t at = read_at(ring);

	if (at == load(&ring->shared->write_at))
		return NULL;
	if (message_at(ring, at)->kind == LOG_MESSAGE_JUMP)
		at = 0;
	return message_at(ring, at);
}

void log_ring_take(struct log_ring *ring)
{
	const struct log_message *m = log_ring_peek(ring);

	store(&ring->shared->read_at,
	      (uint32_t)((const char *)m - ring->shared->area) + m->total);
}

void log_ring_wait(struct log_ring *ring)
{
	uint64_t count;

	store(&ring->shared->sleeping, 1);
	/* A message put before the producer could see the flag wakes nobody. */
	if (!log_ring_peek(ring) && !load(&ring->shared->room_wanted))
		(void)!read(ring->wake_fd, &count, sizeof(count)); /* any end is one */
	store(&ring->shared->sleeping, 0);
}

bool log_ring_room_wanted(struct log_ring *ring)
{
	struct log_ring_shared *shared = ring->shared;
	size_t used;

	if (!load(&shared->room_wanted))
		return false;
	used = used_between(ring, load(&shared->read_at), load(&shared->write_at),
			    __atomic_load_n(&shared->queued, __ATOMIC_SEQ_CST));
	if (used > LOG_RING_SOFT_BYTES / 2)
		return false;
	store(&ring->shared->room_wanted, 0);
	return true;
}

void log_ring_mark(struct log_ring *ring, const struct log_message *m,
		   const struct log_mark *mark)
{
	uint32_t slot = !load(&ring->shared->mark_slot);

	ring->shared->marks[slot] = (struct mark_slot){ .number = m->number,
							.mark = *mark };
	store(&ring->shared->mark_slot, slot);
}

bool log_ring_marked(const struct log_ring *ring, const struct log_message *m,
		     struct log_mark *ret)
{
	const struct mark_slot *slot =
		&ring->shared->marks[load(&ring->shared->mark_slot) & 1];

	if (slot->number != m->number)
		return false;
	*ret = slot->mark;
	return true;
}
