/* parquet.c: Apache Parquet files. What is common to columnar files is in arrow/table.h. */
#include "pipeline/sources/arrow/table.h"
#include "pipeline/sources/parquet/reader.h"

static const struct leat_arg args[] = {
    LEAT_TABLE_ARGS("; dates, times and timestamps are text as Arrow prints it (`2024-01-31 "
                    "12:34:56.789000`, with Z behind UTC), and decimals int64 if they are whole, "
                    "else float64, unless they are declared otherwise: `day: int32` counts days, "
                    "`when: int64` microseconds from 1970 on, `price: text` has all digits; bytes "
                    "are read where they are declared `text`"),
    LEAT_ARGS_END,
};

static int open_records(const struct leat_config *config, const struct leat_input_limits *limits,
                        struct leat_input *take_file, struct leat_input **ret_input,
                        struct leat_error *err) {
    const struct leat_table *self = (const struct leat_table *)config;

    return leat_parquet_open(take_file, limits, self->selections, self->declared.n_items, ret_input,
                             err);
}

const struct leat_stage_ops leat_source_parquet = {
    LEAT_STAGE_BASE("parquet", leat_table, SOURCE),
    .summary = "rows of Apache Parquet files, of which only the columns that are wanted are read",
    .example = "{ paths: [train-*.parquet], fields: { text: text, label: int64 } }",
    .suffixes =
        (const struct leat_source_suffix[]){{.text = ".parquet"}, {.text = ".pq"}, {.text = NULL}},
    .open_records = open_records,
    LEAT_TABLE_OPS,
};
