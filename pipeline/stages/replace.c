/* replace.c: every occurrence of a text within a text, from left to right, as Python's
 * str.replace. Bytes are compared. */
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"

struct replace {
    struct leat_config base;
    struct leat_text_edit edit;
    const char *old;
    const char *new;
};

static const struct leat_arg args[] = {
    LEAT_TEXT_EDIT_ARGS(replace, edit),
    LEAT_ARG(replace, old, TEXT, "the text to replace; no character has a special meaning",
             .is_positional = true, .is_required = true),
    LEAT_ARG(replace, new, TEXT, "the text that replaces each match", .is_positional = true,
             .fallback = ""),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct replace *self = (const struct replace *)config;

    if (self->old[0] == '\0')
        return leat_config_error(config, "old", err,
                                 "an empty text would match everywhere: give a text");
    return 0;
}

static int find_places(const struct leat_config *config, struct leat_map *map,
                       struct leat_text_places *places) {
    const struct replace *self = (const struct replace *)config;
    const struct leat_column *from = leat_map_column(map, self->edit.from);
    uint32_t n_old = (uint32_t)strlen(self->old);
    int r = 0;

    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row], *found;
        uint32_t at = 0;

        while (r == 0 && (found = memmem(text + at, from->lengths[row] - at, self->old, n_old))) {
            at = (uint32_t)(found - text) + n_old;
            r = leat_text_places_add(places, row, (struct leat_range){at - n_old, at});
        }
    }
    return r;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct replace *self = (const struct replace *)config;

    return leat_text_edit_replace(config, &self->edit, map, find_places, self->new, err);
}

const struct leat_stage_ops leat_stage_replace = {
    LEAT_STAGE_BASE("replace", replace, MAP),
    .summary = "replaces one text with another",
    .example = "{ input: text, old: \"\\r\\n\", new: \"\\n\" }",
    .check = check,
    .plan = leat_text_edit_plan,
    .map = map_rows,
};
