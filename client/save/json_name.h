/* json_name.h: names as JSON has them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/slot.h"

/* Each byte as \u00NN, and quotes. */
#define LEAT_JSON_NAME_MAX (6 * LEAT_NAME_MAX + 3)

/* Whether it is well-formed UTF-8 (RFC 3629). */
bool leat_name_is_utf8(const char *name);
/* The name, of at most LEAT_NAME_MAX bytes of UTF-8, as a JSON string with quotes; terminated. */
void leat_name_json(const char *name, char ret_text[LEAT_JSON_NAME_MAX]);
