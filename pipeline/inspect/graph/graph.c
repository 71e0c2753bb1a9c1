/* graph.c: see graph.h. Nodes and segments in the order in which they are gone through. */
#include "pipeline/inspect/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/graph_internal.h"
#include "pipeline/order/batcher.h"
#include "pipeline/work/memory_plan.h"

const char *leat_graph_role_name(enum leat_graph_role role) {
    static const char *const names[] = {
        [LEAT_GRAPH_SOURCE] = "source", [LEAT_GRAPH_DECODE] = "decode",
        [LEAT_GRAPH_CUT] = "cut",       [LEAT_GRAPH_PARSE] = "parse",
        [LEAT_GRAPH_MAP] = "map",       [LEAT_GRAPH_MIX] = "mix",
        [LEAT_GRAPH_ORDER] = "order",   [LEAT_GRAPH_BATCH] = "batch",
        [LEAT_GRAPH_PAD] = "pad",       [LEAT_GRAPH_COLLATE] = "collate",
        [LEAT_GRAPH_RING] = "ring",     [LEAT_GRAPH_TRAINER] = "trainer",
        [LEAT_GRAPH_CACHE] = "cache",   [LEAT_GRAPH_QUARANTINE] = "quarantine",
        [LEAT_GRAPH_IDLE] = "idle",
    };

    return names[role];
}

const char *leat_graph_flow_name(enum leat_graph_flow flow) {
    static const char *const names[] = {
        [LEAT_FLOW_BYTES] = "bytes",           [LEAT_FLOW_COLUMNS] = "columns",
        [LEAT_FLOW_REFERENCES] = "references", [LEAT_FLOW_TENSORS] = "tensors",
        [LEAT_FLOW_BAD] = "bad records",
    };

    return names[flow];
}

const char *leat_graph_keep(struct leat_graph *graph, struct leat_text *take_text) {
    char *kept = take_text->failed ? NULL : leat_arena_alloc(&graph->arena, take_text->n_bytes + 1);

    if (kept && take_text->n_bytes > 0)
        memcpy(kept, take_text->data, take_text->n_bytes);
    if (kept)
        kept[take_text->n_bytes] = '\0';
    free(take_text->data);
    *take_text = (struct leat_text){.data = NULL};
    return kept;
}

struct leat_graph_places leat_graph_places(const struct leat_plan *plan,
                                           const struct leat_plan_stage *stage) {
    struct leat_graph_places places = {.step = 0};

    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            places.step = (int32_t)i + 1;
    for (size_t i = 0; i < plan->n_order; i++) {
        places.is_order |= plan->order[i] == stage;
        places.is_behind |= stage->source == 0 && plan->order[i]->index < stage->index;
    }
    return places;
}

/* ---- segments ---- */

static void begin_segment(struct leat_graph *graph, const char *name, const char *where) {
    graph->segments[graph->n_segments++] =
        (struct leat_graph_segment){.name = name, .where = where, .first = graph->n_nodes};
}

static struct leat_graph_node *add_node(struct leat_graph *graph, enum leat_graph_role role,
                                        const char *name) {
    struct leat_graph_node *node = &graph->nodes[graph->n_nodes++];

    *node = (struct leat_graph_node){.role = role,
                                     .name = name,
                                     .detail = "",
                                     .why = "",
                                     .memory = "",
                                     .stage = -1,
                                     .step = -1,
                                     .segment = LEAT_GRAPH_NONE};
    if (graph->n_segments > 0) {
        node->segment = graph->n_segments - 1;
        graph->segments[node->segment].n_nodes++;
    }
    return node;
}

static struct leat_graph_node *add_stage(struct leat_graph *graph, enum leat_graph_role role,
                                         const struct leat_plan_stage *stage) {
    struct leat_graph_node *node = add_node(graph, role, stage->ops->name);

    node->stage = (int32_t)stage->index;
    return node;
}

/* ---- the way to the trainer ---- */

static int add_sources(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];
        size_t n = source->config->files.n_paths;
        struct leat_text text = {.data = NULL};
        struct leat_graph_node *node = add_node(graph, LEAT_GRAPH_SOURCE, source->ops->name);

        leat_text_add(&text, "%zu file%s", n, n == 1 ? "" : "s");
        if (plan->mixing)
            leat_text_add(&text, ", %.4g of all records%s", plan->mixing->shares[source->lane],
                          i > 0 && plan->sources[i - 1].lane == source->lane
                              ? ", taking turns with the source above"
                              : "");
        node->detail = leat_graph_keep(graph, &text);
        if (!node->detail)
            return -1;
    }
    return 0;
}

static uint64_t blocks_in_line(const struct leat_graph *graph) {
    return LEAT_BLOCKS_IN_QUEUE((uint64_t)graph->n_workers) + 1;
}

static void add_reading(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;
    struct leat_graph_node *node;

    if (plan->is_compressed) {
        begin_segment(graph, "decode", "workers, ahead of the reader");
        node = add_node(graph, LEAT_GRAPH_DECODE, "decode");
        node->memory_bytes = (uint64_t)plan->options.decode_ahead;
        node->memory = "for data that is decompressed ahead (limit)";
    }
    begin_segment(graph, "read",
                  plan->mixing ? "a worker, one job at a time for each source"
                               : "a worker, one job at a time");
    node = add_node(graph, LEAT_GRAPH_CUT, "cut");
    node->memory_bytes = blocks_in_line(graph) * (uint64_t)plan->options.block_bytes;
    node->memory = "for bytes of the source in the queue";
}

static void add_memory(struct leat_graph_node *node, const struct leat_graph *graph,
                       const struct leat_plan_stage *stage) {
    size_t loaded = 0, workspace = 0;

    if (stage->ops->memory)
        stage->ops->memory(stage->config, &loaded, &workspace);
    node->memory_bytes = loaded + (uint64_t)graph->n_workers * workspace;
    node->memory = node->memory_bytes > 0 ? "for loaded files and caches of the workers" : "";
}

static const char *pass_name(struct leat_graph *graph, size_t i) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "map %zu", i + 1);
    return leat_graph_keep(graph, &text);
}

static int name_source(struct leat_graph *graph, struct leat_graph_node *node, size_t source) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "of sources[%zu] only", source);
    node->detail = leat_graph_keep(graph, &text);
    return node->detail ? 0 : -1;
}

static int add_pass(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;
    const char *where = "workers, many blocks at once";
    struct leat_graph_node *node;

    begin_segment(graph, graph->is_unfused ? "map 1" : "map", where);
    node = add_node(graph, LEAT_GRAPH_PARSE, plan->source_ops->name);
    node->step = 0;
    node->memory_bytes = blocks_in_line(graph) * 3 * (uint64_t)plan->options.block_bytes;
    node->memory = "for blocks in the queue (estimate)";
    for (size_t i = 0; i < plan->n_map; i++) {
        const struct leat_plan_stage *stage = plan->map[i];
        struct leat_graph_places places = leat_graph_places(plan, stage);

        if (graph->is_unfused) {
            const char *name = pass_name(graph, i + 1);

            if (!name)
                return -1;
            begin_segment(graph, name, where);
        }
        node = add_stage(graph, LEAT_GRAPH_MAP, stage);
        if (stage->source > 0 && name_source(graph, node, stage->source - 1) < 0)
            return -1;
        node->step = (int32_t)i + 1;
        node->is_half = places.is_order || stage->ops->kind != LEAT_STAGE_MAP;
        node->is_hoisted = places.is_behind || node->is_half;
        add_memory(node, graph, stage);
    }
    return 0;
}

static bool is_named(const struct leat_plan_stage *stage, const char *name) {
    return strcmp(stage->ops->name, name) == 0;
}

static const struct leat_plan_stage *find_stage(const struct leat_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->n_stages; i++)
        if (is_named(&plan->stages[i], name))
            return &plan->stages[i];
    return NULL;
}

static struct leat_graph_node *add_either(struct leat_graph *graph, enum leat_graph_role role,
                                          const char *stage_name, const char *name) {
    const struct leat_plan_stage *stage = find_stage(graph->plan, stage_name);

    return stage ? add_stage(graph, role, stage) : add_node(graph, role, name);
}

static void add_order(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;
    struct leat_graph_node *node;

    begin_segment(graph, "order", "in the main thread, on references to rows");
    if (plan->mixing)
        add_node(graph, LEAT_GRAPH_MIX, plan->source_ops->name);
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows;

        node = add_stage(graph, LEAT_GRAPH_ORDER, stage);
        leat_plan_holding(plan, stage, &n_rows, &node->memory_bytes);
        node->memory =
            node->memory_bytes > 0 ? "for its own state, without the blocks of its rows" : "";
    }
    node = add_either(graph, LEAT_GRAPH_BATCH, "batch", "batch");
    node->memory_bytes = leat_batcher_holds(plan) * sizeof(struct leat_ref);
    node->memory = "for references to waiting rows";
}

static void add_collation(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;
    struct leat_graph_node *node;

    begin_segment(graph, "collate", "workers, several batches a job");
    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (stage->ops->kind == LEAT_STAGE_COLLATE && !is_named(stage, "batch") &&
            !is_named(stage, "prefetch"))
            add_stage(graph, LEAT_GRAPH_PAD, stage);
    }
    add_node(graph, LEAT_GRAPH_COLLATE, "collate");
    begin_segment(graph, "ring", "shared memory");
    node = add_either(graph, LEAT_GRAPH_RING, "prefetch", "ring");
    node->memory_bytes = (uint64_t)plan->n_slots * plan->slot_bytes;
    node->memory = "for slots of batches";
}

/* ---- beside it ---- */

static void add_sides(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    if (plan->cache_path) {
        begin_segment(graph, "cache", "a worker, one job at a time");
        add_node(graph, LEAT_GRAPH_CACHE, "cache")->detail = plan->cache_path;
    }
    if (plan->quarantine_path) {
        begin_segment(graph, "quarantine", "a worker, one job at a time");
        add_node(graph, LEAT_GRAPH_QUARANTINE, "quarantine")->detail = plan->quarantine_path;
    }
}

static void add_idle(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];
        struct leat_graph_places places = leat_graph_places(plan, stage);
        struct leat_graph_node *node;

        if (stage->ops->kind != LEAT_STAGE_MAP || places.step > 0 || places.is_order)
            continue;
        node = add_stage(graph, LEAT_GRAPH_IDLE, stage);
        graph->segments[node->segment].n_nodes--;
        node->segment = LEAT_GRAPH_NONE;
    }
}

static void add_trainer(struct leat_graph *graph) {
    struct leat_graph_node *node = add_node(graph, LEAT_GRAPH_TRAINER, "trainer");

    graph->segments[node->segment].n_nodes--;
    node->segment = LEAT_GRAPH_NONE;
}

/* ---- */

static int allocate(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;
    size_t n_nodes = plan->n_sources + 2 * plan->n_all_stages + 16;
    size_t n_segments = plan->n_map + 10;

    graph->nodes = leat_arena_alloc(&graph->arena, n_nodes * sizeof(*graph->nodes));
    graph->edges = leat_arena_alloc(&graph->arena, 2 * n_nodes * sizeof(*graph->edges));
    graph->segments = leat_arena_alloc(&graph->arena, n_segments * sizeof(*graph->segments));
    return graph->nodes && graph->edges && graph->segments ? 0 : -1;
}

static int fill(struct leat_graph *graph) {
    if (allocate(graph) < 0 || leat_graph_find_columns(graph) < 0 || add_sources(graph) < 0)
        return -1;
    add_reading(graph);
    if (add_pass(graph) < 0)
        return -1;
    add_order(graph);
    add_collation(graph);
    add_trainer(graph);
    add_sides(graph);
    add_idle(graph);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (leat_graph_explain(graph, i) < 0)
            return -1;
    return leat_graph_connect(graph);
}

struct leat_graph *leat_graph_new(const struct leat_plan *plan, uint32_t n_workers,
                                  bool is_unfused) {
    struct leat_graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return NULL;
    leat_arena_init(&graph->arena);
    graph->plan = plan;
    graph->n_workers = n_workers;
    graph->is_unfused = is_unfused;
    return fill(graph) < 0 ? leat_graph_free(graph) : graph;
}

struct leat_graph *leat_graph_free(struct leat_graph *graph) {
    if (graph)
        leat_arena_deinit(&graph->arena);
    free(graph);
    return NULL;
}

const struct leat_graph_edge *leat_graph_out(const struct leat_graph *graph, uint32_t node) {
    for (uint32_t i = 0; i < graph->n_edges; i++)
        if (graph->edges[i].from == node && !graph->edges[i].is_side)
            return &graph->edges[i];
    return NULL;
}
