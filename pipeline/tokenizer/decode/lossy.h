/* lossy.h: bytes that may not be UTF-8. Pure. */
#pragma once

#include "pipeline/tokenizer/decode/pieces.h"

#define LEAT_REPLACEMENT_CHARACTER "\xef\xbf\xbd" /* U+FFFD */

bool leat_is_utf8(const uint8_t *bytes, size_t n);

/* Appends bytes with U+FFFD for each maximal part of a character that is not complete, and each
 * other byte that is no UTF-8 (Unicode 3.9), as String::from_utf8_lossy does. 0, -ENOMEM, -E2BIG.
 */
int leat_put_lossy(const uint8_t *bytes, size_t n, struct leat_pieces *out);
