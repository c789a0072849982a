// SPDX-License-Identifier: Apache-2.0
/*
 * power.c - see power.h. Interface: linux/input.h, Documentation/input/event-codes.rst.
 */
#include "init/power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define KEY_BYTES  (KEY_CNT / 8)
#define READ_BATCH 16

static void mask_events(int fd, unsigned int type, unsigned char *codes, size_t size)
{
	struct input_mask mask = {
		.type = type,
		.codes_size = (uint32_t)size,
		.codes_ptr = (uintptr_t)codes,
	};

	/* An older kernel sends all keys; they are skipped one by one then. */
	(void)ioctl(fd, EVIOCSMASK, &mask);
}

static bool has_power_key(int fd)
{
	unsigned char keys[KEY_BYTES] = { 0 };

	if (ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(keys)), keys) < 0)
		return false;
	if (!(keys[KEY_POWER / 8] & (1 << KEY_POWER % 8)))
		return false;
	memset(keys, 0, sizeof(keys));
	keys[KEY_POWER / 8] = 1 << KEY_POWER % 8;
	mask_events(fd, EV_KEY, keys, sizeof(keys));
	memset(keys, 0, sizeof(keys));
	mask_events(fd, EV_MSC, keys, MSC_CNT / 8); /* the scan codes beside the keys */
	return true;
}

static void on_key(struct loop_src *src, uint32_t events)
{
	struct power_key *key = container_of(src, struct power_key, src);
	struct input_event ev[READ_BATCH];
	ssize_t n = read(key->fd, ev, sizeof(ev));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* ENODEV: it was unplugged */
		loop_src_remove(&key->src);
		fd_close(&key->fd);
		return;
	}
	for (size_t i = 0; i < (size_t)n / sizeof(ev[0]); i++)
		if (ev[i].type == EV_KEY && ev[i].code == KEY_POWER && ev[i].value == 1)
			key->power->pressed(key->power->arg);
}

static void add_key(struct power *power, struct loop *loop, int dir_fd, const char *name)
{
	struct power_key *key = &power->keys[power->n];
	int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return;
	*key = (struct power_key){ .power = power, .fd = fd };
	if (!has_power_key(fd) ||
	    loop_src_add(loop, &key->src, fd, EPOLLIN, LOOP_CONTROL, on_key) < 0) {
		fd_close(&key->fd);
		return;
	}
	log_debug("power key: %s", name);
	power->n++;
}

size_t power_open(struct power *power, struct loop *loop, const char *dir,
		  void (*pressed)(void *arg), void *arg)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	*power = (struct power){ .pressed = pressed, .arg = arg };
	if (!d)
		return 0; /* no input devices: a machine without the key */
	while (power->n < POWER_KEYS_MAX && (entry = readdir(d)))
		if (strncmp(entry->d_name, "event", 5) == 0)
			add_key(power, loop, dirfd(d), entry->d_name);
	(void)closedir(d);
	return power->n;
}
