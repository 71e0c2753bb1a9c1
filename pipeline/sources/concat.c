/* concat.c: several sources, one after the other. plan/sources.c binds them; the scanner passes
 * from source to source as it does from file to file. */
#include "pipeline/stage/stage.h"

static const struct leat_arg args[] = {
    LEAT_ARG(leat_composite, sources, SOURCES,
             "the sources, which leat reads in the order of this list, such as `[{csv: {paths: "
             "a.csv}}, {jsonl: {paths: b.jsonl}}]`; a source can have its own stages, which you "
             "write beside the source as `stages: [..]`; the stream has only the fields that every "
             "source has after its own stages, with the same type in all sources",
             .is_required = true, .min = 1, .max = LEAT_SOURCES_MAX),
    LEAT_ARGS_END,
};

const struct leat_stage_ops leat_source_concat = {
    LEAT_STAGE_BASE("concat", leat_composite, SOURCE),
    .summary = "reads several sources, one after the other",
    .example = "{ sources: [{ jsonl: { paths: new.jsonl } }, { csv: { paths: old.csv } }] }",
    .unload = leat_source_unload,
    .is_composite = true,
};
