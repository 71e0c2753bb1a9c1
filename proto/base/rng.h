/* rng.h: all randomness of leat. Keyed by what it is for, never by time or thread.
 *
 * A key is made from (stream seed, stage seed, epoch, purpose, index) by folding each word through
 * SplitMix64's finaliser; a stream of numbers is SplitMix64 (Steele, Lea, Flood 2014) started at
 * the key. Part of the contract of exact sequences: tests/reference/ has the same in Python.
 */
#pragma once

#include <stdint.h>

enum leat_rng_purpose {
    LEAT_RNG_SHUFFLE = 1,
    LEAT_RNG_TOKENIZE = 2,
    LEAT_RNG_BUCKET = 3,
    LEAT_RNG_SAMPLE = 4,
    LEAT_RNG_MIX = 5,
    LEAT_RNG_BLOCKS = 6,
};

struct leat_rng {
    uint64_t state;
};

static inline uint64_t leat_rng_mix(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* key = 0; for each word w: key = mix(key + 0x9e3779b97f4a7c15 + w) */
static inline uint64_t leat_rng_fold(uint64_t key, uint64_t word) {
    return leat_rng_mix(key + UINT64_C(0x9e3779b97f4a7c15) + word);
}

static inline uint64_t leat_rng_key(uint64_t stream_seed, uint64_t stage_seed, uint64_t epoch,
                                    enum leat_rng_purpose purpose, uint64_t index) {
    uint64_t key = 0;

    key = leat_rng_fold(key, stream_seed);
    key = leat_rng_fold(key, stage_seed);
    key = leat_rng_fold(key, epoch);
    key = leat_rng_fold(key, (uint64_t)purpose);
    return leat_rng_fold(key, index);
}

static inline uint64_t leat_rng_next(struct leat_rng *rng) {
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    return leat_rng_mix(rng->state);
}

/* A whole number in 0..n-1, n > 0: the upper 64 bits of next * n. */
static inline uint64_t leat_rng_below(struct leat_rng *rng, uint64_t n) {
    return (uint64_t)(((unsigned __int128)leat_rng_next(rng) * n) >> 64);
}

/* In [0, 1): the upper 53 bits of next, times 2^-53. */
static inline double leat_rng_unit(struct leat_rng *rng) {
    return (double)(leat_rng_next(rng) >> 11) * 0x1p-53;
}
