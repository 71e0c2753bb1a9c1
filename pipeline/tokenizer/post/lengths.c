/* lengths.c: see lengths.h.
 *
 * The rules of truncation are those of truncate_encodings and Encoding::truncate of Hugging Face
 * `tokenizers`, its special cases included: a length of 0 makes the whole text one part of
 * overflow.
 */
#include "pipeline/tokenizer/post/lengths.h"

#include <errno.h>
#include <string.h>

/* ---- truncation */

int leat_truncation_read(const struct leat_component *component,
                         struct leat_truncation *ret_truncation, struct leat_error *err) {
    static const char *const directions[] = {"Right", "Left", NULL};
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond", NULL};
    uint64_t max_length = 0, stride = 0;
    int direction = 0, strategy = 0, r;

    *ret_truncation = (struct leat_truncation){.is_on = false};
    if (!component)
        return 0;
    r = leat_component_choice(component, "direction", directions, 0, &direction, err);
    if (r == 0)
        r = leat_component_choice(component, "strategy", strategies, -1, &strategy, err);
    if (r == 0)
        r = leat_component_uint(component, "max_length", -1, UINT64_MAX, &max_length, err);
    if (r == 0)
        r = leat_component_uint(component, "stride", -1, UINT64_MAX, &stride, err);
    if (r < 0)
        return r;
    ret_truncation->is_on = true;
    ret_truncation->cuts_left = direction == 1;
    ret_truncation->strategy = (unsigned)strategy;
    ret_truncation->max_length = max_length > UINT32_MAX ? UINT32_MAX : (uint32_t)max_length;
    ret_truncation->stride = stride > UINT32_MAX ? UINT32_MAX : (uint32_t)stride;
    return 0;
}

/* Lengths of a pair that is longer than max: the shorter text is left whole if it fits in less than
 * half, else both get half. */
static void share(size_t max, size_t keep[2]) {
    size_t shorter = keep[1] < keep[0];
    size_t n1 = keep[shorter], n2;

    if (n1 > max)
        n2 = n1;
    else
        n2 = n1 > max - n1 ? n1 : max - n1;
    if (n1 + n2 > max) {
        n1 = max / 2;
        n2 = n1 + max % 2;
    }
    keep[shorter] = n1;
    keep[!shorter] = n2;
}

/* The other text is left whole. It may be known to `max` tokens only. */
static int take_from_one(const struct leat_truncation *truncation, size_t max, size_t n_texts,
                         size_t keep[2], struct leat_error *err) {
    size_t target = truncation->strategy == LEAT_TRUNCATE_ONLY_SECOND;
    size_t n_other = n_texts > 1 ? keep[!target] : 0;

    if (target >= n_texts)
        return leat_error_set(err, -EINVAL,
                              "truncation is OnlySecond, but there is no second text: give a "
                              "second text, or another truncation");
    if (n_other >= max)
        return leat_error_set(err, -EINVAL,
                              "truncation is %s, but the %s text fills all %zu tokens that both "
                              "texts together may have: raise the length",
                              target ? "OnlySecond" : "OnlyFirst", target ? "first" : "second",
                              max);
    keep[target] = max - n_other;
    return 0;
}

/* Computes how many tokens each text keeps. */
static int choose_lengths(const struct leat_truncation *truncation, size_t max, size_t n_texts,
                          size_t keep[2], struct leat_error *err) {
    size_t total = keep[0] + (n_texts > 1 ? keep[1] : 0);

    if (max == 0) {
        keep[0] = keep[1] = 0;
        return 0;
    }
    if (total <= max)
        return 0;
    if (truncation->strategy != LEAT_TRUNCATE_LONGEST_FIRST)
        return take_from_one(truncation, max, n_texts, keep, err);
    if (n_texts > 1)
        share(max, keep);
    else
        keep[0] = max;
    return 0;
}

static int cut(struct leat_truncation_cut *cut, size_t keep, struct leat_error *err) {
    size_t step;

    if (keep >= cut->n)
        return 0;
    cut->keep = keep;
    if (keep == 0) {
        cut->n_parts = 2;
        return 0;
    }
    if (cut->stride >= keep)
        return leat_error_set(
            err, -EINVAL,
            "truncation keeps %zu tokens of a text, but the stride is %zu: make the stride smaller",
            keep, cut->stride);
    step = keep - cut->stride;
    cut->n_parts = 1 + (cut->n - keep + step - 1) / step;
    return 0;
}

int leat_truncation_cut_plan(const struct leat_truncation *truncation, size_t n_added,
                             const size_t *n_tokens, size_t n_texts,
                             struct leat_truncation_cut cuts[2], struct leat_error *err) {
    size_t keep[2] = {n_tokens[0], n_texts > 1 ? n_tokens[1] : 0};
    int r;

    for (size_t i = 0; i < n_texts; i++)
        cuts[i] = (struct leat_truncation_cut){.n = keep[i], .keep = keep[i], .n_parts = 1};
    if (!truncation || !truncation->is_on)
        return 0;
    if (truncation->max_length < n_added) /* HF does not truncate at all then */
        return 0;
    r = choose_lengths(truncation, truncation->max_length - n_added, n_texts, keep, err);
    for (size_t i = 0; i < n_texts && r == 0; i++) {
        cuts[i].stride = truncation->stride;
        cuts[i].from_left = truncation->cuts_left;
        r = cut(&cuts[i], keep[i], err);
    }
    return r;
}

void leat_truncation_cut_part(const struct leat_truncation_cut *cut, size_t i, size_t *ret_start,
                              size_t *ret_end) {
    size_t skipped = i * (cut->keep - cut->stride);

    if (cut->n_parts == 1 || cut->keep == 0) { /* all, or nothing with all as its overflow */
        *ret_start = 0;
        *ret_end = cut->keep == 0 && i == 0 ? 0 : cut->n;
    } else if (cut->from_left) {
        *ret_end = cut->n - skipped;
        *ret_start = *ret_end < cut->keep ? 0 : *ret_end - cut->keep;
    } else {
        *ret_start = skipped;
        *ret_end = cut->n - skipped < cut->keep ? cut->n : skipped + cut->keep;
    }
}

/* ---- padding */

static int read_strategy(const struct leat_component *component, uint32_t *ret_fixed,
                         struct leat_error *err) {
    static const char *const names[] = {"BatchLongest", NULL};
    struct leat_component strategy;
    uint64_t fixed;
    int choice, r;

    *ret_fixed = 0;
    if (!leat_component_get(component, "strategy", &strategy) ||
        leat_json_kind(strategy.node) != LEAT_JSON_OBJECT)
        return leat_component_choice(component, "strategy", names, -1, &choice, err);
    r = leat_component_uint(&strategy, "Fixed", -1, LEAT_PADDING_LENGTH_MAX, &fixed, err);
    if (r == 0)
        *ret_fixed = (uint32_t)fixed;
    return r;
}

int leat_padding_read(const struct leat_component *component, struct leat_padding *ret_padding,
                      struct leat_error *err) {
    static const char *const directions[] = {"Right", "Left", NULL};
    uint64_t multiple_of = 0, pad_id = 0, pad_type_id = 0;
    struct leat_padding padding = {.is_on = true};
    int direction = 0, r;

    *ret_padding = (struct leat_padding){.is_on = false};
    if (!component)
        return 0;
    r = read_strategy(component, &padding.fixed_length, err);
    if (r == 0)
        r = leat_component_choice(component, "direction", directions, -1, &direction, err);
    if (r == 0)
        r = leat_component_uint(component, "pad_to_multiple_of", 0, LEAT_PADDING_LENGTH_MAX,
                                &multiple_of, err);
    if (r == 0)
        r = leat_component_uint(component, "pad_id", -1, INT32_MAX, &pad_id, err);
    if (r == 0)
        r = leat_component_uint(component, "pad_type_id", -1, UINT32_MAX, &pad_type_id, err);
    if (r < 0)
        return r;
    padding.pads_left = direction == 1;
    padding.multiple_of = (uint32_t)multiple_of;
    padding.pad_id = (int32_t)pad_id;
    padding.pad_type_id = (uint32_t)pad_type_id;
    *ret_padding = padding;
    return 0;
}

size_t leat_padding_target(const struct leat_padding *padding, size_t n) {
    size_t target = padding->fixed_length ? padding->fixed_length : n;

    if (padding->multiple_of && target % padding->multiple_of)
        target += padding->multiple_of - target % padding->multiple_of;
    return target;
}

int leat_padding_apply(const struct leat_padding *padding, size_t target,
                       struct leat_encoding *encoding) {
    size_t n = encoding->n, start;

    if (n >= target)
        return 0;
    if (leat_encoding_reserve(encoding, target - n) < 0)
        return -ENOMEM;
    if (padding->pads_left && n)
        leat_encoding_shift(encoding, target - n);
    start = padding->pads_left ? 0 : n;
    encoding->n = start;
    for (size_t i = start; i < start + target - n; i++)
        leat_encoding_push(encoding, padding->pad_id, padding->pad_type_id,
                           (struct leat_range){0, 0}, true);
    if (encoding->attention)
        memset(encoding->attention + start, 0, target - n);
    if (encoding->marks)
        memset(encoding->marks + start, 0, (target - n) * sizeof(*encoding->marks));
    encoding->n = target;
    return 0;
}
