/* graph/label.h: what drawings of a graph say at its nodes and edges, and how long texts become
 * lines. One thread.
 *
 * Names are foreign: in a label there are no control characters, and nothing that is not UTF-8.
 */
#pragma once

#include "pipeline/inspect/forecast.h"
#include "pipeline/inspect/graph/graph.h"
#include "proto/base/text.h"

/* "int32[<=128]", "text", "int32[mask of ids]" */
void leat_graph_add_type(struct leat_text *text, const struct leat_plan *plan, uint32_t column);
/* What would write to the terminal is shown as in JSON. */
void leat_graph_add_name(struct leat_text *text, const char *name);
/* What is no plain text becomes U+FFFD. */
void leat_graph_add_clean(struct leat_text *text, const char *name);
/* "12.5 MiB", "1.24 us", "3 min 20 s". */
void leat_graph_add_bytes(struct leat_text *text, uint64_t n_bytes);
void leat_graph_add_time(struct leat_text *text, double seconds);
void leat_graph_add_count(struct leat_text *text, double n); /* "12.5 k" */

/* Nanoseconds that the node takes for a record of the source; < 0: unknown, or none. forecast may
 * be NULL. */
double leat_graph_node_ns(const struct leat_graph_node *node, const struct leat_forecast *forecast);

/* Paragraphs, ended by '\n': detail, what it adds, memory, time, why; not its name. */
void leat_graph_add_label(struct leat_text *text, const struct leat_graph *graph, uint32_t node,
                          const struct leat_forecast *forecast);
/* "names: columns of name text, ids int32[]" */
void leat_graph_add_edge_label(struct leat_text *text, const struct leat_graph_edge *edge);

/* The first line of a text: bytes that fit into so many columns, cut at a blank if there is one;
 * at least one character. */
size_t leat_graph_wrap(const char *text, size_t n_bytes, size_t n_columns);
/* Columns that the text takes in a font of fixed width. */
size_t leat_graph_columns(const char *text, size_t n_bytes);
