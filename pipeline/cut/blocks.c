/* cut/blocks.c: see cut/blocks.h.
 *
 * Each byte of a 64-byte block becomes a bit of a mask (cut/masks.h). The prefix-xor of the
 * quote mask tells which bytes are inside quotes, and shifted masks tell what stands before each
 * quote. Bits that are shifted out are carried to the next block.
 */
#include "pipeline/cut/blocks.h"

#include "pipeline/cut/masks.h"

/* State that a block hands to the next, as bit 0 or as all bits. */
struct carry {
    uint64_t inside;        /* all bits: the block begins inside quotes */
    uint64_t may_open;      /* the byte before allows a quote here */
    uint64_t line_start;    /* a record begins here */
    uint64_t line_start_cr; /* the byte before was a CR at the beginning of a record */
};

/* The bytes inside quotes; *ret_wrong: quotes that counting takes for opening ones, but that open
 * nothing, since they stand within a field. (Behind a closing quote another one opens again: the
 * two are a doubled quote. Text behind a closing quote changes nothing for the cutter.) */
LEAT_ALWAYS_INLINE uint64_t find_inside(const struct leat_masks *masks, struct carry *carry,
                                        leat_masks_prefix_xor_fn *prefix_xor, uint64_t *ret_wrong) {
    uint64_t inside = prefix_xor(masks->quote) ^ carry->inside;
    uint64_t openers = masks->delimiter | masks->lf | masks->quote;

    *ret_wrong = masks->quote & inside & ~(openers << 1 | carry->may_open);
    carry->inside = (uint64_t)((int64_t)inside >> 63);
    carry->may_open = openers >> 63;
    return inside;
}

/* The line ends that end a blank line, among those that end records. */
LEAT_ALWAYS_INLINE uint64_t find_blank(uint64_t line_ends, uint64_t cr, struct carry *carry) {
    uint64_t line_starts = line_ends << 1 | carry->line_start;
    uint64_t blank_cr = cr & line_starts;
    uint64_t blank = line_ends & (line_starts | blank_cr << 1 | carry->line_start_cr);

    carry->line_start = line_ends >> 63;
    carry->line_start_cr = blank_cr >> 63;
    return blank;
}

LEAT_ALWAYS_INLINE void index_records(struct leat_cutter_scan *scan, uint64_t line_ends,
                                      size_t base, size_t start) {
    while (line_ends) {
        size_t end = base + (size_t)__builtin_ctzll(line_ends) + 1;
        leat_cutter_put_line(scan, start, end);
        start = end;
        line_ends &= line_ends - 1;
    }
}

/* Where the next LF is at the earliest, in steps of 64 bytes from `base` on; up to `end`. */
typedef size_t skip_fn(const uint8_t *data, size_t base, size_t end);

LEAT_ALWAYS_INLINE size_t skip_none(const uint8_t *data, size_t base, size_t end) {
    (void)data;
    (void)end;
    return base;
}

LEAT_SIMD_INLINE size_t skip_simd(const uint8_t *data, size_t base, size_t end) {
    while (base + 64 <= end) {
        leat_bytes32 low = leat_bytes32_load(data + base);
        leat_bytes32 high = leat_bytes32_load(data + base + 32);

        if (leat_bytes32_mask(
                leat_bytes32_either(leat_bytes32_equal(low, '\n'), leat_bytes32_equal(high, '\n'))))
            break;
        base += 64;
    }
    return base;
}

/* Goes over blocks of a record without quotes that have no LF, but not beyond what a record may
 * have. */
LEAT_ALWAYS_INLINE size_t skip_inside(const struct leat_cutter_scan *scan, size_t base,
                                      size_t start, struct carry *carry, skip_fn *skip) {
    uint64_t limit = scan->cutter->max_record_bytes;
    size_t end = scan->n_bytes - start > limit ? start + (size_t)limit : scan->n_bytes;
    size_t next = skip(scan->data, base, end);

    if (next > base)
        carry->line_start = carry->line_start_cr = 0;
    return next;
}

LEAT_ALWAYS_INLINE size_t scan_blocks(struct leat_cutter_scan *scan, bool is_index, bool has_quotes,
                                      leat_masks_classify_fn *classify, skip_fn *skip,
                                      leat_masks_prefix_xor_fn *prefix_xor) {
    const uint8_t *data = scan->data;
    size_t n_bytes = scan->n_bytes, start = scan->start, base, stop = SIZE_MAX;
    uint64_t n_records = 0, n_lines = 0, limit = scan->cutter->max_record_bytes;
    struct carry carry = {.may_open = 1, .line_start = 1};

    for (base = start; base < n_bytes; base += 64) {
        uint64_t inside = 0, wrong = 0, line_ends, any, record_bytes;
        struct leat_masks masks;
        size_t n;
        if (!has_quotes)
            base = skip_inside(scan, base, start, &carry, skip);
        n = n_bytes - base;
        if (n == 0)
            break;
        if (n >= 64)
            classify(data + base, scan->cutter, &masks);
        else
            leat_masks_classify_part(data + base, n, scan->cutter, classify, &masks);
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

size_t leat_cutter_blocks_portable(struct leat_cutter_scan *scan) {
    if (leat_cutter_is_quoting(scan->cutter))
        return scan->n_bytes;
    if (scan->starts)
        return scan_blocks(scan, true, false, leat_masks_classify_portable, skip_none, NULL);
    return scan_blocks(scan, false, false, leat_masks_classify_portable, skip_none, NULL);
}

static uint64_t count_lines_portable(const uint8_t *data, size_t n_bytes) {
    uint64_t n_lines = 0;

    for (size_t i = 0; i < n_bytes; i++)
        n_lines += data[i] == '\n';
    return n_lines;
}

LEAT_SIMD static uint64_t count_lines_simd(const uint8_t *data, size_t n_bytes) {
    uint64_t n_lines = 0;
    size_t i = 0;

    for (; i + 64 <= n_bytes; i += 64) {
        leat_bytes32 low = leat_bytes32_load(data + i), high = leat_bytes32_load(data + i + 32);

        n_lines += (uint64_t)__builtin_popcountll(leat_masks_equal_simd(low, high, '\n'));
    }
    return n_lines + count_lines_portable(data + i, n_bytes - i);
}

uint64_t leat_cutter_count_lines(const uint8_t *data, size_t n_bytes) {
    return leat_simd_is_here() ? count_lines_simd(data, n_bytes)
                               : count_lines_portable(data, n_bytes);
}

LEAT_SIMD static size_t scan_simd(struct leat_cutter_scan *scan) {
    bool has_quotes = leat_cutter_is_quoting(scan->cutter);

    if (scan->starts && has_quotes)
        return scan_blocks(scan, true, true, leat_masks_classify_simd, skip_simd,
                           leat_simd_prefix_xor);
    if (scan->starts)
        return scan_blocks(scan, true, false, leat_masks_classify_simd, skip_simd,
                           leat_simd_prefix_xor);
    if (has_quotes)
        return scan_blocks(scan, false, true, leat_masks_classify_simd, skip_simd,
                           leat_simd_prefix_xor);
    return scan_blocks(scan, false, false, leat_masks_classify_simd, skip_simd,
                       leat_simd_prefix_xor);
}

size_t leat_cutter_blocks(struct leat_cutter_scan *scan) {
    if (leat_simd_is_here())
        return scan_simd(scan);
    return leat_cutter_blocks_portable(scan);
}
