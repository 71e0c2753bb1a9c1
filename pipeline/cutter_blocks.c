/* cutter_blocks.c: see cutter_blocks.h.
 *
 * Each byte of a 64-byte block becomes a bit of a mask. The prefix-xor of the quote mask tells
 * which bytes are inside quotes (Langdale and Lemire, Parsing Gigabytes of JSON per Second, 2019),
 * and shifted masks tell what stands before each quote. Bits that are shifted out are carried to
 * the next block. The loop is written once and inlined per instruction set.
 */
#include "pipeline/cutter_blocks.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "masks are built from little-endian words");

struct masks {
    uint64_t quote, delimiter, lf, cr;
};

typedef void classify_fn(const uint8_t *block, const struct leat_cutter *cutter,
                         struct masks *ret_masks);
typedef uint64_t prefix_xor_fn(uint64_t mask);

/* What one block hands to the next, as bit 0 or as all bits. */
struct carry {
    uint64_t inside;        /* all bits: the block begins inside quotes */
    uint64_t may_open;      /* the byte before allows a quote here */
    uint64_t line_start;    /* a record begins here */
    uint64_t line_start_cr; /* the byte before was a CR at the beginning of a record */
};

static bool is_quoting(const struct leat_cutter *cutter) {
    return cutter->kind == LEAT_CUTTER_CSV && cutter->quote;
}

/* The bytes inside quotes; *ret_wrong: quotes that counting takes for opening ones, but that open
 * nothing, since they stand within a field. (Behind a closing quote another one opens again: the
 * two are a doubled quote. Text behind a closing quote changes nothing for the cutter.) */
ALWAYS_INLINE uint64_t find_inside(const struct masks *masks, struct carry *carry,
                                   prefix_xor_fn *prefix_xor, uint64_t *ret_wrong) {
    uint64_t inside = prefix_xor(masks->quote) ^ carry->inside;
    uint64_t openers = masks->delimiter | masks->lf | masks->quote;

    *ret_wrong = masks->quote & inside & ~(openers << 1 | carry->may_open);
    carry->inside = (uint64_t)((int64_t)inside >> 63);
    carry->may_open = openers >> 63;
    return inside;
}

/* Of the line ends that end records, those that end a blank line. */
ALWAYS_INLINE uint64_t find_blank(uint64_t line_ends, uint64_t cr, struct carry *carry) {
    uint64_t line_starts = line_ends << 1 | carry->line_start;
    uint64_t blank_cr = cr & line_starts;
    uint64_t blank = line_ends & (line_starts | blank_cr << 1 | carry->line_start_cr);

    carry->line_start = line_ends >> 63;
    carry->line_start_cr = blank_cr >> 63;
    return blank;
}

ALWAYS_INLINE void index_records(struct leat_cutter_scan *scan, uint64_t line_ends, size_t base,
                                 size_t start) {
    while (line_ends) {
        size_t end = base + (size_t)__builtin_ctzll(line_ends) + 1;
        leat_cutter_put_line(scan, start, end);
        start = end;
        line_ends &= line_ends - 1;
    }
}

/* A block of which only some bytes are there. */
ALWAYS_INLINE void classify_part(const uint8_t *bytes, size_t n, const struct leat_cutter *cutter,
                                 classify_fn *classify, struct masks *ret_masks) {
    uint8_t block[64] = {0};
    uint64_t valid = (UINT64_C(1) << n) - 1;

    memcpy(block, bytes, n);
    classify(block, cutter, ret_masks);
    ret_masks->quote &= valid;
    ret_masks->delimiter &= valid;
    ret_masks->lf &= valid;
    ret_masks->cr &= valid;
}

ALWAYS_INLINE size_t scan_blocks(struct leat_cutter_scan *scan, bool is_index, bool has_quotes,
                                 classify_fn *classify, prefix_xor_fn *prefix_xor) {
    const uint8_t *data = scan->data;
    size_t n_bytes = scan->n_bytes, start = scan->start, base, stop = SIZE_MAX;
    uint64_t n_records = 0, n_lines = 0, limit = scan->cutter->max_record_bytes;
    struct carry carry = {.may_open = 1, .line_start = 1};

    for (base = start; base < n_bytes; base += 64) {
        size_t n = n_bytes - base;
        uint64_t inside = 0, wrong = 0, line_ends, any, record_bytes;
        struct masks masks;
        if (n >= 64)
            classify(data + base, scan->cutter, &masks);
        else
            classify_part(data + base, n, scan->cutter, classify, &masks);
        if (has_quotes)
            inside = find_inside(&masks, &carry, prefix_xor, &wrong);
        if (n < 64)
            wrong &= (UINT64_C(1) << n) - 1;
        line_ends = masks.lf & ~inside;
        any = line_ends ? UINT64_MAX : 0;
        record_bytes = base - start + (uint64_t)__builtin_ctzll(line_ends | UINT64_C(1) << 63) + 1;
        if (__builtin_expect(wrong != 0 || record_bytes > limit, 0)) {
            stop = wrong ? base + (size_t)__builtin_ctzll(wrong) : start;
            break;
        }
        n_lines += (uint64_t)__builtin_popcountll(masks.lf);
        if (is_index)
            index_records(scan, line_ends, base, start);
        else
            n_records += (uint64_t)__builtin_popcountll(line_ends &
                                                        ~find_blank(line_ends, masks.cr, &carry));
        start = (start & ~any) | ((base + 64 - (size_t)__builtin_clzll(line_ends | 1)) & any);
    }
    scan->n_records += n_records;
    scan->start = start;
    if (base > n_bytes)
        base = n_bytes;
    scan->n_lines += n_lines - leat_cutter_count_lines(data + start, base - start);
    return stop;
}

/* A bit for each byte of the word that equals the byte repeated in `pattern`. */
ALWAYS_INLINE uint64_t equal_bytes(uint64_t word, uint64_t pattern) {
    const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = word ^ pattern;
    uint64_t high_bits = ~(((differs & low_bits) + low_bits) | differs | low_bits);

    return (high_bits >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

ALWAYS_INLINE void classify_portable(const uint8_t *block, const struct leat_cutter *cutter,
                                     struct masks *ret_masks) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    struct masks masks = {0};

    for (unsigned i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, block + 8 * i, 8);
        masks.quote |= equal_bytes(word, ones * cutter->quote) << (8 * i);
        masks.delimiter |= equal_bytes(word, ones * cutter->delimiter) << (8 * i);
        masks.lf |= equal_bytes(word, ones * '\n') << (8 * i);
        masks.cr |= equal_bytes(word, ones * '\r') << (8 * i);
    }
    *ret_masks = masks;
}

ALWAYS_INLINE uint64_t prefix_xor_portable(uint64_t mask) {
    for (unsigned shift = 1; shift < 64; shift *= 2)
        mask ^= mask << shift;
    return mask;
}

size_t leat_cutter_blocks_portable(struct leat_cutter_scan *scan) {
    bool has_quotes = is_quoting(scan->cutter);

    if (scan->starts)
        return scan_blocks(scan, true, has_quotes, classify_portable, prefix_xor_portable);
    return scan_blocks(scan, false, has_quotes, classify_portable, prefix_xor_portable);
}

uint64_t leat_cutter_count_lines(const uint8_t *data, size_t n_bytes) {
    uint64_t n_lines = 0;

    for (size_t i = 0; i < n_bytes; i++)
        n_lines += data[i] == '\n';
    return n_lines;
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi")))

AVX2 ALWAYS_INLINE uint64_t equal_mask(__m256i low, __m256i high, uint8_t byte) {
    __m256i pattern = _mm256_set1_epi8((char)byte);
    uint32_t low_mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, pattern));
    uint32_t high_mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, pattern));

    return low_mask | (uint64_t)high_mask << 32;
}

AVX2 ALWAYS_INLINE void classify_avx2(const uint8_t *block, const struct leat_cutter *cutter,
                                      struct masks *ret_masks) {
    __m256i low = _mm256_loadu_si256((const __m256i_u *)block);
    __m256i high = _mm256_loadu_si256((const __m256i_u *)(block + 32));

    ret_masks->quote = equal_mask(low, high, cutter->quote);
    ret_masks->delimiter = equal_mask(low, high, cutter->delimiter);
    ret_masks->lf = equal_mask(low, high, '\n');
    ret_masks->cr = equal_mask(low, high, '\r');
}

AVX2 ALWAYS_INLINE uint64_t prefix_xor_clmul(uint64_t mask) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)mask), _mm_set1_epi8(-1), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
}

AVX2 static size_t scan_avx2(struct leat_cutter_scan *scan) {
    bool has_quotes = is_quoting(scan->cutter);

    if (scan->starts && has_quotes)
        return scan_blocks(scan, true, true, classify_avx2, prefix_xor_clmul);
    if (scan->starts)
        return scan_blocks(scan, true, false, classify_avx2, prefix_xor_clmul);
    if (has_quotes)
        return scan_blocks(scan, false, true, classify_avx2, prefix_xor_clmul);
    return scan_blocks(scan, false, false, classify_avx2, prefix_xor_clmul);
}

size_t leat_cutter_blocks(struct leat_cutter_scan *scan) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
        __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
        return scan_avx2(scan);
    return leat_cutter_blocks_portable(scan);
}
#else
size_t leat_cutter_blocks(struct leat_cutter_scan *scan) {
    return leat_cutter_blocks_portable(scan);
}
#endif
