/* graph_internal.h: how a graph is made: graph.c (nodes, segments), graph/flow.c (edges and what
 * flows), graph/why.c (words). One thread. */
#pragma once

#include "pipeline/inspect/graph/graph.h"
#include "proto/base/text.h"

/* Where a stage's work is done. */
struct leat_graph_places {
    int32_t step;   /* in plan->map, from 1; 0: not there */
    bool is_order;  /* in plan->order */
    bool is_behind; /* an ORDER stage stands before it */
};
struct leat_graph_places leat_graph_places(const struct leat_plan *plan,
                                           const struct leat_plan_stage *stage);

/* A printed text in the graph's memory; the text is freed. NULL when memory is out. */
const char *leat_graph_keep(struct leat_graph *graph, struct leat_text *take_text);

/* Says of the node where it runs and why; once all nodes are there. Memory: 0 or -ENOMEM. */
int leat_graph_explain(struct leat_graph *graph, uint32_t node);

/* Fills graph->columns, but for names; 0 or -1. */
int leat_graph_find_columns(struct leat_graph *graph);
/* Whether there is such a column behind a step of the pass, and somebody still wants it. */
bool leat_graph_is_live(const struct leat_graph *graph, uint32_t column, uint32_t step);
/* Sets the names of columns as they are known behind that step. */
void leat_graph_name_columns(struct leat_graph *graph, uint32_t step);
/* All edges; 0 or -ENOMEM. */
int leat_graph_connect(struct leat_graph *graph);
