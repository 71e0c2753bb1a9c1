/* trim.c: see trim.h.
 *
 * Blanks are counted in the spelling of the token, as HF's process_offsets does: white space, and
 * U+0120, which stands for a space in GPT-2's alphabet. HF counts in characters where offsets are
 * in characters; offsets are in bytes here, so each blank counts for as many bytes as it has in the
 * text: U+0120 for one, white space (of an added token) for its own.
 */
#include "pipeline/tokenizer/post/trim.h"

#include "pipeline/tokenizer/white_space.h"

struct blanks {
    uint32_t n; /* characters */
    uint32_t n_bytes;
};

static struct blanks blanks_in_front(const uint8_t *text, uint32_t n) {
    struct blanks blanks = {0, 0};

    for (uint32_t at = 0; at < n; blanks.n++) {
        bool is_mapped = n - at >= 2 && text[at] == 0xc4 && text[at + 1] == 0xa0;
        uint32_t length = (uint32_t)leat_white_space_length(text + at, n - at);
        if (!is_mapped && !length)
            break;
        blanks.n_bytes += is_mapped ? 1 : length;
        at += is_mapped ? 2 : length;
    }
    return blanks;
}

static struct blanks blanks_behind(const uint8_t *text, uint32_t n) {
    struct blanks blanks = {0, 0};

    for (; n > 0; blanks.n++) {
        bool is_mapped = n >= 2 && text[n - 2] == 0xc4 && text[n - 1] == 0xa0;
        uint32_t length = (uint32_t)leat_white_space_length_before(text, n);
        if (!is_mapped && !length)
            break;
        blanks.n_bytes += is_mapped ? 1 : length;
        n -= is_mapped ? 2 : length;
    }
    return blanks;
}

static void trim(struct leat_range *range, const uint8_t *text, uint32_t n, bool leaves_single) {
    struct blanks front = blanks_in_front(text, n), behind = blanks_behind(text, n);

    if (front.n == 1 && leaves_single)
        front.n_bytes = 0;
    if (front.n)
        range->start =
            front.n_bytes < range->end - range->start ? range->start + front.n_bytes : range->end;
    if (behind.n && range->end >= behind.n_bytes)
        range->end =
            range->end - behind.n_bytes > range->start ? range->end - behind.n_bytes : range->start;
}

void leat_offsets_trim(struct leat_encoding *encoding, size_t start, bool is_second,
                       bool leaves_first, const struct leat_post_speller *speller) {
    for (size_t i = start; i < encoding->n; i++) {
        struct leat_range *range = &encoding->offsets[i];
        bool is_first = i == start || range->start == 0;
        uint32_t n;
        const uint8_t *text =
            speller->text(speller->context, encoding->ids[i], is_second, *range, &n);
        if (text)
            trim(range, text, n, is_first && leaves_first);
    }
}
