/* concat.c: several sources one after the other. Which they are, and what they have in common, is
 * plan/sources.c; the scanner goes from one to the next as it goes from file to file.
 */
#include "pipeline/stage/stage.h"

static const struct leat_arg args[] = {
    {.name = "sources",
     .type = LEAT_ARG_SOURCES,
     .offset = offsetof(struct leat_composite, sources),
     .is_required = true,
     .min = 1,
     .max = LEAT_SOURCES_MAX,
     .help = "such as `[{csv: {paths: a.csv}}, {jsonl: {paths: b.jsonl}}]`, read in this order; "
             "`stages: [..]` beside a source are stages for its records alone; the stream has the "
             "fields that all sources then have with the same type"},
    LEAT_ARGS_END,
};

const struct leat_stage_ops leat_source_concat = {
    .name = "concat",
    .summary = "several sources, one after the other",
    .example = "{ sources: [{ jsonl: { paths: new.jsonl } }, { csv: { paths: old.csv } }] }",
    .kind = LEAT_STAGE_SOURCE,
    .args = args,
    .config_size = sizeof(struct leat_composite),
    .unload = leat_composite_unload,
    .is_composite = true,
};
