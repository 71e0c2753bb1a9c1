/* arrow.c: Apache Arrow's IPC formats: the stream that `datasets` keeps on disk, and the file
 * (Feather version 2). What is common to columnar files is in table.h.
 */
#include "pipeline/sources/arrow/reader.h"
#include "pipeline/sources/arrow/table.h"

static const struct leat_arg args[] = {LEAT_TABLE_ARGS(LEAT_SOURCE_ARGS("replace"), ""),
                                       LEAT_ARGS_END};

static int open_records(const struct leat_config *config, const struct leat_input_limits *limits,
                        struct leat_input *take_file, struct leat_input **ret_input,
                        struct leat_error *err) {
    const struct leat_table *self = (const struct leat_table *)config;

    return leat_arrow_open(take_file, limits, self->selections, self->declared.n_items, ret_input,
                           err);
}

const struct leat_stage_ops leat_source_arrow = {
    LEAT_STAGE_BASE("arrow", leat_table, SOURCE),
    .summary = "reads Apache Arrow files: IPC streams, as `datasets` writes them, and IPC files",
    .example = "{ paths: [data-*.arrow], fields: { text: text, label: int64 } }",
    .suffixes = (const struct leat_source_suffix[]){{.text = ".arrow"},
                                                    {.text = ".feather"},
                                                    {.text = NULL}},
    .open_records = open_records,
    LEAT_TABLE_OPS,
};
