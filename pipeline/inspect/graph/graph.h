/* graph.h: what a stream does, as a graph: who hands what to whom, what runs back to back in one
 * job, and why the rest does not. Made of a plan alone; drawn by graph/text.c, graph/json.c,
 * graph/dot.c and graph/svg.c.
 *
 * Nodes stand in the order in which they are gone through, then side outputs, then stages without
 * work. A stage of the spec has one node that is no half; what an ORDER or COLLATE stage, or a
 * filter behind an ORDER stage, finds out of each record in the pass is a half, a node beside it.
 *
 * Owner: whoever made it. Immutable, refers to the plan; one thread.
 */
#pragma once

#include "pipeline/plan/plan.h"

#define LEAT_GRAPH_NONE UINT32_MAX

enum leat_graph_role {
    LEAT_GRAPH_SOURCE,
    LEAT_GRAPH_DECODE,
    LEAT_GRAPH_CUT,
    LEAT_GRAPH_PARSE,
    LEAT_GRAPH_MAP, /* in the pass over a block */
    LEAT_GRAPH_MIX,
    LEAT_GRAPH_ORDER,
    LEAT_GRAPH_BATCH,
    LEAT_GRAPH_PAD, /* what became part of collation */
    LEAT_GRAPH_COLLATE,
    LEAT_GRAPH_RING,
    LEAT_GRAPH_TRAINER,
    LEAT_GRAPH_CACHE,
    LEAT_GRAPH_QUARANTINE,
    LEAT_GRAPH_IDLE, /* stages that have nothing to do */
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
    const char *name;   /* of the stage or source; else what it is */
    const char *detail; /* in some words; "" */
    const char *why;    /* where it runs, and why there; "" */
    int32_t stage;      /* in the spec; -1: none */
    int32_t step;       /* of the pass: 0: the source, 1..n_map; -1: none */
    bool is_half, is_hoisted;
    uint32_t segment; /* LEAT_GRAPH_NONE: none */
    uint64_t memory_bytes;
    const char *memory; /* what it is for */
};

struct leat_graph_edge {
    uint32_t from, to;
    enum leat_graph_flow flow;
    bool is_aside; /* not on the way to the trainer */
    struct leat_graph_field *fields;
    size_t n_fields;
};

/* What runs back to back in one job, or on the loop. */
struct leat_graph_segment {
    const char *name; /* "read", "pass", "pass 2" */
    const char *where;
    uint32_t first, n_nodes;
};

/* A column of blocks: the step of the pass that makes it, and the last that reads it. */
struct leat_graph_column {
    uint32_t made_at, read_at; /* LEAT_GRAPH_NONE: nobody makes it; 0: nobody reads it there */
    const char *name, *type;
};

struct leat_graph {
    const struct leat_plan *plan;
    uint32_t n_workers;
    bool is_unfused;
    struct leat_graph_node *nodes;
    struct leat_graph_edge *edges;
    struct leat_graph_segment *segments;
    struct leat_graph_column *columns; /* [plan->n_columns]; names: while it is made */
    uint32_t n_nodes, n_edges, n_segments;
    struct leat_arena arena; /* all of it */
};

const char *leat_graph_role_name(enum leat_graph_role role);
const char *leat_graph_flow_name(enum leat_graph_flow flow);

/* NULL when memory is out. The plan outlives it. */
struct leat_graph *leat_graph_new(const struct leat_plan *plan, uint32_t n_workers,
                                  bool is_unfused);
struct leat_graph *leat_graph_free(struct leat_graph *graph);

/* The edge on the way to the trainer that leaves the node; NULL: none. */
const struct leat_graph_edge *leat_graph_out(const struct leat_graph *graph, uint32_t node);
