// SPDX-License-Identifier: Apache-2.0
/*
 * capability_name.h - "NET_ADMIN", "CAP_NET_ADMIN" -> number of capabilities(7).
 */
#ifndef CONFIG_CAPABILITY_NAME_H
#define CONFIG_CAPABILITY_NAME_H

/* With or without "CAP_"; case does not matter. The number, or -EINVAL. */
int capability_parse(const char *name);
/* The name, without "CAP_", that was perhaps meant; NULL when none is near. */
const char *capability_nearest(const char *name);

#endif
