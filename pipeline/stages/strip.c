/* strip.c: takes blanks, or given characters, from the ends of a text, as Python's str.strip. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"
#include "pipeline/tokenizer/white_space.h"
#include "proto/base/utf8.h"

enum { SIDE_BOTH, SIDE_LEFT, SIDE_RIGHT };

#define CHARS_MAX 1024

struct strip {
    struct leat_config base;
    struct leat_text_edit edit;
    const char *chars;
    int side;

    uint32_t *codes; /* [n_codes], of `chars` */
    size_t n_codes;
};

static const char *const sides[] = {"both", "left", "right", NULL};

static const struct leat_arg args[] = {
    LEAT_TEXT_EDIT_ARGS(strip, edit),
    LEAT_ARG(strip, chars, TEXT,
             "characters to remove, in any order; default: all white space of Unicode"),
    LEAT_ARG(strip, side, CHOICE, "the sides to strip", .fallback = "both", .choices = sides),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct strip *self = (struct strip *)config;
    const uint8_t *at = (const uint8_t *)self->chars;
    size_t n = self->chars ? strlen(self->chars) : 0;

    if (!self->chars)
        return 0;
    if (n == 0 || n > CHARS_MAX)
        return leat_config_error(config, "chars", err, "has %zu bytes; 1 to %d are possible", n,
                                 CHARS_MAX);
    self->codes = calloc(n, sizeof(*self->codes));
    if (!self->codes)
        return leat_error_oom(err);
    for (uint32_t length; n > 0; at += length, n -= length) {
        length = leat_utf8_length(at, n);
        if (length == 1 && *at >= 0x80)
            return leat_config_error(config, "chars", err, "is not valid UTF-8");
        self->codes[self->n_codes++] = leat_utf8_code_point(at, n);
    }
    return 0;
}

static void unload(struct leat_config *config) {
    free(((struct strip *)config)->codes);
}

/* Bytes of the character at text[0] if it is one of `chars`; else 0. */
static uint32_t given_length(const struct strip *self, const uint8_t *text, uint32_t n) {
    uint32_t length = n > 0 ? leat_utf8_length(text, n) : 0, code;

    if (length == 0 || (length == 1 && text[0] >= 0x80))
        return 0;
    code = leat_utf8_code_point(text, n);
    for (size_t i = 0; i < self->n_codes; i++)
        if (self->codes[i] == code)
            return length;
    return 0;
}

/* The same for the character that ends at text[n - 1]. */
static uint32_t given_length_before(const struct strip *self, const uint8_t *text, uint32_t n) {
    for (uint32_t length = 1; length <= 4 && length <= n; length++)
        if ((text[n - length] & 0xc0) != 0x80)
            return given_length(self, text + n - length, length) == length ? length : 0;
    return 0;
}

static uint8_t *put_text(const struct leat_config *config, uint8_t *to, const uint8_t *text,
                         uint32_t n) {
    const struct strip *self = (const struct strip *)config;
    uint32_t start = 0, length = 1;

    while (self->side != SIDE_LEFT && length > 0) {
        length = self->chars ? given_length_before(self, text, n)
                             : (uint32_t)leat_white_space_length_before(text, n);
        n -= length;
    }
    length = 1;
    while (self->side != SIDE_RIGHT && length > 0) {
        length = self->chars ? given_length(self, text + start, n - start)
                             : (uint32_t)leat_white_space_length(text + start, n - start);
        start += length;
    }
    if (n > start)
        memcpy(to, text + start, n - start);
    return to + (n - start);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct strip *self = (const struct strip *)config;

    return leat_text_edit_map(config, &self->edit, map, leat_map_n_items(map, self->edit.from),
                              put_text, err);
}

const struct leat_stage_ops leat_stage_strip = {
    LEAT_STAGE_BASE("strip", strip, MAP),
    .summary = "removes white space from the ends of a text",
    .example = "{ input: Name }",
    .check = check,
    .unload = unload,
    .plan = leat_text_edit_plan,
    .map = map_rows,
};
