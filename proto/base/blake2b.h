/* blake2b.h: BLAKE2b (RFC 7693) with 32 bytes of output, unkeyed: the digest of specs, data and
 * batches.
 *
 * Chosen because every language has it (Python: hashlib.blake2b(digest_size=32)) and it needs no
 * library. Owner: the caller.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_DIGEST_BYTES    32
#define LEAT_DIGEST_HEX_SIZE (2 * LEAT_DIGEST_BYTES + 1)

struct leat_blake2b {
    uint64_t h[8];
    uint64_t n_total;
    uint8_t buffer[128];
    size_t n_buffered;
};

void leat_blake2b_init(struct leat_blake2b *state);
void leat_blake2b_update(struct leat_blake2b *state, const void *data, size_t n_bytes);
void leat_blake2b_u64(struct leat_blake2b *state, uint64_t value); /* eight bytes, little endian */
void leat_blake2b_text(struct leat_blake2b *state,
                       const char *text); /* length as u64, then the bytes */
void leat_blake2b_final(struct leat_blake2b *state, uint8_t ret_digest[LEAT_DIGEST_BYTES]);
/* All three of these at once. */
void leat_blake2b(const void *data, size_t n_bytes, uint8_t ret_digest[LEAT_DIGEST_BYTES]);
/* Writes two digits a byte, and ends the text. */
void leat_hex(const uint8_t *bytes, size_t n_bytes, char *ret_hex);
static inline void leat_digest_hex(const uint8_t digest[LEAT_DIGEST_BYTES],
                                   char ret_hex[LEAT_DIGEST_HEX_SIZE]) {
    leat_hex(digest, LEAT_DIGEST_BYTES, ret_hex);
}
