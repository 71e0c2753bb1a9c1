/* describe.h: describes the columns of a stream (`leatctl describe`): types, empty values, lengths,
 * numbers, and numbers of tokens. On the calling thread; may block. Memory does not grow with the
 * data. */
#pragma once

#include "pipeline/inspect/column_stats.h"
#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

struct leat_described_column {
    char name[LEAT_NAME_MAX + 1];
    uint32_t column;
    const struct leat_field *field;
    bool is_tokens; /* made by `tokenize` */
    struct leat_column_stats stats;
};

struct leat_description {
    struct leat_plan *plan;
    struct leat_described_column *columns; /* [n_columns] */
    size_t n_columns, capacity;
    uint64_t n_records, n_bad;
    struct leat_error first_bad; /* code 0: none */
};

struct leat_describe_options {
    int after_stage;              /* index in the spec of the last stage that runs; -1: none */
    uint64_t n_records;           /* 0: all */
    bool (*is_interrupted)(void); /* called for each block; may be NULL */
    /* Called for each block that was read; may be NULL. */
    void (*on_block)(void *user, const struct leat_plan *plan, const struct leat_block *block);
    void *user;
};

/* Describes every name up to that stage, by its last column. Bad records are counted and skipped;
 * records that filters drop do not count. `normalize` changes nothing, as its statistics may not
 * exist yet. 0 or -errno. */
int leat_describe(const struct leat_spec *spec, const struct leat_opener *opener,
                  const struct leat_describe_options *options,
                  struct leat_description *ret_description, struct leat_error *err);
void leat_description_deinit(struct leat_description *description);

/* Prints a table, and a histogram for each column of tokens; or JSON, which `normalize: {stats:
 * FILE}` reads (normalize/normalize.h). */
void leat_description_print(const struct leat_description *description, bool as_json,
                            struct leat_text *text);
