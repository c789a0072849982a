// SPDX-License-Identifier: Apache-2.0
/*
 * base64.c - see base64.h. Alone, because resolv.h brings MIN and MAX of its own.
 */
#include "config/base64.h"

#include <resolv.h>

int base64_decode(const char *text, unsigned char *bytes, size_t size)
{
	return b64_pton(text, bytes, size);
}
