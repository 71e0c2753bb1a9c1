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

#include "pipeline/tokenizer/post/cut.h"
#include "pipeline/tokenizer/post/pad.h"
#include "pipeline/tokenizer/post/trim.h"

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

    if (run->n_encodings == *run->capacity) {
        size_t capacity = *run->capacity ? 2 * *run->capacity : 4;
        struct leat_encoding *grown = reallocarray(*run->encodings, capacity, sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + *run->capacity, 0, (capacity - *run->capacity) * sizeof(*grown));
        *run->encodings = grown;
        *run->capacity = capacity;
    }
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
        leat_offsets_trim(encoding, at, text, run->post, run->speller);
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

/* All choices for the nth text and those behind it. is_result: all before are at part 0. */
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

/* Whether results and overflow together stay within bounds. */
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
                              "the overflow of the truncation would be %.0f encodings of %.0f "
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
