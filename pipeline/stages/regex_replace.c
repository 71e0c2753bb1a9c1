/* regex_replace.c: replaces every match of a regular expression within a text, from left to right.
 *
 * Matches do not overlap; an empty one counts unless the match before ended there. The replacement
 * is literal. A text that is not valid UTF-8, or that exceeds the limit of backtracking of one
 * search, is a bad record.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/stages/shared_text_edit.h"
#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/split/regex.h"

struct regex_replace {
    struct leat_config base;
    struct leat_text_edit edit;
    const char *pattern;
    const char *new;

    struct leat_regex *regex;
};

static const struct leat_arg args[] = {
    LEAT_TEXT_EDIT_ARGS(regex_replace, edit),
    LEAT_ARG(regex_replace, pattern, TEXT,
             "the regular expression, in the syntax of Ruby (Oniguruma), with Unicode classes",
             .is_positional = true, .is_required = true),
    LEAT_ARG(regex_replace, new, TEXT,
             "the text that replaces each match; no character has a special meaning",
             .is_positional = true, .fallback = ""),
    LEAT_ARGS_END,
};

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct regex_replace *self = (struct regex_replace *)config;
    size_t n = strlen(self->pattern);
    int r;

    (void)opener;
    if (!leat_json_is_utf8(self->pattern, n))
        return leat_config_error(config, "pattern", err, "is not valid UTF-8");
    r = leat_regex_new(self->pattern, n, &self->regex, err);
    if (r == -EINVAL)
        leat_config_place_error(config, "pattern", err);
    return r;
}

static void unload(struct leat_config *config) {
    struct regex_replace *self = (struct regex_replace *)config;

    self->regex = leat_regex_free(self->regex);
}

/* Finds the matches of one row. 0 or -ENOMEM. */
static int find_in_row(const struct regex_replace *self, struct leat_map *map, uint32_t row,
                       struct leat_regex_context *context, struct leat_text_places *places) {
    const struct leat_column *from = leat_map_column(map, self->edit.from);
    struct leat_regex_search search = {.text = (const uint8_t *)from->values + from->starts[row],
                                       .n_bytes = from->lengths[row]};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_range match;
    int r;

    if (!leat_json_is_utf8(search.text, search.n_bytes)) {
        leat_map_reject(map, row, self->edit.input, "is not valid UTF-8");
        return 0;
    }
    while ((r = leat_regex_next(self->regex, context, &search, &match, &err)) > 0)
        if (leat_text_places_add(places, row, match) < 0)
            return -ENOMEM;
    if (r == -EINVAL)
        leat_map_reject(map, row, self->edit.input, "%s", err.message);
    return r == -EINVAL ? 0 : r;
}

static int find_places(const struct leat_config *config, struct leat_map *map,
                       struct leat_text_places *places) {
    const struct regex_replace *self = (const struct regex_replace *)config;
    struct leat_regex_context *context;
    int r = leat_regex_context_new(&context);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++)
        r = find_in_row(self, map, row, context, places);
    leat_regex_context_free(context);
    return r;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct regex_replace *self = (const struct regex_replace *)config;

    return leat_text_edit_replace(config, &self->edit, map, find_places, self->new, err);
}

const struct leat_stage_ops leat_stage_regex_replace = {
    LEAT_STAGE_BASE("regex_replace", regex_replace, MAP),
    .summary = "replaces all matches of a regular expression",
    .example = "{ input: text, pattern: '\\s+', new: \" \" }",
    .load = load,
    .unload = unload,
    .plan = leat_text_edit_plan,
    .map = map_rows,
};
