/* describe.c: see describe.h. What is printed: describe_print.c. */
#include "pipeline/inspect/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/row_reader.h"
#include "pipeline/run/bad_records.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/array.h"

struct describe {
    struct leat_description *description;
    const struct leat_describe_options *options;
};

static int remove_key(struct leat_value *map, const char *name) {
    struct leat_value rest = {.kind = LEAT_VALUE_NULL, .line = map->line, .column = map->column};
    int r = 0;

    for (size_t i = 0; r == 0 && i < map->n_items; i++) {
        struct leat_value *item;

        if (strcmp(map->keys[i].name, name) == 0)
            continue;
        r = leat_value_insert(&rest, map->keys[i].name, &item);
        if (r == 0)
            r = leat_value_copy(item, &map->items[i]);
    }
    leat_value_deinit(map);
    *map = rest;
    return r;
}

/* Removes `stats` from `normalize`, as they are what is being computed. */
static int forget_stats(struct leat_spec *spec) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < spec->n_stages; i++)
        if (spec->stages[i].kind && strcmp(spec->stages[i].kind, "normalize") == 0 &&
            leat_value_get(&spec->stages[i].args, "stats"))
            r = remove_key(&spec->stages[i].args, "stats");
    return r;
}

static struct leat_described_column *find(const struct leat_description *description,
                                          const char *name) {
    for (size_t i = 0; i < description->n_columns; i++)
        if (strcmp(description->columns[i].name, name) == 0)
            return &description->columns[i];
    return NULL;
}

static int add_columns(struct leat_description *description, size_t n,
                       const char (*names)[LEAT_NAME_MAX + 1], const uint32_t *columns) {
    const struct leat_field *fields = description->plan->fields;

    for (size_t i = 0; i < n; i++) {
        struct leat_described_column *column = find(description, names[i]);

        if (fields[columns[i]].made != LEAT_MADE_OF_RECORDS)
            continue;
        if (!column) {
            if (!leat_array_reserve(&description->columns, description->n_columns + 1,
                                    &description->capacity))
                return -ENOMEM;
            column = &description->columns[description->n_columns++];
            *column = (struct leat_described_column){.column = columns[i]};
            memcpy(column->name, names[i], sizeof(column->name));
        }
        column->column = columns[i];
        column->field = &fields[columns[i]];
        column->is_tokens = fields[columns[i]].tokenizer != NULL;
    }
    return 0;
}

static int list_columns(struct leat_description *description, int after_stage,
                        struct leat_error *err) {
    const struct leat_plan *plan = description->plan;
    int r;

    if (after_stage >= (int)plan->n_stages)
        return leat_error_set(err, -EINVAL,
                              "stage %d does not exist: the stream has %zu stages, numbered from 0",
                              after_stage, plan->n_stages);
    r = add_columns(description, plan->n_source_fields,
                    (const char(*)[LEAT_NAME_MAX + 1]) plan->source_names, plan->source_columns);
    for (int i = 0; r == 0 && i <= after_stage; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        r = add_columns(description, stage->n_fields_after,
                        (const char(*)[LEAT_NAME_MAX + 1]) stage->names_after,
                        stage->columns_after);
    }
    return r < 0 ? leat_error_oom(err) : 0;
}

static int look(void *user, const struct leat_plan *plan, const struct leat_block *block,
                struct leat_error *err) {
    const struct describe *describe = user;
    struct leat_description *description = describe->description;
    const struct leat_bad_record *bad = leat_block_first_bad(block);
    uint64_t n_wanted = describe->options->n_records, n_rows = block->n_rows;

    if (describe->options->is_interrupted && describe->options->is_interrupted())
        return leat_error_set(err, -EINTR, "interrupted");
    if (describe->options->on_block)
        describe->options->on_block(describe->options->user, plan, block);
    if (bad && !description->first_bad.code)
        leat_bad_record_error(plan, block->file, bad, &description->first_bad);
    description->n_bad += block->n_bad;
    if (n_wanted && n_rows > n_wanted - description->n_records)
        n_rows = n_wanted - description->n_records;
    for (size_t i = 0; i < description->n_columns; i++) {
        struct leat_described_column *column = &description->columns[i];
        const struct leat_column *values = n_rows ? &block->columns[column->column] : NULL;

        for (uint32_t row = 0; row < n_rows && values->values; row++)
            leat_column_stats_add(&column->stats, column->field, values, row);
    }
    description->n_records += n_rows;
    return n_wanted > 0 && description->n_records == n_wanted;
}

int leat_describe(const struct leat_spec *spec, const struct leat_opener *opener,
                  const struct leat_describe_options *options,
                  struct leat_description *ret_description, struct leat_error *err) {
    struct describe describe = {.description = ret_description, .options = options};
    struct leat_spec *copy = NULL;
    int r;

    *ret_description = (struct leat_description){.first_bad = LEAT_ERROR_INIT};
    if (leat_spec_copy(spec, &copy) < 0)
        return leat_error_oom(err);
    r = forget_stats(copy) < 0 ? leat_error_oom(err)
                               : leat_pipeline_open_rows(copy, opener, &ret_description->plan, err);
    leat_spec_free(copy);
    if (r == 0) {
        ret_description->plan->options.on_error = LEAT_ON_ERROR_SKIP;
        r = list_columns(ret_description, options->after_stage, err);
    }
    if (r == 0)
        r = leat_read_rows(ret_description->plan, opener, options->after_stage, look, &describe,
                           err);
    if (r < 0)
        leat_description_deinit(ret_description);
    return r;
}

void leat_description_deinit(struct leat_description *description) {
    free(description->columns);
    leat_plan_unref(description->plan);
    *description = (struct leat_description){.n_columns = 0};
}
