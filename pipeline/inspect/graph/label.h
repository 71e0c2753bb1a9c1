/* graph/label.h: texts at the nodes and edges of a drawing, and their lines. One thread.
 *
 * Names come from users, so a label shows neither control characters nor bytes that are not UTF-8.
 */
#pragma once

#include "pipeline/inspect/forecast.h"
#include "pipeline/inspect/graph/graph.h"
#include "proto/base/text.h"

/* "int32[<=128]", "text", "int32[mask of ids]" */
void leat_graph_add_type(struct leat_text *text, const struct leat_plan *plan, uint32_t column);
/* A name that has control characters, or is not UTF-8, is written as in JSON. */
void leat_graph_add_name(struct leat_text *text, const char *name);
/* Characters that are not plain text become U+FFFD. */
void leat_graph_add_clean(struct leat_text *text, const char *name);
/* "12.5 MiB", "1.24 us", "3 min 20 s". */
void leat_graph_add_bytes(struct leat_text *text, uint64_t n_bytes);
void leat_graph_add_time(struct leat_text *text, double seconds);
void leat_graph_add_count(struct leat_text *text, double n); /* "12.5 k" */

/* As a value in JSON, of six digits; key as in json_writer.h. */
void leat_graph_add_json_number(struct leat_text *text, const char *key, double value);

/* Nanoseconds of the node for a record of the source; < 0: unknown or none. forecast may be NULL.
 */
double leat_graph_node_ns(const struct leat_graph_node *node, const struct leat_forecast *forecast);

/* Paragraphs that end with '\n': detail, columns, time, memory, why; not the name. */
void leat_graph_add_label(struct leat_text *text, const struct leat_graph *graph, uint32_t node,
                          const struct leat_forecast *forecast);
/* "names: columns of name text, ids int32[]" */
void leat_graph_add_edge_label(struct leat_text *text, const struct leat_graph_edge *edge);

/* Bytes of the first line of a text in n_columns: cut at a blank if there is one, and at least one
 * character. */
size_t leat_graph_wrap(const char *text, size_t n_bytes, size_t n_columns);
