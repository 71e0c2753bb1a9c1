/* json_name.h: the names of tensors in JSON. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/slot.h"

/* Enough for each byte as \u00NN, quotes and a terminator. */
#define LEAT_JSON_NAME_MAX (6 * LEAT_NAME_MAX + 3)

/* True if it is well-formed UTF-8 (RFC 3629). */
bool leat_name_is_utf8(const char *name);
/* Writes the name, at most LEAT_NAME_MAX bytes of UTF-8, as a JSON string with quotes, terminated.
 */
void leat_name_json(const char *name, char ret_text[LEAT_JSON_NAME_MAX]);
