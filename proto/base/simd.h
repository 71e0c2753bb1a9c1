/* simd.h: vectors of 16 and 32 bytes, from one source on every machine.
 *
 * Vectors of 16 bytes have the compiler's own operators. Vectors of 32 bytes are AVX2 on x86-64 and
 * pairs of 16 bytes elsewhere, which are NEON on aarch64. A function that uses them is marked
 * LEAT_SIMD, and is called only where leat_simd_is_here().
 *
 * "True" is a byte of 255, "false" one of 0. Bit i of a mask is byte i. All loads may be unaligned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define LEAT_SIMD __attribute__((target("avx2,pclmul,popcnt,bmi")))
#else
#define LEAT_SIMD
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define LEAT_ALWAYS_INLINE static inline __attribute__((always_inline))
#define LEAT_SIMD_INLINE   LEAT_SIMD LEAT_ALWAYS_INLINE

static inline bool leat_simd_is_here(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* ---- 16 bytes */
typedef uint8_t leat_bytes16 __attribute__((vector_size(16)));
typedef int8_t leat_signed16 __attribute__((vector_size(16)));

LEAT_ALWAYS_INLINE leat_bytes16 leat_bytes16_load(const uint8_t *bytes) {
    leat_bytes16 result;

    memcpy(&result, bytes, sizeof(result));
    return result;
}

#if defined(__aarch64__)
/* Each bit at its place in a byte; adding neighbours three times makes 2 bytes of 16. */
LEAT_ALWAYS_INLINE uint8x16_t leat_bytes16_bits(leat_bytes16 is) {
    const leat_bytes16 bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

    return (uint8x16_t)(is & bits);
}
#elif !defined(__x86_64__)
LEAT_ALWAYS_INLINE uint32_t leat_bytes8_mask(const uint8_t *is) {
    uint64_t word;

    memcpy(&word, is, sizeof(word));
    return (uint32_t)((word & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
}
#endif

/* A bit for each byte, all of which are true or false. */
LEAT_ALWAYS_INLINE uint32_t leat_bytes16_mask(leat_bytes16 is) {
#if defined(__x86_64__)
    return (uint32_t)_mm_movemask_epi8((__m128i)is);
#elif defined(__aarch64__)
    uint8x16_t bits = leat_bytes16_bits(is);

    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u16(vreinterpretq_u16_u8(bits), 0);
#else
    const uint8_t *bytes = (const uint8_t *)&is;

    return leat_bytes8_mask(bytes) | leat_bytes8_mask(bytes + 8) << 8;
#endif
}

/* Stores 16 bytes at a multiple of 16, past the caches where the machine has that. */
LEAT_ALWAYS_INLINE void leat_simd_store_past(void *target, const void *bytes) {
#if defined(__x86_64__)
    _mm_stream_si128(target, _mm_loadu_si128(bytes));
#else
    memcpy(target, bytes, 16);
#endif
}

/* Makes such stores visible to others before all later ones. */
LEAT_ALWAYS_INLINE void leat_simd_fence(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* ---- 32 bytes */
#if defined(__x86_64__)
typedef __m256i leat_bytes32;

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_load(const uint8_t *bytes) {
    return _mm256_loadu_si256((const __m256i_u *)bytes);
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_or(leat_bytes32 bytes, uint8_t bits) {
    return _mm256_or_si256(bytes, _mm256_set1_epi8((char)bits));
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_both(leat_bytes32 a, leat_bytes32 b) {
    return _mm256_and_si256(a, b);
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_either(leat_bytes32 a, leat_bytes32 b) {
    return _mm256_or_si256(a, b);
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_equal(leat_bytes32 bytes, uint8_t byte) {
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8((char)byte));
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_in(leat_bytes32 bytes, uint8_t first, uint8_t span) {
    __m256i place = _mm256_sub_epi8(bytes, _mm256_set1_epi8((char)first));

    return _mm256_cmpeq_epi8(_mm256_min_epu8(place, _mm256_set1_epi8((char)span)), place);
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_beyond_ascii(leat_bytes32 bytes) {
    return bytes; /* a mask is made of the highest bits */
}

LEAT_SIMD_INLINE leat_bytes32 leat_bytes32_look_up(const uint8_t nibbles[2][16],
                                                   leat_bytes32 bytes) {
    const __m256i mask = _mm256_set1_epi8(15);
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)nibbles[0]));
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)nibbles[1]));

    low = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, mask));
    high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask));
    return _mm256_and_si256(low, high);
}

LEAT_SIMD_INLINE uint32_t leat_bytes32_mask(leat_bytes32 is) {
    return (uint32_t)_mm256_movemask_epi8(is);
}

LEAT_SIMD_INLINE uint64_t leat_bytes64_mask(leat_bytes32 low, leat_bytes32 high) {
    return leat_bytes32_mask(low) | (uint64_t)leat_bytes32_mask(high) << 32;
}
#else
typedef struct {
    leat_bytes16 low, high;
} leat_bytes32;

LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_load(const uint8_t *bytes) {
    return (leat_bytes32){leat_bytes16_load(bytes), leat_bytes16_load(bytes + 16)};
}

LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_or(leat_bytes32 bytes, uint8_t bits) {
    return (leat_bytes32){bytes.low | bits, bytes.high | bits};
}

LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_both(leat_bytes32 a, leat_bytes32 b) {
    return (leat_bytes32){a.low & b.low, a.high & b.high};
}

LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_either(leat_bytes32 a, leat_bytes32 b) {
    return (leat_bytes32){a.low | b.low, a.high | b.high};
}

LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_equal(leat_bytes32 bytes, uint8_t byte) {
    return (leat_bytes32){(leat_bytes16)(bytes.low == byte), (leat_bytes16)(bytes.high == byte)};
}

/* True: the byte is among span + 1 from `first` on, which may wrap round. */
LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_in(leat_bytes32 bytes, uint8_t first, uint8_t span) {
    return (leat_bytes32){(leat_bytes16)(bytes.low - first <= span),
                          (leat_bytes16)(bytes.high - first <= span)};
}

/* For a mask only. */
LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_beyond_ascii(leat_bytes32 bytes) {
    return (leat_bytes32){(leat_bytes16)((leat_signed16)bytes.low < 0),
                          (leat_bytes16)((leat_signed16)bytes.high < 0)};
}

LEAT_ALWAYS_INLINE leat_bytes16 leat_bytes16_look_up(const uint8_t nibbles[2][16],
                                                     leat_bytes16 bytes) {
#if defined(__aarch64__)
    return (leat_bytes16)vandq_u8(vqtbl1q_u8(vld1q_u8(nibbles[0]), (uint8x16_t)(bytes & 15)),
                                  vqtbl1q_u8(vld1q_u8(nibbles[1]), (uint8x16_t)(bytes >> 4)));
#else
    for (int i = 0; i < 16; i++)
        bytes[i] = nibbles[0][bytes[i] & 15] & nibbles[1][bytes[i] >> 4];
    return bytes;
#endif
}

/* Looks up the halves of each byte in two tables, and returns the bits that both entries have. */
LEAT_ALWAYS_INLINE leat_bytes32 leat_bytes32_look_up(const uint8_t nibbles[2][16],
                                                     leat_bytes32 bytes) {
    return (leat_bytes32){leat_bytes16_look_up(nibbles, bytes.low),
                          leat_bytes16_look_up(nibbles, bytes.high)};
}

LEAT_ALWAYS_INLINE uint32_t leat_bytes32_mask(leat_bytes32 is) {
#if defined(__aarch64__)
    uint8x16_t bits = vpaddq_u8(leat_bytes16_bits(is.low), leat_bytes16_bits(is.high));

    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u32(vreinterpretq_u32_u8(bits), 0);
#else
    return leat_bytes16_mask(is.low) | leat_bytes16_mask(is.high) << 16;
#endif
}

LEAT_ALWAYS_INLINE uint64_t leat_bytes64_mask(leat_bytes32 low, leat_bytes32 high) {
#if defined(__aarch64__)
    uint8x16_t bits =
        vpaddq_u8(vpaddq_u8(leat_bytes16_bits(low.low), leat_bytes16_bits(low.high)),
                  vpaddq_u8(leat_bytes16_bits(high.low), leat_bytes16_bits(high.high)));

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(bits, bits)), 0);
#else
    return leat_bytes32_mask(low) | (uint64_t)leat_bytes32_mask(high) << 32;
#endif
}
#endif

/* Bit i: the parity of bits 0..i. */
LEAT_SIMD_INLINE uint64_t leat_simd_prefix_xor(uint64_t mask) {
#if defined(__x86_64__)
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)mask), _mm_set1_epi8(-1), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
#else
    for (unsigned n = 1; n < 64; n *= 2)
        mask ^= mask << n;
    return mask;
#endif
}
