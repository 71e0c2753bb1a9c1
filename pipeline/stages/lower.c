/* lower.c: a text in lower case, as Python's str.lower and Rust's to_lowercase have it: the full
 * mappings of Unicode, and its one rule that looks at what is around: a capital sigma at the end of
 * a word becomes a final one (The Unicode Standard, 3.13, Final_Sigma). Bytes that are no UTF-8
 * stay.
 */
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"
#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/property.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/utf8.h"

#define SIGMA       0x3a3
#define FINAL_SIGMA 0x3c2

/* Ranges of code points, sorted. */
struct ranges {
    const struct leat_unicode_range *items;
    size_t n;
};

struct lower {
    struct leat_config base;
    struct leat_text_edit edit;

    struct ranges cased, ignorable;
};

static const struct leat_arg args[] = {
    LEAT_TEXT_EDIT_ARGS(lower, edit),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct lower *self = (struct lower *)config;

    (void)leat_unicode_find(LEAT_UNICODE_PROPERTY, "Cased", 5, &self->cased.items, &self->cased.n);
    (void)leat_unicode_find(LEAT_UNICODE_PROPERTY, "Case_Ignorable", 14, &self->ignorable.items,
                            &self->ignorable.n);
    return leat_text_edit_plan(config, planner, err);
}

static bool is_in(const struct ranges *ranges, uint32_t code) {
    size_t first = 0, n = ranges->n;

    while (n > 0) {
        const struct leat_unicode_range *range = &ranges->items[first + n / 2];

        if (code >= range->first && code <= range->last)
            return true;
        if (code > range->last) {
            first += n / 2 + 1;
            n -= n / 2 + 1;
        } else {
            n /= 2;
        }
    }
    return false;
}

/* True if a cased character comes next, ignorable ones aside. */
static bool is_cased_after(const struct lower *self, const uint8_t *text, size_t n) {
    for (size_t at = 0; at < n; at += leat_utf8_length(text + at, n - at)) {
        uint32_t code = leat_utf8_code_point(text + at, n - at);

        if (!is_in(&self->ignorable, code))
            return is_in(&self->cased, code);
    }
    return false;
}

static bool is_cased_before(const struct lower *self, const uint8_t *text, size_t n) {
    while (n > 0) {
        size_t length = 1;
        uint32_t code;

        while (length < 4 && length < n && (text[n - length] & 0xc0) == 0x80)
            length++;
        if (leat_utf8_length(text + n - length, length) != length)
            length = 1;
        code = leat_utf8_code_point(text + n - length, length);
        if (!is_in(&self->ignorable, code))
            return is_in(&self->cased, code);
        n -= length;
    }
    return false;
}

static uint8_t *put_codes(uint8_t *to, const uint32_t *codes, uint32_t n_codes) {
    for (uint32_t i = 0; i < n_codes; i++)
        to += leat_unicode_encode(codes[i], to);
    return to;
}

/* Writes the character at text[at], which is not ASCII. */
static uint8_t *put_character(const struct lower *self, uint8_t *to, const uint8_t *text, size_t at,
                              size_t n, uint32_t n_bytes) {
    uint32_t code = leat_utf8_code_point(text + at, n - at);
    uint32_t codes[LEAT_UNICODE_LOWER_MAX];

    if (n_bytes == 1) {
        *to = text[at];
        return to + 1;
    }
    if (code == SIGMA && is_cased_before(self, text, at) &&
        !is_cased_after(self, text + at + n_bytes, n - at - n_bytes))
        return to + leat_unicode_encode(FINAL_SIGMA, to);
    return put_codes(to, codes, leat_unicode_lower(code, codes));
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
