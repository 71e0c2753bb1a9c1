/* rename.c: gives fields other names. Only the schema knows; no data moves. */
#include "pipeline/stage/stage.h"

struct rename {
    struct leat_config base;
    struct leat_text_map fields;
};

static const struct leat_arg args[] = {
    LEAT_ARG(rename, fields, MAP,
             "a map from old names to new names, such as {headline: title}; leat renames the "
             "fields in the order of this map",
             .is_positional = true, .is_required = true, .min = 1, .max = LEAT_FIELDS_MAX),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    const struct rename *self = (const struct rename *)config;
    int r = 0;

    for (size_t i = 0; r == 0 && i < self->fields.n_items; i++)
        r = leat_planner_rename(planner, config, "fields", self->fields.keys[i],
                                self->fields.values[i], err);
    return r;
}

const struct leat_stage_ops leat_stage_rename = {
    LEAT_STAGE_BASE("rename", rename, MAP),
    .summary = "renames fields",
    .example = "{ fields: { Survived: labels } }",
    .plan = plan,
};
