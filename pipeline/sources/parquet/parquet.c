/* parquet.c: Apache Parquet files. What is common to columnar files is in arrow/table.h. */
#include "pipeline/sources/arrow/table.h"
#include "pipeline/sources/parquet/reader.h"

static const struct leat_arg args[] = {
    LEAT_TABLE_ARGS(
        LEAT_SOURCE_ARGS_OF_FILES("replace"),
        "; dates, times and timestamps become text, as Arrow prints them (`2024-01-31 "
        "12:34:56.789000`, with Z for UTC); decimals without a fraction become int64, other "
        "decimals float64; you can declare other types; `day: int32` reads a date as a number of "
        "days since 1970; `when: int64` reads a timestamp as microseconds since 1970; `price: "
        "text` keeps all digits of a decimal; declare bytes as `text`"),
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
    .summary = "reads Apache Parquet files, and only the columns that you declare",
    .example = "{ paths: [train-*.parquet], fields: { text: text, label: int64 } }",
    .suffixes =
        (const struct leat_source_suffix[]){{.text = ".parquet"}, {.text = ".pq"}, {.text = NULL}},
    .open_records = open_records,
    LEAT_TABLE_OPS,
};
