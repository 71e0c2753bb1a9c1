/* graph.h: a stream as a graph: the flow of data, and which parts run back to back in one job, or
 * why they do not. Made from a plan; drawn by graph/text.c, graph/json.c, graph/dot.c and
 * graph/svg.c.
 *
 * Nodes stand in the order of the flow, then side outputs, then stages without work. A stage of the
 * spec has one node that is no half. An ORDER or COLLATE stage, or a filter behind an ORDER stage,
 * may compute something of each record in the map segment; that is a second node, a half.
 *
 * Immutable; refers to the plan. Owner: its maker; one thread.
 */
#pragma once

#include "pipeline/plan/plan.h"

#define LEAT_GRAPH_NONE UINT32_MAX

enum leat_graph_role {
    LEAT_GRAPH_SOURCE,
    LEAT_GRAPH_DECODE,
    LEAT_GRAPH_CUT,
    LEAT_GRAPH_PARSE,
    LEAT_GRAPH_MAP, /* in the map segment over a block */
    LEAT_GRAPH_MIX,
    LEAT_GRAPH_ORDER,
    LEAT_GRAPH_BATCH,
    LEAT_GRAPH_PAD, /* a stage that is part of collation */
    LEAT_GRAPH_COLLATE,
    LEAT_GRAPH_RING,
    LEAT_GRAPH_TRAINER,
    LEAT_GRAPH_CACHE,
    LEAT_GRAPH_QUARANTINE,
    LEAT_GRAPH_IDLE, /* a stage without work */
    LEAT_GRAPH_N_ROLES
};

enum leat_graph_flow {
    LEAT_FLOW_BYTES,
    LEAT_FLOW_COLUMNS,    /* of a block */
    LEAT_FLOW_REFERENCES, /* to rows of blocks, which have the fields */
    LEAT_FLOW_TENSORS,
    LEAT_FLOW_BAD, /* records */
};

struct leat_graph_field {
    const char *name, *type; /* "int32[<=128]" */
    uint32_t column;
};

struct leat_graph_node {
    enum leat_graph_role role;
    const char *name;   /* of the stage or source, or of the role */
    const char *detail; /* may be "" */
    const char *why;    /* where it runs and why; may be "" */
    int32_t stage;      /* in the spec; -1: none */
    int32_t step;       /* of the map segment: 0: the source, 1..n_map; -1: none */
    bool is_half, is_hoisted;
    uint32_t segment; /* LEAT_GRAPH_NONE: none */
    uint64_t memory_bytes;
    const char *memory; /* its use */
};

struct leat_graph_edge {
    uint32_t from, to;
    enum leat_graph_flow flow;
    bool is_side; /* It does not lead to the trainer. */
    struct leat_graph_field *fields;
    size_t n_fields;
};

/* Nodes that run back to back in one job, or on the loop. */
struct leat_graph_segment {
    const char *name; /* "read", "map", "map 2" */
    const char *where;
    uint32_t first, n_nodes;
};

/* A column of blocks: the step of the map segment that makes it, and the last that reads it. */
struct leat_graph_column {
    uint32_t made_at, read_at; /* made_at LEAT_GRAPH_NONE: not made; read_at 0: not read */
    const char *name, *type;
};

struct leat_graph {
    const struct leat_plan *plan;
    uint32_t n_workers;
    bool is_unfused;
    struct leat_graph_node *nodes;
    struct leat_graph_edge *edges;
    struct leat_graph_segment *segments;
    struct leat_graph_column *columns; /* [plan->n_columns]; names change while it is made */
    uint32_t n_nodes, n_edges, n_segments;
    struct leat_arena arena; /* has all of the graph */
};

const char *leat_graph_role_name(enum leat_graph_role role);
const char *leat_graph_flow_name(enum leat_graph_flow flow);

/* NULL: no memory. The plan outlives the graph. */
struct leat_graph *leat_graph_new(const struct leat_plan *plan, uint32_t n_workers,
                                  bool is_unfused);
struct leat_graph *leat_graph_free(struct leat_graph *graph);

/* The edge from the node that leads to the trainer; NULL: none. */
const struct leat_graph_edge *leat_graph_out(const struct leat_graph *graph, uint32_t node);
