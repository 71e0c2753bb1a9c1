/* regex_replace.c: every match of a regular expression within a text, from left to right.
 *
 * Matches do not overlap; an empty one counts unless the match before ended there. What takes its
 * place is put in as it stands: groups only group. A text that is not valid UTF-8, or that takes
 * more steps of backtracking than one search may, is a bad record.
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
    {.name = "pattern",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct regex_replace, pattern),
     .is_positional = true,
     .is_required = true,
     .help = "the expression, in Ruby's syntax (Oniguruma), with classes of Unicode"},
    {.name = "new",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct regex_replace, new),
     .is_positional = true,
     .fallback = "",
     .help = "what takes the place of a match, as it stands"},
    LEAT_ARGS_END,
};

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct regex_replace *self = (struct regex_replace *)config;
    const struct leat_value *value =
        config->values ? leat_value_get(config->values, "pattern") : NULL;
    size_t n = strlen(self->pattern);
    int r;

    (void)opener;
    if (!leat_json_is_utf8(self->pattern, n))
        return leat_config_error(config, "pattern", err, "is not valid UTF-8");
    r = leat_regex_new(self->pattern, n, &self->regex, err);
    if (r == -EINVAL) {
        leat_error_prefix(err, "pattern");
        leat_error_locate(err, config->file, value ? value->line : config->line,
                          value ? value->column : config->column);
    }
    return r;
}

static void unload(struct leat_config *config) {
    struct regex_replace *self = (struct regex_replace *)config;

    self->regex = leat_regex_free(self->regex);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    return leat_text_edit_plan(config, &((struct regex_replace *)config)->edit, planner, err);
}

/* The matches of one row; 0 or -ENOMEM. */
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

static int find_places(const struct regex_replace *self, struct leat_map *map,
                       struct leat_text_places *places) {
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
    struct leat_text_places places;
    int r;

    if (leat_text_places_init(&places, map) < 0)
        return leat_error_oom(err);
    if (find_places(self, map, &places) < 0)
        r = leat_error_oom(err);
    else
        r = leat_text_edit_replace(&self->edit, map, &places, self->new, strlen(self->new), err);
    leat_text_places_deinit(&places);
    return r;
}

const struct leat_stage_ops leat_stage_regex_replace = {
    .name = "regex_replace",
    .summary = "replaces what a regular expression matches",
    .example = "{ input: text, pattern: '\\s+', new: \" \" }",
    .kind = LEAT_STAGE_MAP,
    .args = args,
    .config_size = sizeof(struct regex_replace),
    .load = load,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
