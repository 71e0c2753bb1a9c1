/* blake2b.c: BLAKE2b after RFC 7693, section 3; portable, about 1 GB/s. */
#include "proto/base/blake2b.h"

#include <string.h>

static const uint64_t iv[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

static const uint8_t sigma[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static inline uint64_t rotate_right(uint64_t x, int n) {
    return (x >> n) | (x << (64 - n));
}

static inline void mix_words(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] = v[a] + v[b] + x;
    v[d] = rotate_right(v[d] ^ v[a], 32);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 24);
    v[a] = v[a] + v[b] + y;
    v[d] = rotate_right(v[d] ^ v[a], 16);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 63);
}

static void compress_block(struct leat_blake2b *state, const uint8_t *block, int is_last) {
    uint64_t m[16], v[16];

    memcpy(m, block, sizeof(m));
    for (int i = 0; i < 8; i++) {
        v[i] = state->h[i];
        v[i + 8] = iv[i];
    }
    v[12] ^= state->n_total;
    if (is_last)
        v[14] = ~v[14];
    for (int r = 0; r < 12; r++) {
        const uint8_t *s = sigma[r];

        mix_words(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix_words(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix_words(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix_words(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix_words(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix_words(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix_words(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix_words(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        state->h[i] ^= v[i] ^ v[i + 8];
}

void leat_blake2b_init(struct leat_blake2b *state) {
    memset(state, 0, sizeof(*state));
    memcpy(state->h, iv, sizeof(iv));
    state->h[0] ^= UINT64_C(0x01010000) ^ LEAT_DIGEST_BYTES;
}

void leat_blake2b_update(struct leat_blake2b *state, const void *data, size_t n_bytes) {
    const uint8_t *bytes = data;

    while (n_bytes > 0) {
        size_t room, n;

        if (state->n_buffered == sizeof(state->buffer)) {
            state->n_total += sizeof(state->buffer);
            compress_block(state, state->buffer, 0);
            state->n_buffered = 0;
        }
        room = sizeof(state->buffer) - state->n_buffered;
        n = n_bytes < room ? n_bytes : room;
        memcpy(state->buffer + state->n_buffered, bytes, n);
        state->n_buffered += n;
        bytes += n;
        n_bytes -= n;
    }
}

void leat_blake2b_u64(struct leat_blake2b *state, uint64_t value) {
    leat_blake2b_update(state, &value, sizeof(value));
}

void leat_blake2b_text(struct leat_blake2b *state, const char *text) {
    size_t n = strlen(text);

    leat_blake2b_u64(state, n);
    leat_blake2b_update(state, text, n);
}

void leat_blake2b_final(struct leat_blake2b *state, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    state->n_total += state->n_buffered;
    memset(state->buffer + state->n_buffered, 0, sizeof(state->buffer) - state->n_buffered);
    compress_block(state, state->buffer, 1);
    memcpy(ret_digest, state->h, LEAT_DIGEST_BYTES);
}

void leat_blake2b(const void *data, size_t n_bytes, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_update(&state, data, n_bytes);
    leat_blake2b_final(&state, ret_digest);
}

void leat_hex(const uint8_t *bytes, size_t n_bytes, char *ret_hex) {
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n_bytes; i++) {
        ret_hex[2 * i] = digits[bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_hex[2 * n_bytes] = '\0';
}
