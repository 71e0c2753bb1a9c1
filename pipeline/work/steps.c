#include "pipeline/work/steps.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/cache/index.h"
#include "pipeline/cache/key.h"
#include "pipeline/cache/store.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

#define FILES_MAX 4096 /* whose states are read */

static void take_rows(struct leat_plan *plan, const char *folder,
                      const struct leat_cache_identity *identity) {
    struct leat_cache_file *file = NULL;
    char name[LEAT_CACHE_NAME_MAX];

    leat_cache_store_name(identity, name);
    if (leat_cache_store_peek(folder, name, &file, LEAT_ERROR_IGNORED) < 0)
        return;
    if (file->is_complete && memcmp(&file->identity, identity, sizeof(*identity)) == 0) {
        plan->has_n_rows = true;
        plan->n_rows = file->n_rows;
    }
    leat_cache_file_unref(file);
}

void leat_steps_find_rows(struct leat_plan *plan, const struct leat_opener *opener,
                          const char *index_folder) {
    const char *folder =
        plan->cache_path ? plan->cache_path : leat_index_folder(plan, index_folder);
    struct leat_cache_identity identity;
    struct leat_data *data = NULL;
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);

    if (rule.is_blind && plan->set) {
        plan->has_n_rows = true;
        plan->n_rows = plan->set->n_rows;
        return;
    }
    if (!rule.is_blind || !folder || plan->source->files.n_paths > FILES_MAX)
        return;
    if (leat_cache_key(plan, opener, &data, &identity, LEAT_ERROR_IGNORED) == 0) {
        if (!plan->cache_path)
            leat_index_key(plan, leat_index_has_columns(plan), &identity);
        take_rows(plan, folder, &identity);
    }
    leat_data_unref(data);
}

static bool is_soon_counted(const struct leat_plan *plan) {
    return plan->data && plan->data->n_bytes <= LEAT_STEPS_COUNT_BYTES &&
           plan->data->n_files <= FILES_MAX && !plan->is_compressed && !plan->mixing;
}

/* A failure is ignored here; the run that reads the data reports it. */
void leat_steps_count_rows(struct leat_plan *plan, const struct leat_opener *opener) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_span_table table;
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);
    uint64_t n_bytes;

    if (plan->has_n_rows || !rule.are_counted || !is_soon_counted(plan))
        return;
    leat_span_table_init(&table, 0);
    if (leat_scan_count_files(plan, opener, 0, plan->source->files.n_paths, &table, &n_bytes,
                              &err) == 0) {
        plan->has_n_rows = true;
        plan->n_rows = table.n_records;
    }
    leat_span_table_deinit(&table);
}

/* Rows behind the order; UINT64_MAX: without end. */
static uint64_t rows_behind(const struct leat_plan *plan) {
    uint64_t n = plan->n_rows;

    for (size_t i = 0; i < plan->n_order; i++)
        if (plan->order[i]->ops->rows_behind)
            n = plan->order[i]->ops->rows_behind(plan->order[i]->config, n);
    return n;
}

static bool has_end(const struct leat_plan *plan) {
    struct leat_plan other = *plan;

    other.n_rows = 1;
    return rows_behind(&other) < UINT64_MAX;
}

/* The stage that makes records by chance. NULL: the same rows leave all stages in each epoch. */
static const char *find_chance(const struct leat_plan *plan,
                               const struct leat_fast_forward_rule *rule) {
    const struct leat_plan_stage *stage = leat_plan_find_varying(plan);

    return stage && !rule->are_counted ? stage->ops->name : NULL;
}

/* The stage that may give epochs different rows, and so different numbers of batches; NULL: none. A
 * stage behind a choice by order sees other rows in each epoch. */
static const char *find_varying(const struct leat_plan *plan,
                                const struct leat_fast_forward_rule *rule) {
    bool is_reordered = plan->mixing && plan->mixing->is_random, is_picked = false;

    if (is_reordered && plan->mixing->exhausted != LEAT_EXHAUSTED_DROP)
        return "mix";
    if (plan->blocks.n_lanes > 1) /* Which lane has the last block of a file is drawn. */
        return "lanes";
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        const struct leat_stage_ops *ops = stage->ops;

        if ((is_picked && (stage->filter_column >= 0 || !ops->is_blind)) ||
            (is_reordered && ops->counts_by_order && ops->counts_by_order(stage->config)))
            return ops->name;
        is_picked |= is_reordered && ops->picks_by_order;
        is_reordered |= ops->reorders && ops->reorders(stage->config);
    }
    if (is_reordered && plan->max_tokens > 0)
        return "max_tokens";
    if (is_picked && plan->bucketing)
        return "bucket";
    return find_chance(plan, rule);
}

/* Gives all ranks the same number. */
static void even_out(const struct leat_plan *plan, uint64_t world_size, struct leat_steps *steps) {
    uint64_t rest = world_size > 1 ? steps->n % world_size : 0;

    if (rest == 0)
        return;
    if (plan->options.uneven == LEAT_UNEVEN_ERROR) {
        steps->is_known = false;
        (void)snprintf(steps->reason, sizeof(steps->reason),
                       "%llu steps do not divide evenly among %llu ranks, so the epoch will fail",
                       (unsigned long long)steps->n, (unsigned long long)world_size);
        return;
    }
    steps->n -= rest;
    if (plan->options.uneven == LEAT_UNEVEN_PAD)
        steps->n += world_size;
}

void leat_steps_of(const struct leat_plan *plan, uint64_t world_size,
                   struct leat_steps *ret_steps) {
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);
    const char *varying;
    uint64_t n;

    *ret_steps = (struct leat_steps){.n = 0};
    varying = find_varying(plan, &rule);
    ret_steps->are_constant = !varying;
    if (varying) {
        (void)snprintf(ret_steps->reason, sizeof(ret_steps->reason),
                       "the number can differ from epoch to epoch, because of `%s`", varying);
        return;
    }
    if (!rule.is_blind) {
        (void)snprintf(ret_steps->reason, sizeof(ret_steps->reason),
                       "the number depends on the records, because of `%s`; leat knows it after "
                       "the first epoch",
                       rule.looks);
        return;
    }
    if (!has_end(plan)) {
        (void)snprintf(ret_steps->reason, sizeof(ret_steps->reason),
                       "the epoch never ends, because of `repeat`");
        return;
    }
    if (plan->is_one_pass) {
        (void)snprintf(ret_steps->reason, sizeof(ret_steps->reason),
                       "leat cannot count the records of a FIFO beforehand");
        return;
    }
    if (!plan->has_n_rows) {
        (void)snprintf(ret_steps->reason, sizeof(ret_steps->reason),
                       "leat has not counted the records yet; it knows the number after the first "
                       "epoch, and a `cache`%s stores it",
                       leat_index_folder(plan, "") ? " or an `index`" : "");
        return;
    }
    n = rows_behind(plan);
    ret_steps->is_known = true;
    ret_steps->n = n / plan->batch_size + (!plan->drop_last && n % plan->batch_size > 0);
    even_out(plan, world_size, ret_steps);
}

void leat_steps_describe_start(const struct leat_plan *plan, bool has_index, char *text,
                               size_t size) {
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);
    const char *because;

    because = rule.looks ? rule.looks : rule.drops;
    if (plan->is_one_pass)
        (void)snprintf(text, size, "impossible, since a FIFO can be read only once");
    else if (plan->cache_path)
        (void)snprintf(text, size, "%s",
                       rule.is_blind
                           ? "fast: the cache knows the number of rows"
                           : "fast: the cache has the earlier rows, which leat reads again");
    else if (rule.are_counted)
        (void)snprintf(text, size, "fast: leat counts the earlier records without processing them");
    else if (leat_index_folder(plan, has_index ? "" : NULL))
        (void)snprintf(text, size,
                       "fast if an earlier epoch made an index, which `%s` needs; otherwise, leat "
                       "makes all earlier batches again",
                       because);
    else
        (void)snprintf(text, size, "slow: leat makes all earlier batches again, because of `%s`",
                       because);
}
