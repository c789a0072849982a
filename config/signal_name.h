// SPDX-License-Identifier: Apache-2.0
/*
 * signal_name.h - "SIGTERM", "TERM", "15", "SIGRTMIN+3" <-> number.
 */
#ifndef CONFIG_SIGNAL_NAME_H
#define CONFIG_SIGNAL_NAME_H

/* The number, or -EINVAL. Case does not matter. */
int signal_parse(const char *name);

/* "SIGTERM"; "SIGRTMIN+3"; a static buffer for numbers without a name. */
const char *signal_name(int sig);

#endif
