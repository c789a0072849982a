// SPDX-License-Identifier: Apache-2.0
/*
 * power.h - the power key: evdev devices that have a KEY_POWER.
 *
 * Owns: their descriptors. Called by: boot after coldplug, then the loop at LOOP_CONTROL.
 * Never: waits for a device. Other keys of such a device are masked in the kernel
 * (EVIOCSMASK, 4.4), so that typing neither wakes PID 1 nor is seen by it.
 */
#ifndef INIT_POWER_H
#define INIT_POWER_H

#include "base/loop.h"

#define POWER_KEYS_MAX 8

struct power;

struct power_key {
	struct power *power;
	int fd;
	struct loop_src src;
};

struct power {
	void (*pressed)(void *arg);
	void *arg;
	size_t n;
	struct power_key keys[POWER_KEYS_MAX];
};

/* Opens the keys that exist in dir ("/dev/input"). Returns how many. */
size_t power_open(struct power *power, struct loop *loop, const char *dir,
		  void (*pressed)(void *arg), void *arg);

#endif
