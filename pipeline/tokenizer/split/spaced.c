/* spaced.c: see spaced.h. A word ends at white space, and before each U+2581 in it. Stretches of
 * visible ASCII are copied 16 bytes at once. */
#include "pipeline/tokenizer/split/spaced.h"

#include "pipeline/tokenizer/split/scan_text.h"

static const uint8_t mark[4] = {0xe2, 0x96, 0x81, 0};

bool leat_spaced_is(const struct leat_split_steps *steps) {
    const struct leat_split_step *items = steps->items;

    return steps->n == 3 && items[0].kind == LEAT_SPLIT_STEP_SCAN &&
           items[0].scanner == &leat_scanner_nonspace &&
           items[1].kind == LEAT_SPLIT_STEP_METASPACE && items[1].scheme == LEAT_SCHEME_ALWAYS &&
           items[2].kind == LEAT_SPLIT_STEP_SCAN && items[2].scanner == &leat_scanner_metaspace;
}

typedef uint8_t sixteen __attribute__((vector_size(16)));

/* Copies visible ASCII; what is after the result, up to 16 bytes, may be overwritten. */
static const uint8_t *copy_visible(const uint8_t *at, const uint8_t *end, uint8_t **out) {
    while (at < end) {
        uint64_t low, high;
        sixteen bytes, is_other;
        ptrdiff_t n;

        memcpy(&bytes, at, 16);
        memcpy(*out, &bytes, 16);
        is_other = (sixteen)((bytes - 0x21) > 0x5e);
        memcpy(&low, &is_other, 8);
        memcpy(&high, (uint8_t *)&is_other + 8, 8);
        n = low ? __builtin_ctzll(low) / 8 : high ? 8 + __builtin_ctzll(high) / 8 : 16;
        n = n < end - at ? n : end - at;
        at += n;
        *out += n;
        if (n < 16)
            break;
    }
    return at;
}

/* Copies the rest of a word, up to white space or the next mark. */
static const uint8_t *copy_word(const uint8_t *at, const uint8_t *end, uint8_t **out) {
    uint32_t n;

    for (;;) {
        at = copy_visible(at, end, out);
        if (at >= end || leat_scan_classes(at, &n) & LEAT_UNICODE_RUST_SPACE ||
            memcmp(at, mark, 3) == 0)
            return at;
        memcpy(*out, at, 4);
        *out += n;
        at += n;
    }
}

/* The mark in the source stands for itself; a word without one gets one. */
size_t leat_spaced_next(const struct leat_text_view *source, uint32_t *at,
                        struct leat_text_buffer *target, struct leat_range *words, size_t n_max) {
    const uint8_t *place = source->bytes + *at, *end = source->bytes + source->n_bytes;
    uint8_t *out = target->bytes + target->n_bytes;
    size_t n = 0;

    for (;; n++) {
        place = leat_scan_while(place, end, LEAT_UNICODE_RUST_SPACE);
        if (n == n_max || place >= end)
            break;
        words[n].start = (uint32_t)(out - target->bytes);
        memcpy(out, mark, 4);
        out += 3;
        if (memcmp(place, mark, 3) == 0)
            place += 3;
        place = copy_word(place, end, &out);
        words[n].end = (uint32_t)(out - target->bytes);
    }
    target->n_bytes = (uint32_t)(out - target->bytes);
    *at = (uint32_t)(place - source->bytes);
    return n;
}
