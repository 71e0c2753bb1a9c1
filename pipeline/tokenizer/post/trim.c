/* trim.c: see trim.h.
 *
 * Blanks are counted in the spelling of the token, as HF's process_offsets does: white space, and
 * U+0120, which stands for a space in GPT-2's alphabet. Where offsets are in characters, each blank
 * counts for one, as in HF; where they are in bytes, for as many bytes as it has in the spelling,
 * and U+0120 for one.
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

/* leaves_single: a single blank in front is not taken off. */
static void trim(struct leat_range *range, uint32_t n_front, uint32_t n_behind,
                 bool leaves_single) {
    if (leaves_single)
        n_front = 0;
    if (n_front)
        range->start = n_front < range->end - range->start ? range->start + n_front : range->end;
    if (n_behind && range->end >= n_behind)
        range->end = range->end - n_behind > range->start ? range->end - n_behind : range->start;
}

static void trim_token(struct leat_encoding *encoding, size_t at, bool is_at_start, bool is_second,
                       const struct leat_post *post, const struct leat_post_speller *speller) {
    struct leat_range *range = &encoding->offsets[at];
    struct blanks front = {0, 0}, behind = {0, 0};
    const uint8_t *text = NULL;
    uint32_t n;

    if (post->n_trims)
        text = speller->text(speller->context, encoding->ids[at], encoding->surfaces[at], &n);
    if (text) {
        front = blanks_in_front(text, n);
        behind = blanks_behind(text, n);
    }
    if (speller->in_chars)
        *range = speller->in_chars(speller->context, is_second, *range);
    for (uint32_t i = 0; i < post->n_trims; i++) {
        bool is_first = is_at_start || range->start == 0;
        bool leaves_single = is_first && post->trim_leaves_first[i] && front.n == 1;

        if (speller->in_chars)
            trim(range, front.n, behind.n, leaves_single);
        else
            trim(range, front.n_bytes, behind.n_bytes, leaves_single);
    }
}

void leat_offsets_trim(struct leat_encoding *encoding, size_t start, bool is_second,
                       const struct leat_post *post, const struct leat_post_speller *speller) {
    for (size_t i = start; i < encoding->n; i++)
        trim_token(encoding, i, i == start, is_second, post, speller);
}
