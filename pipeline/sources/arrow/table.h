/* table.h: what sources of columnar files have in common: arguments, fields, header, records.
 *
 * Such a file stores column after column. A record reader (groups.h) turns rows into records while
 * the file is scanned, so blocks, places and record numbers work as they do for other sources. A
 * record's line is its row number. The frame in front of the first record lists the columns.
 */
#pragma once

#include "pipeline/sources/arrow/columns.h"
#include "pipeline/sources/shared_jsonl_fields.h"
#include "pipeline/stage/planner.h"

/* The config of such a source. */
struct leat_table {
    struct leat_source_config source;
    struct leat_text_map declared;
    struct leat_text_map missing;

    struct leat_jsonl_fields fields;         /* by slot; set by probe */
    struct leat_arrow_selection *selections; /* [declared.n_items] */
    char **paths;                            /* of the selections */
    struct leat_arrow_layout layout;         /* of the first file */
};

#define LEAT_TABLE_ARGS(source_args, types)                                                        \
    source_args,                                                                                   \
        LEAT_ARG_NAMED(                                                                            \
            "fields", leat_table, declared, MAP,                                                   \
            "the columns to read with their types, such as `label: int64`, `text: text` "          \
            "or `vec: float32[]`; the type `json` reads a struct or list as JSON, such "           \
            "as `messages: json`; to read a column under another name, write `lang: "              \
            "\"meta.lang text\"`: the field `lang` is then the column `meta.lang` as "             \
            "text; in the name of a column, write `\\.` for a dot; default: all columns; "         \
            "a struct then becomes columns such as `outer.inner`, and a list that does "           \
            "not hold numbers becomes JSON" types,                                                 \
            .min = 1, .max = LEAT_FIELDS_MAX),                                                     \
        LEAT_ARG(leat_table, missing, MAP,                                                         \
                 "the values that replace nulls; for example, `stars: 0` replaces the nulls "      \
                 "of the field `stars` with 0; without such a value, a null text or list is "      \
                 "empty, and a null number or boolean makes the record bad",                       \
                 .min = 1, .max = LEAT_FIELDS_MAX)

/* These are the functions of struct leat_stage_ops. */
int leat_table_check(struct leat_config *config, struct leat_error *err);
void leat_table_unload(struct leat_config *config);
void leat_table_cutter(const struct leat_config *config, struct leat_cutter *ret_cutter);
int leat_table_probe(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                     const char *file, struct leat_planner *planner, struct leat_error *err);
int leat_table_shorten_head(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                            bool is_whole, struct leat_error *err);
int leat_table_begin_file(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                          bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                          struct leat_error *err);
void leat_table_records(const struct leat_config *config, const struct leat_block *block,
                        uint8_t *out);
int leat_table_parse(const struct leat_config *config, struct leat_map *map,
                     struct leat_error *err);
void leat_table_show(const struct leat_config *config, const uint8_t *record, size_t n_bytes,
                     struct leat_text *text);

/* All of them, and how a source loads. */
#define LEAT_TABLE_OPS                                                                             \
    .check = leat_table_check, .load = leat_source_load, .unload = leat_table_unload,              \
    .probe = leat_table_probe, .shorten_head = leat_table_shorten_head,                            \
    .cutter = leat_table_cutter, .begin_file = leat_table_begin_file,                              \
    .records = leat_table_records, .parse = leat_table_parse, .show = leat_table_show
