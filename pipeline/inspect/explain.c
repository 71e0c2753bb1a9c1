/* explain.c: see explain.h. In words and as JSON: the schema after each stage as written, how they
 * are executed, tensors, memory, time. Run sizes come from the same plan. */
#include "pipeline/inspect/explain.h"
#include "pipeline/work/steps.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"
#include "pipeline/order/batcher.h"
#include "pipeline/work/memory_plan.h"
#include "proto/base/shown.h"

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
            leat_text_add(text, " (not made)");
    }
}

static void add_json_schema(struct leat_text *text, const struct leat_plan *plan,
                            char (*names)[LEAT_NAME_MAX + 1], const uint32_t *columns, size_t n) {
    leat_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        const struct leat_field *field = &plan->fields[columns[i]];

        leat_text_add(text, "%s{\"name\": ", i ? ", " : "");
        leat_text_add_json(text, names[i], strlen(names[i]));
        leat_text_add(
            text, ", \"dtype\": \"%s\", \"is_list\": %s, \"max_length\": %llu, \"is_made\": %s}",
            leat_dtype_name(field->dtype), field->is_list ? "true" : "false",
            (unsigned long long)field->max_length, plan->is_needed[columns[i]] ? "true" : "false");
    }
    leat_text_add(text, "]");
}

static bool runs_in_map(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            return true;
    return false;
}

static const char *remark(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    if (stage->filter_column >= 0 ||
        (stage->ops->kind == LEAT_STAGE_ORDER && runs_in_map(plan, stage)))
        return "computed in the pass, applied here";
    if (stage->ops->kind == LEAT_STAGE_MAP && stage->ops->map && !runs_in_map(plan, stage))
        return "not run: nothing needs it";
    if (stage->ops->kind == LEAT_STAGE_MAP && !stage->ops->map)
        return "schema only";
    return "";
}

/* Memory that the run may take, by part; shared by both forms. */
struct memory {
    struct leat_memory_plan budget; /* what a `memory_limit` is asked for */
    uint64_t blocks, ring, loaded, workspaces, order;
    uint64_t n_waiting; /* rows in ORDER stages and open batches, at most */
    uint32_t n_blocks;
};

/* What stages have loaded is there once; each has as many workspaces as there are workers. */
static void add_stages(struct memory *memory, const struct leat_plan *plan, uint32_t n_workers) {
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];
        size_t loaded = 0, workspace = 0;

        if (stage->ops->memory)
            stage->ops->memory(stage->config, &loaded, &workspace);
        memory->loaded += loaded;
        memory->workspaces += runs_in_map(plan, stage) ? (uint64_t)n_workers * workspace : 0;
    }
}

static void add_order(struct memory *memory, const struct leat_plan *plan) {
    memory->n_waiting = leat_batcher_holds(plan);
    memory->order = memory->n_waiting * sizeof(struct leat_ref);
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows = 0, n_bytes = 0;

        if (stage->ops->holding)
            stage->ops->holding(stage->config, &n_rows, &n_bytes);
        memory->n_waiting += n_rows;
        memory->order += n_bytes;
    }
}

/* Batches that a trainer may hold which does not ask for another number, by the daemon's defaults.
 */
static uint32_t window_of(const struct leat_plan *plan) {
    return plan->is_bounded && plan->n_slots / 2 > 4 ? plan->n_slots / 2 : 4;
}

static struct memory plan_memory(const struct leat_plan *plan, uint32_t n_workers) {
    uint32_t n_lanes = plan->mixing ? (uint32_t)plan->mixing->n_lanes : 0;
    struct memory memory = {.n_blocks = LEAT_BLOCKS_IN_LINE(n_workers) + 1 + 2 * n_lanes};

    /* source bytes, and about three times as much for what the stages make of them */
    memory.blocks = (uint64_t)memory.n_blocks * 4 * (uint64_t)plan->options.block_bytes;
    memory.ring = (uint64_t)plan->n_slots * plan->slot_bytes;
    add_stages(&memory, plan, n_workers);
    add_order(&memory, plan);
    leat_memory_plan(plan, window_of(plan), memory.n_blocks, n_workers, &memory.budget);
    return memory;
}

static uint64_t least_ring(const struct leat_memory_plan *budget) {
    return budget->n_min_slots * budget->slot_bytes;
}

static void add_least(struct leat_text *text, const struct leat_memory_plan *budget) {
    static const double mib = 1048576;

    leat_text_add(text,
                  "  least    %.1f MiB of a `memory_limit`, besides the daemon itself: ring %.1f, "
                  "blocks %.1f, order %.1f,\n           loaded %.1f, workspace %.1f\n",
                  (double)(leat_memory_plan_least(budget) + least_ring(budget)) / mib,
                  (double)least_ring(budget) / mib,
                  (double)(budget->n_min_blocks * budget->block_bytes + budget->scratch_bytes +
                           budget->decoder_bytes) /
                      mib,
                  (double)budget->order_bytes / mib, (double)budget->loaded_bytes / mib,
                  (double)budget->workspace_bytes / mib);
}

static void add_shape(struct leat_text *text, const struct leat_plan_tensor *tensor,
                      const char *unknown) {
    leat_text_add(text, "[");
    for (uint32_t d = 0; d < tensor->ndim; d++) {
        leat_text_add(text, d ? ", " : "");
        if (tensor->shape[d] < 0)
            leat_text_add(text, "%s", unknown);
        else
            leat_text_add(text, "%lld", (long long)tensor->shape[d]);
    }
    leat_text_add(text, "]");
}

/* What a cache keeps of each record, and where. */
static void add_cache(struct leat_text *text, const struct leat_plan *plan) {
    bool is_first = true;

    if (!plan->cache_path)
        return;
    leat_text_add(text, "\nin the cache:          ");
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

static void add_cache_json(struct leat_text *text, const struct leat_plan *plan) {
    char hex[LEAT_DIGEST_HEX_SIZE];

    if (!plan->cache_path) {
        leat_text_add(text, "null");
        return;
    }
    leat_digest_hex(plan->record_digest, hex);
    leat_text_add(text, "{\"path\": ");
    leat_text_add_json(text, plan->cache_path, strlen(plan->cache_path));
    leat_text_add(text, ", \"record_digest\": \"%s\"}", hex);
}

/* What a start in mid-epoch costs, and how many steps there are. */
static void add_starts(struct leat_text *text, const struct leat_plan *plan, bool has_index) {
    struct leat_steps steps;
    char start[256];

    leat_steps_describe_start(plan, has_index, start, sizeof(start));
    leat_steps_of(plan, 1, &steps);
    if (plan->left_out[0])
        leat_text_add(text, "\nnot read:              %s", plan->left_out);
    leat_text_add(text, "\na start in mid-epoch:  %s\nsteps of an epoch:     ", start);
    if (steps.is_known)
        leat_text_add(text, "%llu, of %llu rows of a pass", (unsigned long long)steps.n,
                      (unsigned long long)plan->n_rows);
    else
        leat_text_add(text, "unknown: %s", steps.reason);
}

static void add_starts_json(struct leat_text *text, const struct leat_plan *plan, bool has_index) {
    struct leat_steps steps;
    char start[256];

    leat_steps_describe_start(plan, has_index, start, sizeof(start));
    leat_steps_of(plan, 1, &steps);
    leat_text_add(text, ", \"left_out\": ");
    leat_text_add_json(text, plan->left_out, strlen(plan->left_out));
    leat_text_add(text, ", \"start\": ");
    leat_text_add_json(text, start, strlen(start));
    if (steps.is_known)
        leat_text_add(text, ", \"n_steps\": %llu, \"steps_reason\": null",
                      (unsigned long long)steps.n);
    else
        leat_text_add(text, ", \"n_steps\": null, \"steps_reason\": ");
    if (!steps.is_known)
        leat_text_add_json(text, steps.reason, strlen(steps.reason));
}

static void add_stage(struct leat_text *text, const struct leat_plan *plan,
                      const struct leat_plan_stage *stage) {
    leat_text_add(text, "  %-8s %-10s %s\n             ",
                  stage->source > 0 ? "    +" : kind_name(stage->ops->kind), stage->ops->name,
                  remark(plan, stage));
    add_schema(text, plan, stage->names_after, stage->columns_after, stage->n_fields_after);
    leat_text_add(text, "\n");
}

/* Those that the source is composed of, each with its own stages. */
static void add_sources(struct leat_text *text, const struct leat_plan *plan) {
    for (size_t i = 0; plan->source_ops->is_composite && i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];
        size_t n = source->config->files.n_paths;

        leat_text_add(text, "    of     %-10s %zu file%s", source->ops->name, n, n == 1 ? "" : "s");
        if (plan->mixing)
            leat_text_add(text, ", %.4g of the records%s", plan->mixing->shares[source->lane],
                          i > 0 && plan->sources[i - 1].lane == source->lane
                              ? ", together with the one before"
                              : "");
        leat_text_add(text, "\n");
        for (size_t k = plan->n_stages; k < plan->n_all_stages; k++)
            if (plan->stages[k].source == i + 1)
                add_stage(text, plan, &plan->stages[k]);
    }
}

/* The stages of a source (from 1), or of the stream (0), among those from first up to end. */
static void add_json_stages(struct leat_text *text, const struct leat_plan *plan, size_t first,
                            size_t end, size_t source) {
    const char *comma = "";

    for (size_t i = first; i < end; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (stage->source != source)
            continue;
        leat_text_add(
            text, "%s{\"name\": \"%s\", \"kind\": \"%s\", \"remark\": \"%s\", \"fields\": ", comma,
            stage->ops->name, kind_name(stage->ops->kind), remark(plan, stage));
        add_json_schema(text, plan, stage->names_after, stage->columns_after,
                        stage->n_fields_after);
        leat_text_add(text, "}");
        comma = ", ";
    }
}

static void add_json_sources(struct leat_text *text, const struct leat_plan *plan) {
    leat_text_add(text, ", \"sources\": [");
    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];

        leat_text_add(text, "%s{\"kind\": \"%s\", \"n_files\": %zu", i ? ", " : "",
                      source->ops->name, source->config->files.n_paths);
        if (plan->mixing)
            leat_text_add(text, ", \"share\": %.17g, \"lane\": %u",
                          plan->mixing->shares[source->lane], source->lane);
        leat_text_add(text, ", \"stages\": [");
        add_json_stages(text, plan, plan->n_stages, plan->n_all_stages, i + 1);
        leat_text_add(text, "]}");
    }
    leat_text_add(text, "]");
}

/* ---- ranks, and what is taken out ---- */

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

/* In numbers, for worlds that are usual. */
static void add_worlds(struct leat_text *text, const struct leat_plan *plan) {
    struct leat_steps all, steps;

    leat_steps_of(plan, 1, &all);
    for (uint64_t world_size = 2; all.is_known && world_size <= 8; world_size *= 2) {
        leat_steps_of(plan, world_size, &steps);
        leat_text_add(text, "  %llu ranks  ", (unsigned long long)world_size);
        if (!steps.is_known)
            leat_text_add(text, "fail at the end of an epoch of %llu steps",
                          (unsigned long long)all.n);
        else
            leat_text_add(text, "%llu steps each", (unsigned long long)(steps.n / world_size));
        if (steps.is_known && steps.n < all.n)
            leat_text_add(text, "; %llu of %llu are left out",
                          (unsigned long long)(all.n - steps.n), (unsigned long long)all.n);
        if (steps.is_known && steps.n > all.n)
            leat_text_add(text, "; %llu of %llu come again", (unsigned long long)(steps.n - all.n),
                          (unsigned long long)all.n);
        leat_text_add(text, "\n");
    }
}

static void add_ranks(struct leat_text *text, const struct leat_plan *plan) {
    static const char *const words[] = {
        "each of W ranks gets n / W steps of an epoch of n, rounded down; the last n % W are left "
        "out",
        "each of W ranks gets n / W steps of an epoch of n, rounded up; the last round is filled "
        "up with\n           its batches again, from its first on",
        "each of W ranks gets n / W steps of an epoch of n; if W does not divide n, the epoch "
        "fails"};

    leat_text_add(text, "\nranks, and what is taken out\n  uneven   %s: ",
                  uneven_names[plan->options.uneven]);
    leat_text_add(text, "%s", words[plan->options.uneven]);
    leat_text_add(text, "\n");
    add_worlds(text, plan);
    add_skipped(text, &plan->skips.steps, "steps");
    add_skipped(text, &plan->skips.records, "records");
}

static void add_json_ranges(struct leat_text *text, const struct leat_skip_list *list,
                            const char *group) {
    for (size_t i = 0; i < list->n_ranges; i++) {
        const struct leat_skip_range *range = &list->ranges[i];

        leat_text_add(text, "%s{\"%s\": ", i ? ", " : "", group);
        if (range->group == LEAT_SKIPS_EVERY)
            leat_text_add(text, "null");
        else
            leat_text_add(text, "%llu", (unsigned long long)range->group);
        leat_text_add(text, ", \"first\": %llu, \"last\": %llu}", (unsigned long long)range->first,
                      (unsigned long long)range->last);
    }
}

static void add_json_ranks(struct leat_text *text, const struct leat_plan *plan) {
    leat_text_add(text, ", \"uneven\": \"%s\", \"skip_steps\": [",
                  uneven_names[plan->options.uneven]);
    add_json_ranges(text, &plan->skips.steps, "epoch");
    leat_text_add(text, "], \"skip_records\": [");
    add_json_ranges(text, &plan->skips.records, "source");
    leat_text_add(text, "]");
}

static void explain_text(struct leat_text *text, const struct leat_graph *graph,
                         const struct leat_explain_options *options) {
    const struct leat_forecast *forecast = options->forecast;
    const struct leat_plan *plan = graph->plan;
    uint32_t n_workers = graph->n_workers;
    struct memory memory = plan_memory(plan, n_workers);
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
    leat_text_add(text, "\none pass over a block: %s", plan->source_ops->name);
    for (size_t i = 0; i < plan->n_map; i++)
        leat_text_add(text, " > %s", plan->map[i]->ops->name);
    add_cache(text, plan);
    leat_text_add(text, "\non references:         ");
    for (size_t i = 0; i < plan->n_order; i++)
        leat_text_add(text, "%s > ", plan->order[i]->ops->name);
    leat_text_add(text, "batch");
    add_starts(text, plan, options->has_index);
    leat_text_add(text, "\n\nas it is executed%s\n\n", graph->is_unfused ? ", not fused" : "");
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
        add_shape(text, &plan->tensors[i], "varies");
        leat_text_add(text, "\n");
    }
    add_ranks(text, plan);
    leat_text_add(text, "\nmemory with %u workers\n", n_workers);
    leat_text_add(text, "  blocks   about %.1f MiB: %u at once, of %s of source each\n",
                  (double)memory.blocks / 1048576, memory.n_blocks,
                  leat_show_bytes((uint64_t)plan->options.block_bytes, size));
    if (plan->is_compressed && plan->options.decode_ahead > 0)
        leat_text_add(text,
                      "  decoding up to %.1f MiB of compressed files, ahead of who reads them\n",
                      (double)plan->options.decode_ahead / 1048576);
    if (memory.loaded > 0 || memory.workspaces > 0)
        leat_text_add(text,
                      "  stages   %.1f MiB loaded once, and up to %.1f MiB for caches of %u "
                      "workers\n",
                      (double)memory.loaded / 1048576, (double)memory.workspaces / 1048576,
                      n_workers);
    leat_text_add(
        text,
        "  order    up to %.2f MiB: at most %llu rows wait, and with them the blocks that "
        "they are in,\n           %.1f MiB at most\n",
        (double)memory.order / 1048576, (unsigned long long)memory.n_waiting,
        (double)memory.budget.order_bytes / 1048576);
    leat_text_add(
        text,
        "  ring     %.2f MiB: %u slots of %s%s, and one for each batch that a "
        "trainer may hold\n",
        (double)memory.ring / 1048576, plan->n_slots, leat_show_bytes(plan->slot_bytes, size),
        plan->is_bounded ? "" : " to begin with (lengths are not bounded: set max_length)");
    add_least(text, &memory.budget);
    leat_forecast_text(text, forecast);
}

static void explain_json(struct leat_text *text, const struct leat_graph *graph,
                         const struct leat_explain_options *options) {
    const struct leat_forecast *forecast = options->forecast;
    const struct leat_plan *plan = graph->plan;
    uint32_t n_workers = graph->n_workers;
    struct memory memory = plan_memory(plan, n_workers);
    char hex[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(plan->spec_digest, hex);
    leat_text_add(text, "{\"stream\": ");
    leat_text_add_json(text, plan->spec->name, strlen(plan->spec->name));
    leat_text_add(
        text,
        ", \"spec_digest\": \"%s\", \"source\": {\"kind\": \"%s\", \"n_files\": %zu, \"fields\": ",
        hex, plan->source_ops->name, plan->source->files.n_paths);
    add_json_schema(text, plan, plan->source_names, plan->source_columns, plan->n_source_fields);
    add_json_sources(text, plan);
    leat_text_add(text, "}, \"stages\": [");
    add_json_stages(text, plan, 0, plan->n_stages, 0);
    leat_text_add(text, "], \"pass\": [\"%s\"", plan->source_ops->name);
    for (size_t i = 0; i < plan->n_map; i++)
        leat_text_add(text, ", \"%s\"", plan->map[i]->ops->name);
    leat_text_add(text, "], \"cache\": ");
    add_cache_json(text, plan);
    add_starts_json(text, plan, options->has_index);
    leat_text_add(text, ", \"tensors\": [");
    for (size_t i = 0; i < plan->n_tensors; i++) {
        leat_text_add(text, "%s{\"name\": ", i ? ", " : "");
        leat_text_add_json(text, plan->tensors[i].name, strlen(plan->tensors[i].name));
        leat_text_add(text,
                      ", \"dtype\": \"%s\", \"shape\": ", leat_dtype_name(plan->tensors[i].dtype));
        add_shape(text, &plan->tensors[i], "-1");
        leat_text_add(text, "}");
    }
    leat_text_add(
        text,
        "], \"batch_size\": %llu, \"max_tokens\": %llu, \"slot_bytes\": %zu, "
        "\"n_slots\": %u, \"is_bounded\": "
        "%s, \"memory\": "
        "{\"blocks_bytes\": %llu, \"n_blocks\": %u, \"loaded_bytes\": %llu, "
        "\"workspaces_bytes\": %llu, \"order_bytes\": %llu, \"n_waiting_rows\": %llu, "
        "\"ring_bytes\": %llu, \"decode_ahead_bytes\": %lld, \"held_bytes\": %llu, "
        "\"least_bytes\": %llu}, \"graph\": ",
        (unsigned long long)plan->batch_size, (unsigned long long)plan->max_tokens,
        plan->slot_bytes, plan->n_slots, plan->is_bounded ? "true" : "false",
        (unsigned long long)memory.blocks, memory.n_blocks, (unsigned long long)memory.loaded,
        (unsigned long long)memory.workspaces, (unsigned long long)memory.order,
        (unsigned long long)memory.n_waiting, (unsigned long long)memory.ring,
        plan->is_compressed ? (long long)plan->options.decode_ahead : 0,
        (unsigned long long)memory.budget.order_bytes,
        (unsigned long long)(leat_memory_plan_least(&memory.budget) + least_ring(&memory.budget)));
    leat_graph_json(text, graph, forecast);
    add_json_ranks(text, plan);
    leat_text_add(text, ", \"forecast\": ");
    leat_forecast_json(text, forecast);
    leat_text_add(text, "}\n");
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

char *leat_plan_explain(const struct leat_plan *plan, uint32_t n_workers, bool as_json) {
    struct leat_explain_options options = {
        .format = as_json ? LEAT_EXPLAIN_JSON : LEAT_EXPLAIN_TEXT, .n_workers = n_workers};

    return leat_explain(plan, &options);
}
