// SPDX-License-Identifier: Apache-2.0
/*
 * machine_network.h - the section "network" of machine.json, private to machine*.c.
 */
#ifndef CONFIG_MACHINE_NETWORK_H
#define CONFIG_MACHINE_NETWORK_H

#include "config/json_field.h"
#include "config/machine.h"

void machine_network_defaults(struct machine_network *n);

/* Shape of struct field's read; out is a struct machine. */
void machine_read_network(struct json_reader *r, const struct json_at *at, void *out);

/* The same for .uplink; out is a struct machine_network whose bridge has been read. */
void machine_read_uplink(struct json_reader *r, const struct json_at *at, void *out);

#endif
