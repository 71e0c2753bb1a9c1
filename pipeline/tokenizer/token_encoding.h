/* token_encoding.h: how a vocabulary writes the bytes of its tokens.
 *
 * RAW: as they are. BYTE_LEVEL: in GPT-2's alphabet, in which every byte is a printable character
 * ("Ġthe" is " the"); a token with a character outside the alphabet stands for itself, as in
 * Hugging Face's decoder. METASPACE: U+2581 is a blank, and <0xNN> is that byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_token_encoding {
    LEAT_TOKEN_ENCODING_RAW,
    LEAT_TOKEN_ENCODING_BYTE_LEVEL,
    LEAT_TOKEN_ENCODING_METASPACE,
};

/* Writes the bytes that the token stands for to ret_bytes, which has room for n_bytes; returns
 * their number, never more than n_bytes. *ret_is_byte: the token was <0xNN>. */
size_t leat_token_decode(enum leat_token_encoding encoding, const uint8_t *token, size_t n_bytes,
                         uint8_t *ret_bytes, bool *ret_is_byte);

/* Bytes of a token or of a text, as an error message or a terminal can show them. */
#define LEAT_TOKEN_TEXT_MAX 96

/* Writes printable ASCII and valid UTF-8 as they are, other bytes as \xNN, quotes and backslashes
 * escaped, and "..." for what does not fit; terminated. Returns ret_text. */
const char *leat_token_text(const uint8_t *bytes, size_t n_bytes,
                            char ret_text[LEAT_TOKEN_TEXT_MAX]);
