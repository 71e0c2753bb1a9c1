/* graph_internal.h: shared by the files that make a graph: graph.c (nodes, segments), flow.c (edges
 * and their fields), why.c (words). One thread. */
#pragma once

#include "pipeline/inspect/graph/graph.h"
#include "proto/base/text.h"

/* Where a stage does its work. */
struct leat_graph_places {
    int32_t step;   /* in plan->map, from 1; 0: not there */
    bool is_order;  /* in plan->order */
    bool is_behind; /* behind an ORDER stage */
};
struct leat_graph_places leat_graph_places(const struct leat_plan *plan,
                                           const struct leat_plan_stage *stage);

/* Copies the text into the graph's memory, and frees it. NULL: no memory. */
const char *leat_graph_keep(struct leat_graph *graph, struct leat_text *take_text);

/* Sets `why` of the node, once all nodes exist. 0 or -1. */
int leat_graph_explain(struct leat_graph *graph, uint32_t node);

/* Fills graph->columns except names. 0 or -1. */
int leat_graph_find_columns(struct leat_graph *graph);
/* True if the column exists behind that step of the map segment and is still needed. */
bool leat_graph_is_live(const struct leat_graph *graph, uint32_t column, uint32_t step);
/* Sets the names of columns as they are behind that step. */
void leat_graph_name_columns(struct leat_graph *graph, uint32_t step);
/* Makes all edges. 0 or -1. */
int leat_graph_connect(struct leat_graph *graph);
