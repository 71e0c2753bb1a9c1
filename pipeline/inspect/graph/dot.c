/* graph/dot.c: a graph in the DOT language of graphviz (https://graphviz.org/doc/info/lang.html).
 * Labels are quoted strings: '"' and '\' are escaped, and '&', which begins an entity there. One
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"

#define LABEL_COLUMNS 56

static void add_escaped(struct leat_text *text, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '"' || bytes[i] == '\\')
            leat_text_add(text, "\\%c", bytes[i]);
        else if (bytes[i] == '&')
            leat_text_add(text, "&amp;");
        else
            leat_text_add_bytes(text, &bytes[i], 1);
}

/* As lines that begin at the left. */
static void add_lines(struct leat_text *text, const char *at) {
    while (*at) {
        size_t n = strcspn(at, "\n");

        for (size_t fits; n > 0; at += fits, n -= fits) {
            fits = leat_graph_wrap(at, n, LABEL_COLUMNS);
            add_escaped(text, at, fits);
            leat_text_add(text, "\\l");
        }
        at += *at == '\n';
    }
}

static void add_clean(struct leat_text *text, const char *name) {
    struct leat_text clean = {.data = NULL};

    leat_graph_add_clean(&clean, name);
    add_escaped(text, clean.data ? clean.data : "", clean.n_bytes);
    leat_text_end_part(text, &clean);
}

static void add_node(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                     const struct leat_forecast *forecast) {
    const struct leat_graph_node *node = &graph->nodes[index];
    struct leat_text label = {.data = NULL};

    leat_text_add(text, "    n%u [label=\"", index);
    add_clean(text, node->name);
    leat_text_add(text, " (%s%s)\\l", leat_graph_role_name(node->role),
                  node->is_half      ? ", first half"
                  : node->is_hoisted ? ", moved forward"
                                     : "");
    leat_graph_add_label(&label, graph, index, forecast);
    add_lines(text, label.data ? label.data : "");
    leat_text_add(text, "\"%s];\n", node->role == LEAT_GRAPH_IDLE ? ", style=dashed" : "");
    leat_text_end_part(text, &label);
}

static void add_segment(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                        const struct leat_forecast *forecast) {
    const struct leat_graph_segment *segment = &graph->segments[index];

    leat_text_add(text, "  subgraph cluster_%u {\n    label=\"", index);
    add_clean(text, segment->name);
    leat_text_add(text, ": ");
    add_clean(text, segment->where);
    leat_text_add(text, "\";\n");
    for (uint32_t i = 0; i < segment->n_nodes; i++)
        add_node(text, graph, segment->first + i, forecast);
    leat_text_add(text, "  }\n");
}

static void add_edge(struct leat_text *text, const struct leat_graph_edge *edge) {
    struct leat_text label = {.data = NULL};

    leat_text_add(text, "  n%u -> n%u [label=\"", edge->from, edge->to);
    leat_graph_add_edge_label(&label, edge);
    add_lines(text, label.data ? label.data : "");
    leat_text_add(text, "\"%s];\n", edge->is_side ? ", style=dashed" : "");
    leat_text_end_part(text, &label);
}

void leat_graph_dot(struct leat_text *text, const struct leat_graph *graph,
                    const struct leat_forecast *forecast) {
    leat_text_add(text, "digraph leat {\n  label=\"stream ");
    add_clean(text, graph->plan->spec->name);
    leat_text_add(text, "\";\n  labelloc=t;\n  fontname=\"sans-serif\";\n"
                        "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                        "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (uint32_t i = 0; i < graph->n_segments; i++)
        add_segment(text, graph, i, forecast);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].segment == LEAT_GRAPH_NONE)
            add_node(text, graph, i, forecast);
    for (uint32_t i = 0; i < graph->n_edges; i++)
        add_edge(text, &graph->edges[i]);
    leat_text_add(text, "}\n");
}
