/* token_text.h: bytes of a token or of a text, as an error message or a terminal can show them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_TOKEN_TEXT_MAX 96

/* Writes printable ASCII and valid UTF-8 as they are, other bytes as \xNN, quotes and backslashes
 * escaped, and "..." for what does not fit; terminated. Returns ret_text. */
const char *leat_token_text(const uint8_t *bytes, size_t n_bytes,
                            char ret_text[LEAT_TOKEN_TEXT_MAX]);
