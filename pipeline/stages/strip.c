/* strip.c: takes blanks, or given characters, from the ends of a text, as Python's str.strip. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"
#include "pipeline/tokenizer/utf8.h"
#include "pipeline/tokenizer/white_space.h"

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
    {.name = "chars",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct strip, chars),
     .help = "the characters that are taken away, in any order; left out: all blanks of Unicode"},
    {.name = "side",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct strip, side),
     .fallback = "both",
     .choices = sides,
     .help = "the end or ends they are taken from"},
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct strip *self = (struct strip *)config;
    const uint8_t *at = (const uint8_t *)self->chars;
    size_t n = self->chars ? strlen(self->chars) : 0;

    if (!self->chars)
        return 0;
    if (n == 0 || n > CHARS_MAX)
        return leat_config_error(config, "chars", err, "%zu bytes are outside 1..%d", n, CHARS_MAX);
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

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    return leat_text_edit_plan(config, &((struct strip *)config)->edit, planner, err);
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

static struct leat_range strip_text(const struct strip *self, const uint8_t *text, uint32_t n) {
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
    return (struct leat_range){start, n};
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct strip *self = (const struct strip *)config;
    const struct leat_column *from = leat_map_column(map, self->edit.from);
    const struct leat_column *to = leat_map_column(map, self->edit.to);
    uint32_t at = 0;
    int r = leat_text_edit_begin(&self->edit, map, leat_text_edit_n_bytes(&self->edit, map), err);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row];
        struct leat_range kept = strip_text(self, text, from->lengths[row]);

        to->starts[row] = at;
        to->lengths[row] = kept.end - kept.start;
        if (kept.end > kept.start)
            memcpy((uint8_t *)to->values + at, text + kept.start, kept.end - kept.start);
        at += kept.end - kept.start;
    }
    map->n_bytes_out += at;
    return r;
}

const struct leat_stage_ops leat_stage_strip = {
    .name = "strip",
    .summary = "takes blanks from the ends of a text",
    .example = "{ input: Name }",
    .kind = LEAT_STAGE_MAP,
    .args = args,
    .config_size = sizeof(struct strip),
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
