/* padding.c: `padding` of a tokenizer.json. See pad.h. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/post/pad.h"

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
