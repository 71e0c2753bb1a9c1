/* graph/json.c: a graph as JSON. pipeline/guide/speed.md has the names of members. One thread. */
#include "pipeline/inspect/graph/draw.h"
#include "proto/base/json_writer.h"

/* A number that may be missing. */
static void add_index(struct leat_text *text, const char *key, int64_t value) {
    if (value < 0)
        leat_json_add_null(text, key);
    else
        leat_json_add_int(text, key, value);
}

static void add_segment(struct leat_text *text, const struct leat_graph_segment *segment,
                        uint32_t index) {
    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "id", index);
    leat_json_add_text(text, "name", segment->name);
    leat_json_add_text(text, "where", segment->where);
    leat_json_open(text, "nodes", '[');
    for (uint32_t i = 0; i < segment->n_nodes; i++)
        leat_json_add_uint(text, NULL, segment->first + i);
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}

static void add_node(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                     const struct leat_forecast *forecast) {
    const struct leat_graph_node *node = &graph->nodes[index];
    bool is_of_stream = node->stage < (int32_t)graph->plan->n_stages;
    double ns = leat_graph_node_ns(node, forecast);

    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "id", index);
    leat_json_add_text(text, "role", leat_graph_role_name(node->role));
    leat_json_add_text(text, "name", node->name);
    leat_json_add_text(text, "detail", node->detail);
    leat_json_add_text(text, "why", node->why);
    add_index(text, "stage", is_of_stream ? node->stage : -1);
    add_index(text, "segment", node->segment == LEAT_GRAPH_NONE ? -1 : (int64_t)node->segment);
    leat_json_add_bool(text, "is_half", node->is_half);
    leat_json_add_bool(text, "is_hoisted", node->is_hoisted);
    leat_json_add_uint(text, "memory_bytes", node->memory_bytes);
    if (ns < 0)
        leat_json_add_null(text, "record_ns");
    else
        leat_graph_add_json_number(text, "record_ns", ns);
    leat_json_close(text, '}');
}

static void add_edge(struct leat_text *text, const struct leat_graph_edge *edge) {
    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "from", edge->from);
    leat_json_add_uint(text, "to", edge->to);
    leat_json_add_text(text, "flow", leat_graph_flow_name(edge->flow));
    leat_json_add_bool(text, "is_aside", edge->is_side);
    leat_json_open(text, "fields", '[');
    for (size_t i = 0; i < edge->n_fields; i++) {
        leat_json_open(text, NULL, '{');
        leat_json_add_text(text, "name", edge->fields[i].name);
        leat_json_add_text(text, "type", edge->fields[i].type);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}

void leat_graph_json(struct leat_text *text, const char *key, const struct leat_graph *graph,
                     const struct leat_forecast *forecast) {
    leat_json_open(text, key, '{');
    leat_json_add_bool(text, "is_fused", !graph->is_unfused);
    leat_json_open(text, "segments", '[');
    for (uint32_t i = 0; i < graph->n_segments; i++)
        add_segment(text, &graph->segments[i], i);
    leat_json_close(text, ']');
    leat_json_open(text, "nodes", '[');
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        add_node(text, graph, i, forecast);
    leat_json_close(text, ']');
    leat_json_open(text, "edges", '[');
    for (uint32_t i = 0; i < graph->n_edges; i++)
        add_edge(text, &graph->edges[i]);
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}
