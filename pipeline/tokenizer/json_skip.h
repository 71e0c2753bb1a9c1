/* json_skip.h: where the values of a document stand in its bytes. Only for documents that have been
 * parsed without a fault (json.h): nothing is checked here, and nothing but structure is looked at.
 * Pure; any thread.
 */
#pragma once

#include <stdint.h>

/* Past white space. */
const uint8_t *leat_json_skip_space(const uint8_t *at);

/* Past white space and, if it is there, the mark after it. */
const uint8_t *leat_json_skip_mark(const uint8_t *at, char mark);

/* Past white space, the key and the colon of a member, to its value. */
const uint8_t *leat_json_skip_key(const uint8_t *at);

/* Past the member's or item's value that begins at `at`, and no further. */
const uint8_t *leat_json_skip_value(const uint8_t *at);
