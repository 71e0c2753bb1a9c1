/* graph/text.c: a graph as lanes: segments as headings, and under each its stages, with what they
 * make and why they are there. One thread. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"

#define LINE_COLUMNS 92

/* A paragraph behind an indentation. */
static void add_paragraph(struct leat_text *text, const char *line, size_t n, const char *indent) {
    while (n > 0) {
        size_t fits = leat_graph_wrap(line, n, LINE_COLUMNS);
        size_t shown = fits;

        while (shown > 0 && line[shown - 1] == ' ')
            shown--;
        leat_text_add(text, "%s%.*s\n", indent, (int)shown, line);
        line += fits;
        n -= fits;
    }
}

static void add_label(struct leat_text *text, const struct leat_graph *graph, uint32_t node,
                      const struct leat_forecast *forecast, const char *indent) {
    struct leat_text label = {.data = NULL};
    const char *at;

    leat_graph_add_label(&label, graph, node, forecast);
    at = label.data ? label.data : "";
    while (*at) {
        size_t n = strcspn(at, "\n");

        add_paragraph(text, at, n, indent);
        at += n + (at[n] != '\0');
    }
    text->failed |= label.failed;
    free(label.data);
}

static void add_node(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                     const struct leat_forecast *forecast) {
    const struct leat_graph_node *node = &graph->nodes[index];

    leat_text_add(text, "  |  %s%s%s\n", node->name, node->is_half ? " (first half)" : "",
                  node->is_hoisted && !node->is_half ? " (moved forward)" : "");
    add_label(text, graph, index, forecast, "  |      ");
}

static void add_heading(struct leat_text *text, const struct leat_graph *graph, uint32_t index) {
    const struct leat_graph_segment *segment = &graph->segments[index];

    leat_text_add(text, "%s: %s\n", segment->name, segment->where);
}

/* The label of the edge from the segment before. */
static void add_inflow(struct leat_text *text, const struct leat_graph *graph,
                       const struct leat_graph_segment *segment) {
    struct leat_text label = {.data = NULL};

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        if (graph->edges[i].to != segment->first || graph->edges[i].is_side)
            continue;
        leat_graph_add_edge_label(&label, &graph->edges[i]);
        add_paragraph(text, label.data ? label.data : "", label.n_bytes, "  v    ");
        break;
    }
    text->failed |= label.failed;
    free(label.data);
}

static void add_segment(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                        const struct leat_forecast *forecast) {
    const struct leat_graph_segment *segment = &graph->segments[index];

    add_inflow(text, graph, segment);
    add_heading(text, graph, index);
    for (uint32_t i = 0; i < segment->n_nodes; i++)
        add_node(text, graph, segment->first + i, forecast);
}

/* Nodes outside of segments with that role. */
static void add_loose(struct leat_text *text, const struct leat_graph *graph,
                      enum leat_graph_role role, const char *heading,
                      const struct leat_forecast *forecast) {
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i].role != role)
            continue;
        if (heading)
            leat_text_add(text, "%s\n", heading);
        heading = NULL;
        leat_text_add(text, "     %s\n", graph->nodes[i].name);
        add_label(text, graph, i, forecast, "         ");
    }
}

void leat_graph_text(struct leat_text *text, const struct leat_graph *graph,
                     const struct leat_forecast *forecast) {
    add_loose(text, graph, LEAT_GRAPH_SOURCE, "sources", forecast);
    for (uint32_t i = 0; i < graph->n_segments; i++)
        add_segment(text, graph, i, forecast);
    add_loose(text, graph, LEAT_GRAPH_IDLE, "stages that need no time", forecast);
}
