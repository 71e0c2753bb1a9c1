/* cut/fields.c: see cut/fields.h.
 *
 * By masks of 64 bytes (cut/masks.h), as in cut/blocks.c: counting quotes tells which
 * delimiters are inside of them, and shifted masks tell whether each quote may stand where it does.
 * As long as all of them may, counting is right; at the first that may not, libcsv takes the record
 * (cut/csv.h). What a block hands to the next is carried as bit 0, or as all bits.
 */
#include "pipeline/cut/fields.h"
#include "pipeline/cut/csv.h"
#include "pipeline/cut/masks.h"

/* Owner: one call. */
struct split {
    const struct leat_cutter *cutter;
    const uint8_t *record;
    struct leat_cutter_field *fields;
    uint32_t capacity, n_fields;
    size_t start;          /* of the field under way */
    size_t behind_doubled; /* behind the last doubled quote; 0: none yet */

    uint64_t inside;     /* all bits: the block begins inside quotes */
    uint64_t may_open;   /* the byte before allows a quote here to open a field, */
    uint64_t is_quote;   /* is a quote, */
    uint64_t has_closed; /* is a quote that closes a field, if no quote follows */
};

/* The quotes of a block, seen from the left. */
struct quotes {
    uint64_t separators; /* delimiters outside quotes */
    uint64_t doubled;    /* the second ones of two within a field */
    uint64_t wrong;
};

/* A quote at which `inside` begins opens a field, or is the second of two. One at which it ends
 * closes a field, or is the first of two. */
LEAT_ALWAYS_INLINE struct quotes find_quotes(struct split *split, const struct leat_masks *masks,
                                             leat_masks_prefix_xor_fn *prefix_xor) {
    uint64_t inside = prefix_xor(masks->quote) ^ split->inside;
    uint64_t openers = masks->quote & inside, closers = masks->quote & ~inside;
    uint64_t behind_quote = masks->quote << 1 | split->is_quote;
    uint64_t behind_closer = closers << 1 | split->has_closed;
    struct quotes quotes = {.separators = masks->delimiter & ~inside,
                            .doubled = openers & behind_quote};
    uint64_t may_open = quotes.separators << 1 | split->may_open;

    quotes.wrong = (openers & ~(may_open | behind_quote)) |
                   (behind_closer & ~(masks->quote | masks->delimiter));
    split->inside = (uint64_t)((int64_t)inside >> 63);
    split->may_open = quotes.separators >> 63;
    split->is_quote = masks->quote >> 63;
    split->has_closed = closers >> 63;
    return quotes;
}

LEAT_ALWAYS_INLINE void put_field(struct split *split, size_t end, bool has_quotes) {
    if (split->n_fields < split->capacity) {
        bool is_quoted =
            has_quotes && end > split->start && split->record[split->start] == split->cutter->quote;

        split->fields[split->n_fields] = (struct leat_cutter_field){
            .start = (uint32_t)(split->start + is_quoted),
            .end = (uint32_t)(end - is_quoted),
            .has_doubled = split->behind_doubled > split->start,
        };
    }
    split->n_fields++;
    split->start = end + 1;
}

LEAT_ALWAYS_INLINE void put_fields(struct split *split, struct quotes quotes, size_t base,
                                   bool has_quotes) {
    for (uint64_t left = quotes.separators; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left);
        uint64_t before = quotes.doubled & ((UINT64_C(1) << at) - 1);

        if (before)
            split->behind_doubled = base + 64 - (size_t)__builtin_clzll(before);
        put_field(split, base + at, has_quotes);
    }
    if (quotes.doubled)
        split->behind_doubled = base + 64 - (size_t)__builtin_clzll(quotes.doubled);
}

LEAT_ALWAYS_INLINE bool split_record(struct split *split, size_t n_bytes, size_t n_readable,
                                     bool has_quotes, leat_masks_classify_fn *classify,
                                     leat_masks_prefix_xor_fn *prefix_xor) {
    split->may_open = 1;
    for (size_t base = 0; base < n_bytes; base += 64) {
        uint64_t valid = n_bytes - base < 64 ? (UINT64_C(1) << (n_bytes - base)) - 1 : UINT64_MAX;
        struct quotes quotes;
        struct leat_masks masks;

        if (n_readable - base >= 64)
            classify(split->record + base, split->cutter, &masks);
        else
            leat_masks_classify_part(split->record + base, n_readable - base, split->cutter,
                                     classify, &masks);
        masks.quote &= valid;
        masks.delimiter &= valid;
        quotes = has_quotes ? find_quotes(split, &masks, prefix_xor)
                            : (struct quotes){.separators = masks.delimiter};
        if (quotes.wrong & valid)
            return false;
        put_fields(split, quotes, base, has_quotes);
    }
    put_field(split, n_bytes, has_quotes);
    return true;
}

/* At the end a field must not be open; of a record that ends with a block, `inside` tells of its
 * last byte, of another one that of the bytes behind it, which have no quotes. */
LEAT_ALWAYS_INLINE bool split_fields(struct split *split, size_t n_bytes, size_t n_readable,
                                     leat_masks_classify_fn *classify,
                                     leat_masks_prefix_xor_fn *prefix_xor) {
    if (!split->cutter->quote)
        return split_record(split, n_bytes, n_readable, false, classify, prefix_xor);
    return split_record(split, n_bytes, n_readable, true, classify, prefix_xor) && !split->inside;
}

LEAT_SIMD static bool split_simd(struct split *split, size_t n_bytes, size_t n_readable) {
    return split_fields(split, n_bytes, n_readable, leat_masks_classify_simd, leat_simd_prefix_xor);
}

bool leat_cutter_split(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                       size_t n_readable, struct leat_cutter_field *fields, uint32_t capacity,
                       uint32_t *ret_n_fields) {
    struct split split = {
        .cutter = cutter, .record = record, .fields = fields, .capacity = capacity};

    if (leat_simd_is_here() && split_simd(&split, n_bytes, n_readable)) {
        *ret_n_fields = split.n_fields;
        return true;
    }
    return leat_cutter_csv_split(cutter, record, n_bytes, fields, capacity, ret_n_fields);
}

size_t leat_cutter_unquote(const struct leat_cutter *cutter, const uint8_t *bytes, size_t n_bytes,
                           uint8_t *out) {
    const uint8_t *at = bytes, *end = bytes + n_bytes, *quote;
    size_t n_out = 0, n;

    while (at < end && (quote = memchr(at, cutter->quote, (size_t)(end - at)))) {
        n = (size_t)(quote + 1 - at);
        memcpy(out + n_out, at, n);
        n_out += n;
        at = quote + 2;
    }
    n = at < end ? (size_t)(end - at) : 0;
    if (n > 0)
        memcpy(out + n_out, at, n);
    return n_out + n;
}
