/* explain.c: see explain.h. In words and as JSON: the schema behind each stage, how stages are
 * executed, tensors, memory, and time. */
#include "pipeline/inspect/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"
#include "pipeline/order/batcher.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/json_writer.h"
#include "proto/base/text.h"

static const char *kind_name(enum leat_stage_kind kind) {
    static const char *const names[] = {[LEAT_STAGE_SOURCE] = "source",
                                        [LEAT_STAGE_MAP] = "map",
                                        [LEAT_STAGE_ORDER] = "order",
                                        [LEAT_STAGE_COLLATE] = "collate"};

    return names[kind];
}

static void add_schema(struct leat_text *text, const struct leat_plan *plan,
                       char (*names)[LEAT_NAME_MAX + 1], const uint32_t *columns, size_t n) {
    for (size_t i = 0; i < n; i++) {
        leat_text_add(text, "%s", i ? ", " : "");
        leat_graph_add_name(text, names[i]);
        leat_text_add(text, " ");
        leat_graph_add_type(text, plan, columns[i]);
        if (!plan->is_needed[columns[i]])
            leat_text_add(text, " (not needed)");
    }
}

static void add_json_schema(struct leat_text *text, const struct leat_plan *plan,
                            char (*names)[LEAT_NAME_MAX + 1], const uint32_t *columns, size_t n) {
    leat_json_open(text, "fields", '[');
    for (size_t i = 0; i < n; i++) {
        const struct leat_field *field = &plan->fields[columns[i]];

        leat_json_open(text, NULL, '{');
        leat_json_add_text(text, "name", names[i]);
        leat_json_add_text(text, "dtype", leat_dtype_name(field->dtype));
        leat_json_add_bool(text, "is_list", field->is_list);
        leat_json_add_uint(text, "max_length", field->max_length);
        leat_json_add_bool(text, "is_made", plan->is_needed[columns[i]]);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
}

static const char *remark(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    if (stage->filter_column >= 0 ||
        (stage->ops->kind == LEAT_STAGE_ORDER && leat_plan_runs_in_map(plan, stage)))
        return "its values are computed with the per-record stages and applied here";
    if (stage->ops->kind == LEAT_STAGE_MAP && stage->ops->map &&
        !leat_plan_runs_in_map(plan, stage))
        return "not executed: no later stage needs its output";
    if (stage->ops->kind == LEAT_STAGE_MAP && !stage->ops->map)
        return "only selects or renames fields";
    return "";
}

/* Memory that the run may take, by part. */
struct memory {
    struct leat_memory_plan budget; /* asked of a `memory_limit` */
    uint64_t blocks, ring, loaded, workspaces, order;
    uint64_t n_waiting; /* rows in ORDER stages and open batches, at most */
    uint32_t n_blocks;
};

/* Stages load once, and have a workspace for each worker. */
static void add_stages(struct memory *memory, const struct leat_plan *plan, uint32_t n_workers) {
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];
        size_t loaded = 0, workspace = 0;

        if (stage->ops->memory)
            stage->ops->memory(stage->config, &loaded, &workspace);
        memory->loaded += loaded;
        memory->workspaces +=
            leat_plan_runs_in_map(plan, stage) ? (uint64_t)n_workers * workspace : 0;
    }
}

static void add_order(struct memory *memory, const struct leat_plan *plan) {
    memory->n_waiting = leat_batcher_holds(plan);
    memory->order = memory->n_waiting * sizeof(struct leat_ref);
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows, n_bytes;

        leat_plan_holding(plan, stage, &n_rows, &n_bytes);
        memory->n_waiting += n_rows;
        memory->order += n_bytes;
    }
}

/* Batches that a trainer may hold by the daemon's defaults. */
static uint32_t window_of(const struct leat_plan *plan) {
    return plan->window > 4 ? plan->window : 4;
}

static struct memory plan_memory(const struct leat_plan *plan, uint32_t n_workers) {
    uint32_t n_lanes = plan->mixing ? (uint32_t)plan->mixing->n_lanes : 0;
    struct memory memory = {.n_blocks = LEAT_BLOCKS_IN_QUEUE(n_workers) + 1 + 2 * n_lanes};

    /* source bytes, and about three times as many for the columns */
    memory.blocks = (uint64_t)memory.n_blocks * 4 * (uint64_t)plan->options.block_bytes;
    memory.ring = (uint64_t)plan->n_slots * plan->slot_bytes;
    add_stages(&memory, plan, n_workers);
    add_order(&memory, plan);
    leat_memory_plan(plan, window_of(plan), &memory.budget);
    return memory;
}

static uint64_t least_ring(const struct leat_memory_plan *budget) {
    return budget->n_min_slots * budget->slot_bytes;
}

static void add_least(struct leat_text *text, const struct leat_memory_plan *budget) {
    static const double mib = 1048576;

    leat_text_add(text,
                  "  minimum  %.1f MiB of `memory_limit`, besides the daemon's own memory: ring "
                  "%.1f, blocks %.1f,\n           order %.1f, loaded files %.1f, workspace %.1f\n",
                  (double)(leat_memory_plan_least(budget) + least_ring(budget)) / mib,
                  (double)least_ring(budget) / mib,
                  (double)(budget->n_min_blocks * budget->block_bytes + budget->scratch_bytes +
                           budget->decoder_bytes) /
                      mib,
                  (double)budget->order_bytes / mib, (double)budget->loaded_bytes / mib,
                  (double)budget->workspace_bytes / mib);
}

static void add_shape(struct leat_text *text, const struct leat_plan_tensor *tensor) {
    leat_text_add(text, "[");
    for (uint32_t d = 0; d < tensor->ndim; d++) {
        leat_text_add(text, d ? ", " : "");
        if (tensor->shape[d] < 0)
            leat_text_add(text, "varies");
        else
            leat_text_add(text, "%lld", (long long)tensor->shape[d]);
    }
    leat_text_add(text, "]");
}

/* The columns that a cache keeps, and its path. */
static void add_cache(struct leat_text *text, const struct leat_plan *plan) {
    bool is_first = true;

    if (!plan->cache_path)
        return;
    leat_text_add(text, "\nkept in the cache:     ");
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        if (!plan->is_kept[i])
            continue;
        leat_text_add(text, "%s", is_first ? "" : ", ");
        leat_graph_add_name(text, plan->fields[i].name);
        leat_text_add(text, " ");
        leat_graph_add_type(text, plan, i);
        is_first = false;
    }
    leat_text_add(text, " in ");
    leat_graph_add_name(text, plan->cache_path);
}

static void add_json_cache(struct leat_text *text, const struct leat_plan *plan) {
    char hex[LEAT_DIGEST_HEX_SIZE];

    if (!plan->cache_path) {
        leat_json_add_null(text, "cache");
        return;
    }
    leat_digest_hex(plan->record_digest, hex);
    leat_json_open(text, "cache", '{');
    leat_json_add_text(text, "path", plan->cache_path);
    leat_json_add_text(text, "record_digest", hex);
    leat_json_close(text, '}');
}

/* Says how a run starts in mid-epoch, and how many steps an epoch has. */
static void add_starts(struct leat_text *text, const struct leat_plan *plan, bool has_index) {
    struct leat_steps steps;
    char start[256];

    leat_steps_describe_start(plan, has_index, start, sizeof(start));
    leat_steps_of(plan, 1, &steps);
    if (plan->left_out[0])
        leat_text_add(text, "\nnot read:              %s", plan->left_out);
    leat_text_add(text, "\nstart in mid-epoch:    %s\nsteps of an epoch:     ", start);
    if (steps.is_known)
        leat_text_add(text, "%llu step%s from %llu row%s", (unsigned long long)steps.n,
                      steps.n == 1 ? "" : "s", (unsigned long long)plan->n_rows,
                      plan->n_rows == 1 ? "" : "s");
    else
        leat_text_add(text, "unknown: %s", steps.reason);
}

static void add_json_starts(struct leat_text *text, const struct leat_plan *plan, bool has_index) {
    struct leat_steps steps;
    char start[256];

    leat_steps_describe_start(plan, has_index, start, sizeof(start));
    leat_steps_of(plan, 1, &steps);
    leat_json_add_text(text, "left_out", plan->left_out);
    leat_json_add_text(text, "start", start);
    if (steps.is_known)
        leat_json_add_uint(text, "n_steps", steps.n);
    else
        leat_json_add_null(text, "n_steps");
    leat_json_add_text(text, "steps_reason", steps.is_known ? NULL : steps.reason);
}

static void add_stage(struct leat_text *text, const struct leat_plan *plan,
                      const struct leat_plan_stage *stage) {
    leat_text_add(text, "  %-8s %-10s %s\n             ",
                  stage->source > 0 ? "    +" : kind_name(stage->ops->kind), stage->ops->name,
                  remark(plan, stage));
    add_schema(text, plan, stage->names_after, stage->columns_after, stage->n_fields_after);
    leat_text_add(text, "\n");
}

/* The parts of a composite source, each with its own stages. */
static void add_sources(struct leat_text *text, const struct leat_plan *plan) {
    for (size_t i = 0; plan->source_ops->is_composite && i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];
        size_t n = source->config->files.n_paths;

        leat_text_add(text, "    of     %-10s %zu file%s", source->ops->name, n, n == 1 ? "" : "s");
        if (plan->mixing)
            leat_text_add(text, ", %.4g of all records%s", plan->mixing->shares[source->lane],
                          i > 0 && plan->sources[i - 1].lane == source->lane
                              ? ", taking turns with the source above"
                              : "");
        leat_text_add(text, "\n");
        for (size_t k = plan->n_stages; k < plan->n_all_stages; k++)
            if (plan->stages[k].source == i + 1)
                add_stage(text, plan, &plan->stages[k]);
    }
}

/* The stages from first up to end that are of that source (from 1), or of the stream (0). */
static void add_json_stages(struct leat_text *text, const struct leat_plan *plan, size_t first,
                            size_t end, size_t source) {
    leat_json_open(text, "stages", '[');
    for (size_t i = first; i < end; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (stage->source != source)
            continue;
        leat_json_open(text, NULL, '{');
        leat_json_add_text(text, "name", stage->ops->name);
        leat_json_add_text(text, "kind", kind_name(stage->ops->kind));
        leat_json_add_text(text, "remark", remark(plan, stage));
        add_json_schema(text, plan, stage->names_after, stage->columns_after,
                        stage->n_fields_after);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
}

static void add_json_source(struct leat_text *text, const struct leat_plan *plan) {
    char share[32];

    leat_json_open(text, "source", '{');
    leat_json_add_text(text, "kind", plan->source_ops->name);
    leat_json_add_uint(text, "n_files", plan->source->files.n_paths);
    add_json_schema(text, plan, plan->source_names, plan->source_columns, plan->n_source_fields);
    leat_json_open(text, "sources", '[');
    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];

        leat_json_open(text, NULL, '{');
        leat_json_add_text(text, "kind", source->ops->name);
        leat_json_add_uint(text, "n_files", source->config->files.n_paths);
        if (plan->mixing) {
            int n = snprintf(share, sizeof(share), "%.17g", plan->mixing->shares[source->lane]);

            leat_json_add_raw(text, "share", share, (size_t)n);
            leat_json_add_uint(text, "lane", source->lane);
        }
        add_json_stages(text, plan, plan->n_stages, plan->n_all_stages, i + 1);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}

/* ---- ranks and skips ---- */

static const char *const uneven_names[] = {"drop", "pad", "error"};

static void add_skipped(struct leat_text *text, const struct leat_skip_list *list,
                        const char *what) {
    uint64_t n = 0;

    for (size_t i = 0; i < list->n_ranges; i++)
        n += list->ranges[i].last - list->ranges[i].first + 1;
    if (n > 0)
        leat_text_add(text, "  skipped  %llu %s in %zu range%s\n", (unsigned long long)n, what,
                      list->n_ranges, list->n_ranges == 1 ? "" : "s");
}

/* Steps of each rank for usual numbers of ranks. */
static void add_worlds(struct leat_text *text, const struct leat_plan *plan) {
    struct leat_steps all, steps;

    leat_steps_of(plan, 1, &all);
    for (uint64_t world_size = 2; all.is_known && world_size <= 8; world_size *= 2) {
        leat_steps_of(plan, world_size, &steps);
        leat_text_add(text, "  %llu ranks  ", (unsigned long long)world_size);
        if (!steps.is_known)
            leat_text_add(
                text, "the epoch fails at its end: the ranks cannot share its %llu steps evenly",
                (unsigned long long)all.n);
        else
            leat_text_add(text, "%llu steps each", (unsigned long long)(steps.n / world_size));
        if (steps.is_known && steps.n < all.n)
            leat_text_add(text, "; %llu of %llu steps are left out",
                          (unsigned long long)(all.n - steps.n), (unsigned long long)all.n);
        if (steps.is_known && steps.n > all.n)
            leat_text_add(text, "; %llu of %llu steps are repeated",
                          (unsigned long long)(steps.n - all.n), (unsigned long long)all.n);
        leat_text_add(text, "\n");
    }
}

static void add_ranks(struct leat_text *text, const struct leat_plan *plan) {
    static const char *const words[] = {
        "an epoch of n steps gives each of W ranks n / W steps, rounded down; the last n % W "
        "steps\n           are left out",
        "an epoch of n steps gives each of W ranks n / W steps, rounded up; the last round "
        "repeats\n           its first batches",
        "an epoch of n steps gives each of W ranks n / W steps; the epoch fails if W does not "
        "divide n"};

    leat_text_add(text,
                  "\nranks and skipped steps\n  uneven   %s: ", uneven_names[plan->options.uneven]);
    leat_text_add(text, "%s", words[plan->options.uneven]);
    leat_text_add(text, "\n");
    add_worlds(text, plan);
    add_skipped(text, &plan->skips.steps, "steps");
    add_skipped(text, &plan->skips.records, "records");
}

static void add_json_ranges(struct leat_text *text, const char *key,
                            const struct leat_skip_list *list, const char *group) {
    leat_json_open(text, key, '[');
    for (size_t i = 0; i < list->n_ranges; i++) {
        const struct leat_skip_range *range = &list->ranges[i];

        leat_json_open(text, NULL, '{');
        if (range->group == LEAT_SKIPS_EVERY)
            leat_json_add_null(text, group);
        else
            leat_json_add_uint(text, group, range->group);
        leat_json_add_uint(text, "first", range->first);
        leat_json_add_uint(text, "last", range->last);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
}

static void explain_text(struct leat_text *text, const struct leat_graph *graph,
                         const struct leat_explain_options *options) {
    const struct leat_forecast *forecast = options->forecast;
    const struct leat_plan *plan = graph->plan;
    uint32_t n_workers = graph->n_workers;
    struct memory memory = plan_memory(plan, n_workers);
    struct leat_node_share share;
    char hex[LEAT_DIGEST_HEX_SIZE], size[LEAT_SHOW_BYTES_MAX];

    leat_digest_hex(plan->spec_digest, hex);
    leat_text_add(text, "stream ");
    leat_graph_add_name(text, plan->spec->name);
    leat_text_add(text, "\nspec digest %s\n\n", hex);
    leat_text_add(text, "  source   %-10s %zu file%s\n             ", plan->source_ops->name,
                  plan->source->files.n_paths, plan->source->files.n_paths == 1 ? "" : "s");
    add_schema(text, plan, plan->source_names, plan->source_columns, plan->n_source_fields);
    leat_text_add(text, "\n");
    add_sources(text, plan);
    for (size_t i = 0; i < plan->n_stages; i++)
        add_stage(text, plan, &plan->stages[i]);
    leat_text_add(text, "\nper-record stages:     %s", plan->source_ops->name);
    for (size_t i = 0; i < plan->n_map; i++)
        leat_text_add(text, " > %s", plan->map[i]->ops->name);
    add_cache(text, plan);
    leat_text_add(text, "\norder stages:          ");
    for (size_t i = 0; i < plan->n_order; i++)
        leat_text_add(text, "%s > ", plan->order[i]->ops->name);
    leat_text_add(text, "batch");
    add_starts(text, plan, options->has_index);
    leat_text_add(text, "\n\nhow leat executes the stream%s\n\n",
                  graph->is_unfused ? ", without fusing stages" : "");
    leat_graph_text(text, graph, forecast);
    leat_text_add(text, "\ntensors of a batch of ");
    if (plan->max_tokens > 0)
        leat_text_add(text, "at most %llu tokens and ", (unsigned long long)plan->max_tokens);
    leat_text_add(text, "%llu%s\n", (unsigned long long)plan->batch_size,
                  plan->max_tokens > 0 ? " rows" : "");
    for (size_t i = 0; i < plan->n_tensors; i++) {
        int n_name = (int)strlen(plan->tensors[i].name);

        leat_text_add(text, "  ");
        leat_graph_add_name(text, plan->tensors[i].name);
        leat_text_add(text, "%*s %-9s ", n_name < 20 ? 20 - n_name : 0, "",
                      leat_dtype_name(plan->tensors[i].dtype));
        add_shape(text, &plan->tensors[i]);
        leat_text_add(text, "\n");
    }
    add_ranks(text, plan);
    leat_text_add(text, "\nmemory with %u workers\n", n_workers);
    leat_text_add(text, "  blocks   about %.1f MiB: %u blocks at once, each of %s of the source\n",
                  (double)memory.blocks / 1048576, memory.n_blocks,
                  leat_show_bytes((uint64_t)plan->options.block_bytes, size));
    if (plan->is_compressed && plan->options.decode_ahead > 0)
        leat_text_add(
            text, "  decoding up to %.1f MiB of data that is decompressed ahead of the reader\n",
            (double)plan->options.decode_ahead / 1048576);
    if (memory.loaded > 0 || memory.workspaces > 0)
        leat_text_add(
            text,
            "  stages   %.1f MiB of loaded files, and up to %.1f MiB for caches of %u workers\n",
            (double)memory.loaded / 1048576, (double)memory.workspaces / 1048576, n_workers);
    leat_text_add(text,
                  "  order    up to %.2f MiB for references to at most %llu waiting rows, and "
                  "up to\n           %.1f MiB for the blocks that hold these rows\n",
                  (double)memory.order / 1048576, (unsigned long long)memory.n_waiting,
                  (double)memory.budget.order_bytes / 1048576);
    leat_text_add(
        text,
        "  ring     %.2f MiB: %u slots of %s%s, and one more slot for each batch that a trainer "
        "may hold\n",
        (double)memory.ring / 1048576, plan->n_slots, leat_show_bytes(plan->slot_bytes, size),
        plan->is_bounded
            ? ""
            : " at first (slots can grow, because row lengths have no limit: set max_length)");
    add_least(text, &memory.budget);
    if (options->ranks.world_size > 0) {
        share = leat_node_share(plan, &options->ranks, memory.budget.order_bytes);
        leat_node_share_text(text, &share);
    }
    leat_forecast_text(text, forecast);
}

static void add_json_tensors(struct leat_text *text, const struct leat_plan *plan) {
    leat_json_open(text, "tensors", '[');
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const struct leat_plan_tensor *tensor = &plan->tensors[i];

        leat_json_open(text, NULL, '{');
        leat_json_add_text(text, "name", tensor->name);
        leat_json_add_text(text, "dtype", leat_dtype_name(tensor->dtype));
        leat_json_open(text, "shape", '[');
        for (uint32_t d = 0; d < tensor->ndim; d++)
            leat_json_add_int(text, NULL, tensor->shape[d]);
        leat_json_close(text, ']');
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
}

static void add_json_memory(struct leat_text *text, const struct leat_plan *plan,
                            const struct memory *memory) {
    leat_json_open(text, "memory", '{');
    leat_json_add_uint(text, "blocks_bytes", memory->blocks);
    leat_json_add_uint(text, "n_blocks", memory->n_blocks);
    leat_json_add_uint(text, "loaded_bytes", memory->loaded);
    leat_json_add_uint(text, "workspaces_bytes", memory->workspaces);
    leat_json_add_uint(text, "order_bytes", memory->order);
    leat_json_add_uint(text, "n_waiting_rows", memory->n_waiting);
    leat_json_add_uint(text, "ring_bytes", memory->ring);
    leat_json_add_int(text, "decode_ahead_bytes",
                      plan->is_compressed ? plan->options.decode_ahead : 0);
    leat_json_add_uint(text, "held_bytes", memory->budget.order_bytes);
    leat_json_add_uint(text, "least_bytes",
                       leat_memory_plan_least(&memory->budget) + least_ring(&memory->budget));
    leat_json_close(text, '}');
}

static void explain_json(struct leat_text *text, const struct leat_graph *graph,
                         const struct leat_explain_options *options) {
    const struct leat_plan *plan = graph->plan;
    struct memory memory = plan_memory(plan, graph->n_workers);
    struct leat_node_share share;
    char hex[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(plan->spec_digest, hex);
    leat_json_open(text, NULL, '{');
    leat_json_add_text(text, "stream", plan->spec->name);
    leat_json_add_text(text, "spec_digest", hex);
    add_json_source(text, plan);
    add_json_stages(text, plan, 0, plan->n_stages, 0);
    leat_json_open(text, "map", '[');
    leat_json_add_text(text, NULL, plan->source_ops->name);
    for (size_t i = 0; i < plan->n_map; i++)
        leat_json_add_text(text, NULL, plan->map[i]->ops->name);
    leat_json_close(text, ']');
    add_json_cache(text, plan);
    add_json_starts(text, plan, options->has_index);
    add_json_tensors(text, plan);
    leat_json_add_uint(text, "batch_size", plan->batch_size);
    leat_json_add_uint(text, "max_tokens", plan->max_tokens);
    leat_json_add_uint(text, "slot_bytes", plan->slot_bytes);
    leat_json_add_uint(text, "n_slots", plan->n_slots);
    leat_json_add_bool(text, "is_bounded", plan->is_bounded);
    add_json_memory(text, plan, &memory);
    leat_graph_json(text, "graph", graph, options->forecast);
    leat_json_add_text(text, "uneven", uneven_names[plan->options.uneven]);
    add_json_ranges(text, "skip_steps", &plan->skips.steps, "epoch");
    add_json_ranges(text, "skip_records", &plan->skips.records, "source");
    leat_forecast_json(text, "forecast", options->forecast);
    if (options->ranks.world_size > 0) {
        share = leat_node_share(plan, &options->ranks, memory.budget.order_bytes);
        leat_node_share_json(text, &share);
    }
    leat_json_close(text, '}');
    leat_text_add(text, "\n");
}

static void draw(struct leat_text *text, const struct leat_graph *graph,
                 const struct leat_explain_options *options) {
    switch (options->format) {
    case LEAT_EXPLAIN_JSON:
        explain_json(text, graph, options);
        break;
    case LEAT_EXPLAIN_DOT:
        leat_graph_dot(text, graph, options->forecast);
        break;
    case LEAT_EXPLAIN_SVG:
        leat_graph_svg(text, graph, options->forecast);
        break;
    default:
        explain_text(text, graph, options);
    }
}

char *leat_explain(const struct leat_plan *plan, const struct leat_explain_options *options) {
    struct leat_graph *graph = leat_graph_new(plan, options->n_workers, options->is_unfused);
    struct leat_text text = {.data = NULL};

    if (!graph)
        return NULL;
    draw(&text, graph, options);
    leat_graph_free(graph);
    if (text.failed) {
        free(text.data);
        return NULL;
    }
    return text.data;
}
