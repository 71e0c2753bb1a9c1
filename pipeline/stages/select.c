/* select.c: keeps the named fields, in that order; all others need not even be made. */
#include "pipeline/stage/stage.h"

struct select {
    struct leat_config base;
    struct leat_texts fields;
};

static const struct leat_arg args[] = {
    LEAT_ARG(select, fields, FIELDS, "the fields to keep; batches have them in this order",
             .is_positional = true, .is_required = true, .min = 1, .max = LEAT_SLOT_MAX_TENSORS),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    const struct select *self = (const struct select *)config;

    return leat_planner_select(planner, config, "fields", &self->fields, err);
}

const struct leat_stage_ops leat_stage_select = {
    LEAT_STAGE_BASE("select", select, MAP),
    .summary = "keeps only the fields that you name, in this order",
    .example = "{ fields: [input_ids, attention_mask, labels] }",
    .plan = plan,
};
