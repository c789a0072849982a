// SPDX-License-Identifier: Apache-2.0
/*
 * quantity.h - Kubernetes' numbers: "100m", "1.5G", "64Mi", "129e6".
 *
 * Owns: nothing. Source: apimachinery, pkg/api/resource/quantity.go.
 */
#ifndef CONFIG_QUANTITY_H
#define CONFIG_QUANTITY_H

#include "base/util.h"

/* *ret: the number times 10^scale (0 to 9), exact, and rounded up to a whole one; max + 1
 * for what is above max. Negative numbers are none. False: no quantity, *ret is
 * untouched. */
bool quantity_parse(const char *text, unsigned int scale, uint64_t max, uint64_t *ret);

#endif
