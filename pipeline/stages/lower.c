/* lower.c: a text in lower case, as Python's str.lower and Rust's to_lowercase have it: the full
 * mappings of Unicode, and its rule for a final sigma (casing.h). Bytes that are no UTF-8 stay.
 */
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"
#include "pipeline/tokenizer/unicode/casing.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/utf8.h"

struct lower {
    struct leat_config base;
    struct leat_text_edit edit;

    struct leat_casing casing;
};

static const struct leat_arg args[] = {
    LEAT_TEXT_EDIT_ARGS(lower, edit),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    ((struct lower *)config)->casing = leat_casing_get();
    return leat_text_edit_plan(config, planner, err);
}

/* Writes the character at text[at], which is not ASCII. */
static uint8_t *put_character(const struct lower *self, uint8_t *to, const uint8_t *text, size_t at,
                              size_t n, uint32_t n_bytes) {
    uint32_t codes[LEAT_UNICODE_LOWER_MAX], n_codes;

    if (n_bytes == 1) {
        *to = text[at];
        return to + 1;
    }
    n_codes = leat_casing_lower(&self->casing, text, at, n, codes);
    for (uint32_t i = 0; i < n_codes; i++)
        to += leat_unicode_encode(codes[i], to);
    return to;
}

static uint8_t *put_text(const struct leat_config *config, uint8_t *to, const uint8_t *text,
                         uint32_t n) {
    const struct lower *self = (const struct lower *)config;

    for (size_t at = 0; at < n;) {
        uint32_t n_bytes;

        for (; at < n && text[at] < 0x80; at++)
            *to++ = (uint8_t)(text[at] | (uint8_t)((unsigned)text[at] - 'A' < 26U) << 5);
        if (at == n)
            break;
        n_bytes = leat_utf8_length(text + at, n - at);
        to = put_character(self, to, text, at, n, n_bytes);
        at += n_bytes;
    }
    return to;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct lower *self = (const struct lower *)config;
    size_t n_bytes = leat_map_n_items(map, self->edit.from);

    /* two bytes become three at most (U+0130, U+023A), and no others grow */
    return leat_text_edit_map(config, &self->edit, map, n_bytes + n_bytes / 2, put_text, err);
}

const struct leat_stage_ops leat_stage_lower = {
    LEAT_STAGE_BASE("lower", lower, MAP),
    .summary = "converts a text to lower case",
    .example = "{ input: Name }",
    .plan = plan,
    .map = map_rows,
};
