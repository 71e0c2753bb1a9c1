/* run.c: leat_post_run: truncation, layout, padding. See post.h.
 *
 * Each text of the layout is cut into parts. The result is the layout with part 0 of each; the
 * overflow is every other choice of parts, in the order in which HF's Encoding::merge_with comes
 * upon them: later texts vary fastest, and as long as all texts so far are at part 0, part 0 of the
 * next one comes last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/post/post.h"
#include "pipeline/tokenizer/white_space.h"
#include "proto/base/array.h"

/* ---- trim_offsets
 *
 * Blanks are counted in the spelling of the token, as HF's process_offsets does: white space, and
 * U+0120, which stands for a space in GPT-2's alphabet. Where offsets are in characters, each blank
 * counts for one, as in HF; where they are in bytes, for as many bytes as it has in the spelling,
 * and U+0120 for one.
 */

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
static void trim_range(struct leat_range *range, uint32_t n_front, uint32_t n_behind,
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
            trim_range(range, front.n, behind.n, leaves_single);
        else
            trim_range(range, front.n_bytes, behind.n_bytes, leaves_single);
    }
}

/* Trims the offsets of tokens start..n - 1, which begin a text (is_second: the second) or a part of
 * one, as often as the post says, and counts them in characters if the speller does. */
static void trim_offsets(struct leat_encoding *encoding, size_t start, bool is_second,
                         const struct leat_post *post, const struct leat_post_speller *speller) {
    for (size_t i = start; i < encoding->n; i++)
        trim_token(encoding, i, i == start, is_second, post, speller);
}

/* ---- the layout */

struct run {
    const struct leat_post *post;
    const struct leat_post_layout *layout;
    const struct leat_encoding *texts[2];
    const struct leat_post_speller *speller;
    struct leat_truncation_cut cuts[2];
    size_t parts[LEAT_POST_TEXTS_MAX]; /* the choice */

    struct leat_encoding **encodings;
    size_t n_encodings, *capacity;
};

static size_t text_index(const struct leat_post_item *item) {
    return item->id == LEAT_POST_SECOND;
}

/* The next encoding of the array, empty. NULL: memory is out. */
static struct leat_encoding *next_encoding(struct run *run) {
    struct leat_encoding *encoding;
    size_t capacity = *run->capacity;

    if (!leat_array_reserve(run->encodings, run->n_encodings + 1, run->capacity))
        return NULL;
    if (*run->capacity > capacity)
        memset(*run->encodings + capacity, 0, (*run->capacity - capacity) * sizeof(*encoding));
    encoding = *run->encodings + run->n_encodings++;
    leat_encoding_reset(encoding, run->texts[0]->columns);
    return encoding;
}

static int append_text(const struct run *run, const struct leat_post_item *item, size_t part,
                       struct leat_encoding *encoding) {
    size_t text = text_index(item), at = encoding->n, start, end;

    leat_truncation_cut_part(&run->cuts[text], part, &start, &end);
    if (leat_encoding_append(encoding, run->texts[text], start, end,
                             part ? item->overflow_type_id : item->type_id) < 0)
        return -ENOMEM;
    if (encoding->texts)
        memset(encoding->texts + at, (int)text + 1, encoding->n - at);
    if (encoding->offsets && run->speller)
        trim_offsets(encoding, at, text, run->post, run->speller);
    return 0;
}

/* The layout with the parts that are chosen. */
static int build(struct run *run) {
    struct leat_encoding *encoding = next_encoding(run);
    size_t n_texts = 0;

    if (!encoding || leat_encoding_reserve(encoding, run->layout->n_added) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < run->layout->n_items; i++) {
        const struct leat_post_item *item = &run->layout->items[i];
        if (item->id < 0) {
            if (append_text(run, item, run->parts[n_texts++], encoding) < 0)
                return -ENOMEM;
        } else {
            if (leat_encoding_reserve(encoding, 1) < 0)
                return -ENOMEM;
            leat_encoding_push(encoding, item->id, item->type_id, (struct leat_range){0, 0}, true);
        }
    }
    return 0;
}

/* Parts that the nth text of the layout has. */
static size_t n_parts_of(const struct run *run, size_t nth) {
    const struct leat_post_item *item = run->layout->items;

    for (;; item++)
        if (item->id < 0 && nth-- == 0)
            return run->cuts[text_index(item)].n_parts;
}

/* Builds all choices for the nth text and those after it. is_result: all before are at part 0. */
static int build_overflow(struct run *run, size_t nth, bool is_result) {
    size_t n_parts;
    int r = 0;

    if (nth == run->layout->n_texts)
        return is_result ? 0 : build(run);
    n_parts = n_parts_of(run, nth);
    for (size_t i = 0; i < n_parts && r == 0; i++) {
        run->parts[nth] = is_result ? (i + 1) % n_parts : i;
        r = build_overflow(run, nth + 1, is_result && run->parts[nth] == 0);
    }
    return r;
}

/* True if results and overflow together stay within bounds. */
static int check_size(const struct run *run, struct leat_error *err) {
    double n_encodings = 1, n_tokens = (double)run->layout->n_added;

    for (size_t i = 0, nth = 0; i < run->layout->n_items; i++) {
        const struct leat_post_item *item = &run->layout->items[i];
        if (item->id >= 0)
            continue;
        n_encodings *= (double)n_parts_of(run, nth++);
        n_tokens += (double)run->cuts[text_index(item)].keep;
    }
    if (n_encodings > 1 && n_encodings * (n_tokens + 1) > LEAT_POST_TOKENS_MAX)
        return leat_error_set(err, -E2BIG,
                              "the parts that truncation cuts off would be %.0f encodings of %.0f "
                              "tokens; at most %u tokens in all are possible",
                              n_encodings, n_tokens, LEAT_POST_TOKENS_MAX);
    return 0;
}

static int pad(struct run *run, const struct leat_padding *padding) {
    size_t target = leat_padding_target(padding, (*run->encodings)[0].n);

    for (size_t i = 0; i < run->n_encodings; i++)
        if (leat_padding_apply(padding, target, *run->encodings + i) < 0)
            return -ENOMEM;
    return 0;
}

static int plan(struct run *run, const struct leat_truncation *truncation, struct leat_error *err) {
    size_t n_texts = run->texts[1] ? 2 : 1;
    size_t n_tokens[2] = {run->texts[0]->n, n_texts > 1 ? run->texts[1]->n : 0};

    return leat_truncation_cut_plan(truncation, run->layout->n_added, n_tokens, n_texts, run->cuts,
                                    err);
}

int leat_post_run(const struct leat_post *post, const struct leat_truncation *truncation,
                  const struct leat_padding *padding, const struct leat_encoding *first,
                  const struct leat_encoding *second, bool adds_special_tokens,
                  const struct leat_post_speller *speller, struct leat_encoding **encodings,
                  size_t *n_encodings, size_t *capacity, struct leat_error *err) {
    struct run run = {.post = post,
                      .layout = &post->layouts[second != NULL][adds_special_tokens],
                      .texts = {first, second},
                      .speller = speller,
                      .encodings = encodings,
                      .capacity = capacity};
    int r = plan(&run, truncation, err);

    if (r == 0 && n_encodings)
        r = check_size(&run, err);
    if (r < 0)
        return r;
    r = build(&run);
    if (r == 0 && n_encodings)
        r = build_overflow(&run, 0, true);
    if (r == 0 && padding && padding->is_on)
        r = pad(&run, padding);
    if (n_encodings)
        *n_encodings = run.n_encodings;
    return r < 0 ? leat_error_oom(err) : 0;
}
