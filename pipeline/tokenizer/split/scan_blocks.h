/* scan_blocks.h: where words begin in 64 bytes of ASCII at once.
 *
 * Each byte of a block becomes a bit of a mask for each class. A block begins where a word begins,
 * so nothing need be known of what is before it; shifted masks tell what stands before and after
 * each byte, and the result is a mask of the bytes that begin words. What is near the end of the
 * block, or near a byte that is not ASCII, may depend on what cannot be seen here: starts after
 * `limit` are not certain, and the next block begins at the last one that is. A word that has no
 * certain end is left to the scanner's step.
 *
 * Only where there are vectors (proto/base/simd.h); elsewhere scanners go step by step.
 */
#pragma once

#include "pipeline/tokenizer/split/scan_text.h"

#define LEAT_SCAN_BLOCK_BYTES 64
#define LEAT_SCAN_BLOCK_LIMIT                                                                      \
    60 /* a start there depends on no more than the 3 bytes that follow                            \
        */

/* A block is worth its work if that many bytes are ASCII. */
#define LEAT_SCAN_BLOCK_LEAST 12

struct leat_scan_block {
    const uint8_t *bytes;
    uint64_t letters, upper, numbers, spaces, blanks, newlines, quotes, slashes;
    uint64_t strange; /* not ASCII */
    uint64_t others;  /* ASCII, and neither letter nor number nor space */
};

/* The rules that a grammar has. */
struct leat_scan_block_rules {
    bool is_gpt2;            /* a blank goes with numbers too, and nothing else with letters */
    bool splits_case;        /* a word ends where upper case follows lower case */
    bool leads_contraction;  /* 's is a word */
    bool trails_contraction; /* 's belongs to the word before */
    bool has_slashes;        /* signs take slashes after newlines along */
    bool has_no_numbers;     /* and no control characters: the step is to deal with them */
    uint32_t n_digits;       /* of a number; 0: any */
};

typedef uint64_t leat_starts_fn(const uint8_t *bytes, uint32_t *ret_limit);

LEAT_SIMD_INLINE uint64_t leat_scan_block_equal(leat_bytes32 low, leat_bytes32 high, uint8_t c) {
    return leat_bytes64_mask(leat_bytes32_equal(low, c), leat_bytes32_equal(high, c));
}

LEAT_SIMD_INLINE uint64_t leat_scan_block_range(leat_bytes32 low, leat_bytes32 high, uint8_t first,
                                                uint8_t span) {
    return leat_bytes64_mask(leat_bytes32_in(low, first, span), leat_bytes32_in(high, first, span));
}

LEAT_SIMD_INLINE void leat_scan_block_load(const uint8_t *bytes, struct leat_scan_block_rules rules,
                                           struct leat_scan_block *ret_block) {
    leat_bytes32 low = leat_bytes32_load(bytes), high = leat_bytes32_load(bytes + 32);
    struct leat_scan_block block = {.bytes = bytes};

    block.strange =
        leat_bytes64_mask(leat_bytes32_beyond_ascii(low), leat_bytes32_beyond_ascii(high));
    block.letters =
        leat_scan_block_range(leat_bytes32_or(low, 0x20), leat_bytes32_or(high, 0x20), 'a', 25);
    block.numbers = leat_scan_block_range(low, high, '0', 9);
    block.blanks = leat_scan_block_equal(low, high, ' ');
    block.spaces = block.blanks | leat_scan_block_range(low, high, '\t', '\r' - '\t');
    block.quotes = leat_scan_block_equal(low, high, '\'');
    if (!rules.is_gpt2)
        block.newlines =
            leat_scan_block_equal(low, high, '\n') | leat_scan_block_equal(low, high, '\r');
    if (rules.splits_case)
        block.upper = leat_scan_block_range(low, high, 'A', 25);
    if (rules.has_slashes)
        block.slashes = leat_scan_block_equal(low, high, '/');
    if (rules.has_no_numbers)
        block.strange |= block.numbers | leat_scan_block_equal(low, high, 0x7f) |
                         (leat_scan_block_range(low, high, 0, 0x1f) & ~block.spaces);
    block.others = ~(block.letters | block.numbers | block.spaces | block.strange);
    *ret_block = block;
}

/* The number of bytes of the contraction at a quote: 0, 2 or 3. */
LEAT_ALWAYS_INLINE uint32_t leat_scan_block_contraction(const uint8_t *quote, bool ignores_case) {
    const uint8_t *stop = leat_scan_contraction(quote, quote + 3, ignores_case);

    return stop ? (uint32_t)(stop - quote) : 0;
}

/* A quote that begins a word and a contraction: the contraction is the word. */
LEAT_ALWAYS_INLINE uint64_t leat_scan_block_leading(const struct leat_scan_block *block,
                                                    uint64_t starts, bool ignores_case) {
    for (uint64_t quotes = block->quotes & starts & ((UINT64_C(2) << LEAT_SCAN_BLOCK_LIMIT) - 1);
         quotes; quotes &= quotes - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(quotes);
        uint32_t n = leat_scan_block_contraction(block->bytes + i, ignores_case);
        if (n) {
            starts &= ~(UINT64_C(6) << i);
            starts |= UINT64_C(1) << (i + n);
        }
    }
    return starts;
}

/* A contraction right after a word belongs to it, but not one after that. */
LEAT_ALWAYS_INLINE uint64_t leat_scan_block_trailing(const struct leat_scan_block *block,
                                                     uint64_t starts) {
    uint32_t i, n, last = 0;

    for (uint64_t quotes =
             block->quotes & block->letters << 1 & ((UINT64_C(2) << LEAT_SCAN_BLOCK_LIMIT) - 1);
         quotes; quotes &= quotes - 1) {
        i = (uint32_t)__builtin_ctzll(quotes);
        n = i == last ? 0 : leat_scan_block_contraction(block->bytes + i, true);
        if (n) {
            starts &= ~(UINT64_C(7) << i);
            last = i + n;
            starts |= UINT64_C(1) << last;
        }
    }
    return starts;
}

/* White space that newlines follow in the same run. It is rare that there is much of it. */
LEAT_ALWAYS_INLINE uint64_t leat_scan_block_before_newline(uint64_t plain, uint64_t newlines) {
    uint64_t found = 0, more = plain & newlines >> 1;

    while (more) {
        found |= more;
        more = more >> 1 & plain & ~found;
    }
    return found;
}

LEAT_ALWAYS_INLINE uint64_t leat_scan_block_number_starts(uint64_t numbers, uint32_t n_digits) {
    uint64_t starts = numbers & ~(numbers << 1), more = starts;

    if (n_digits == 1)
        return numbers;
    while (n_digits == 3 && more) {
        more = more << 3 & numbers & numbers << 1 & numbers << 2;
        starts |= more;
    }
    return starts;
}

/* The first byte of the run of white space that holds the byte at `limit`, else the limit. */
LEAT_ALWAYS_INLINE uint32_t leat_scan_block_limit(uint64_t spaces, uint32_t limit) {
    uint64_t others = ~spaces << (63 - limit);

    if (!(spaces >> limit & 1))
        return limit;
    if (!others)
        return 0;
    return limit - (uint32_t)__builtin_clzll(others) + 1;
}

LEAT_ALWAYS_INLINE uint32_t leat_scan_block_first_limit(uint64_t strange) {
    uint32_t first = strange ? (uint32_t)__builtin_ctzll(strange) : 64;

    if (first < 2)
        return 0;
    return first - 2 < LEAT_SCAN_BLOCK_LIMIT ? first - 2 : LEAT_SCAN_BLOCK_LIMIT;
}

LEAT_SIMD_INLINE uint64_t leat_scan_block_gpt2(const struct leat_scan_block *block) {
    uint64_t joined = block->blanks << 1, spaces = block->spaces;
    uint64_t starts = block->letters & ~(block->letters << 1);

    starts |= block->numbers & ~(block->numbers << 1);
    starts |= block->others & ~(block->others << 1);
    starts &= ~joined;
    starts |= spaces & ~(spaces << 1);
    starts |= spaces & ~(spaces >> 1);
    return leat_scan_block_leading(block, starts | 1, false);
}

LEAT_SIMD_INLINE uint64_t leat_scan_block_cl100k(const struct leat_scan_block *block,
                                                 struct leat_scan_block_rules rules) {
    /* newlines that belong to the signs before them */
    uint64_t tails = block->newlines & ~(block->newlines + (block->newlines & block->others << 1));
    uint64_t spaces = block->spaces & ~tails, newlines = block->newlines & ~tails;
    uint64_t plain = spaces & ~newlines;
    uint64_t signs = block->others & ~(block->others << 1) & ~(block->blanks << 1);
    uint64_t last = plain & ~(block->spaces >> 1);
    uint64_t letters = block->letters & ~(block->letters << 1) & ~(signs << 1) & ~(last << 1);
    uint64_t starts = letters | signs | last | (spaces & ~(spaces << 1));

    starts |= plain & newlines << 1 & ~leat_scan_block_before_newline(plain, newlines);
    if (!rules.has_no_numbers)
        starts |= leat_scan_block_number_starts(block->numbers, rules.n_digits);
    if (rules.splits_case)
        starts |= block->upper & (block->letters & ~block->upper) << 1;
    starts |= 1;
    if (rules.leads_contraction)
        starts = leat_scan_block_leading(block, starts, true);
    if (rules.trails_contraction)
        starts = leat_scan_block_trailing(block, starts);
    return starts;
}

/* The starts in 64 bytes, certain up to *ret_limit. */
LEAT_SIMD_INLINE uint64_t leat_scan_block_starts(const uint8_t *bytes,
                                                 struct leat_scan_block_rules rules,
                                                 uint32_t *ret_limit) {
    struct leat_scan_block block;
    uint64_t strange;

    *ret_limit = 0;
    if (leat_bytes32_mask(leat_bytes32_beyond_ascii(leat_bytes32_load(bytes))) &
        ((1U << LEAT_SCAN_BLOCK_LEAST) - 1))
        return 0;
    leat_scan_block_load(bytes, rules, &block);
    strange = block.strange;
    if (rules.has_slashes)
        strange |= block.slashes & block.newlines << 1;
    *ret_limit = leat_scan_block_first_limit(strange);
    if (rules.is_gpt2)
        return leat_scan_block_gpt2(&block);
    *ret_limit = leat_scan_block_limit(block.spaces, *ret_limit);
    return leat_scan_block_cl100k(&block, rules);
}

LEAT_SIMD_INLINE size_t leat_scan_blocks(const uint8_t *text, uint32_t *at, uint32_t end,
                                         struct leat_range *words, size_t n_max,
                                         leat_starts_fn *find_starts, leat_split_step_fn *step,
                                         leat_run_fn *run) {
    const uint8_t *place = text + *at, *stop = text + end;
    uint32_t start = *at, limit;
    size_t n = 0;

    while (n < n_max && place < stop) {
        uint64_t starts = 0;
        if (stop - place >= LEAT_SCAN_BLOCK_BYTES && n_max - n >= LEAT_SCAN_BLOCK_BYTES &&
            (place[0] | place[1]) < 0x80) {
            starts = find_starts(place, &limit);
            starts &= ((UINT64_C(2) << limit) - 1) & ~UINT64_C(1);
        }
        if (!starts) {
            place = step(place, stop, run);
            words[n].start = start;
            words[n++].end = start = (uint32_t)(place - text);
            continue;
        }
        for (uint32_t base = start; starts; starts &= starts - 1) {
            words[n].start = start;
            words[n++].end = start = base + (uint32_t)__builtin_ctzll(starts);
        }
        place = text + start;
    }
    *at = start;
    return n;
}

/* Like LEAT_DEFINE_SCAN, with blocks where there are vectors. */
#define LEAT_DEFINE_SCAN_BLOCKS(name, rules, step, run)                                            \
    static size_t name##_portable(const uint8_t *text, uint32_t *at, uint32_t end,                 \
                                  struct leat_range *words, size_t n_max) {                        \
        return leat_scan_all(text, at, end, words, n_max, leat_scan_no_gap, step, run##_portable); \
    }                                                                                              \
    LEAT_SIMD_INLINE uint64_t name##_starts(const uint8_t *bytes, uint32_t *ret_limit) {           \
        return leat_scan_block_starts(bytes, rules, ret_limit);                                    \
    }                                                                                              \
    LEAT_SIMD static size_t name##_simd(const uint8_t *text, uint32_t *at, uint32_t end,           \
                                        struct leat_range *words, size_t n_max) {                  \
        return leat_scan_blocks(text, at, end, words, n_max, name##_starts, step, run##_simd);     \
    }
