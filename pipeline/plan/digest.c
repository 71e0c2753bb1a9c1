/* plan/digest.c: the digests of a bound spec, both of its text (spec_text.h).
 *
 * The digest of what is done to each record covers less than that of the whole spec: stages that
 * only order rows or make batches do not count, nor do the seed and what bad records do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"
#include "pipeline/plan/spec_text.h"

/* The options that decide what is a bad record. */
static void add_options(struct leat_text *text, const struct leat_stream_options *options) {
    leat_text_add(text, "=limits\t%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                  options->max_record_bytes, options->max_fields, options->max_tokens,
                  options->max_window_bytes, options->max_expansion);
}

static void add_kept_columns(struct leat_text *text, const struct leat_plan *plan) {
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        const struct leat_field *field = &plan->fields[i];

        if (!plan->is_kept[i])
            continue;
        leat_text_add(text, "=column %" PRIu32 "\t%s%s ", i, leat_dtype_name(field->dtype),
                      field->is_list ? "[]" : "");
        leat_text_add_json(text, field->name, strlen(field->name));
        leat_text_add(text, "\n");
    }
}

static bool runs_in_map(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            return true;
    return false;
}

/* All MAP stages count, also those that only name fields: they decide which field a later one
 * reads. Of the others, those count that do something to records. */
static int digest_records(struct leat_plan *plan) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "=records\t2 of " LEAT_VERSION "\n");
    for (size_t i = 0; i < plan->n_sources; i++) {
        leat_text_add(&text, "=first file\t%zu\n", plan->sources[i].first_file);
        leat_spec_text_add_stage(&text, &plan->sources[i].config->base, "source");
    }
    add_options(&text, &plan->options);
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (stage->ops->kind != LEAT_STAGE_MAP && !runs_in_map(plan, stage))
            continue;
        leat_text_add(&text, "=stage\t%zu %d\n", stage->source, stage->filter_column >= 0);
        leat_spec_text_add_stage(&text, stage->config, "stage");
    }
    add_kept_columns(&text, plan);
    if (!text.failed)
        leat_spec_text_digest(text.data, plan->record_digest);
    free(text.data);
    return text.failed ? -ENOMEM : 0;
}

int leat_plan_digest(struct leat_plan *plan, struct leat_error *err) {
    plan->spec_text = leat_spec_text(plan);
    if (!plan->spec_text || digest_records(plan) < 0)
        return leat_error_oom(err);
    leat_spec_text_digest(plan->spec_text, plan->spec_digest);
    return 0;
}
