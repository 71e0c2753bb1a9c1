/* graph/draw.h: drawings of a graph, one file each. forecast may be NULL. One thread. */
#pragma once

#include "pipeline/inspect/graph/label.h"

/* Lanes for a terminal: what runs where, from the source down to the trainer. */
void leat_graph_text(struct leat_text *text, const struct leat_graph *graph,
                     const struct leat_forecast *forecast);
/* An object with `segments`, `nodes` and `edges`: see pipeline/guide/speed.md. key: as in
 * json_writer.h. */
void leat_graph_json(struct leat_text *text, const char *key, const struct leat_graph *graph,
                     const struct leat_forecast *forecast);
/* For graphviz: a cluster for each segment. */
void leat_graph_dot(struct leat_text *text, const struct leat_graph *graph,
                    const struct leat_forecast *forecast);
/* The forecast itself, in words; nothing, if it is NULL. */
void leat_forecast_text(struct leat_text *text, const struct leat_forecast *forecast);
void leat_forecast_json(struct leat_text *text, const char *key,
                        const struct leat_forecast *forecast);
/* A picture of its own, which needs nothing but a viewer. */
void leat_graph_svg(struct leat_text *text, const struct leat_graph *graph,
                    const struct leat_forecast *forecast);
