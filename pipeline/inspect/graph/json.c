/* graph/json.c: a graph as JSON. Names of members are documented in README.md, and stay. One
 * thread. */
#include <string.h>

#include "pipeline/inspect/graph/draw.h"

static void add_string(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, ", \"%s\": ", name);
    leat_text_add_json(text, value, strlen(value));
}

static void add_bool(struct leat_text *text, const char *name, bool value) {
    leat_text_add(text, ", \"%s\": %s", name, value ? "true" : "false");
}

/* A number that may not be there. */
static void add_index(struct leat_text *text, const char *name, int64_t value) {
    if (value < 0)
        leat_text_add(text, ", \"%s\": null", name);
    else
        leat_text_add(text, ", \"%s\": %lld", name, (long long)value);
}

static void add_segment(struct leat_text *text, const struct leat_graph_segment *segment,
                        uint32_t index) {
    leat_text_add(text, "%s{\"id\": %u", index ? ", " : "", index);
    add_string(text, "name", segment->name);
    add_string(text, "where", segment->where);
    leat_text_add(text, ", \"nodes\": [");
    for (uint32_t i = 0; i < segment->n_nodes; i++)
        leat_text_add(text, "%s%u", i ? ", " : "", segment->first + i);
    leat_text_add(text, "]}");
}

static void add_node(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                     const struct leat_forecast *forecast) {
    const struct leat_graph_node *node = &graph->nodes[index];
    bool is_of_stream = node->stage < (int32_t)graph->plan->n_stages;
    double ns = leat_graph_node_ns(node, forecast);

    leat_text_add(text, "%s{\"id\": %u", index ? ", " : "", index);
    add_string(text, "role", leat_graph_role_name(node->role));
    add_string(text, "name", node->name);
    add_string(text, "detail", node->detail);
    add_string(text, "why", node->why);
    add_index(text, "stage", is_of_stream ? node->stage : -1);
    add_index(text, "segment", node->segment == LEAT_GRAPH_NONE ? -1 : (int64_t)node->segment);
    add_bool(text, "is_half", node->is_half);
    add_bool(text, "is_hoisted", node->is_hoisted);
    leat_text_add(text, ", \"memory_bytes\": %llu", (unsigned long long)node->memory_bytes);
    if (ns < 0)
        leat_text_add(text, ", \"record_ns\": null}");
    else
        leat_text_add(text, ", \"record_ns\": %.6g}", ns);
}

static void add_edge(struct leat_text *text, const struct leat_graph_edge *edge, uint32_t index) {
    leat_text_add(text, "%s{\"from\": %u, \"to\": %u", index ? ", " : "", edge->from, edge->to);
    add_string(text, "flow", leat_graph_flow_name(edge->flow));
    add_bool(text, "is_aside", edge->is_aside);
    leat_text_add(text, ", \"fields\": [");
    for (size_t i = 0; i < edge->n_fields; i++) {
        leat_text_add(text, "%s{\"name\": ", i ? ", " : "");
        leat_text_add_json(text, edge->fields[i].name, strlen(edge->fields[i].name));
        add_string(text, "type", edge->fields[i].type);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}");
}

void leat_graph_json(struct leat_text *text, const struct leat_graph *graph,
                     const struct leat_forecast *forecast) {
    leat_text_add(text, "{\"is_fused\": %s, \"segments\": [", graph->is_unfused ? "false" : "true");
    for (uint32_t i = 0; i < graph->n_segments; i++)
        add_segment(text, &graph->segments[i], i);
    leat_text_add(text, "], \"nodes\": [");
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        add_node(text, graph, i, forecast);
    leat_text_add(text, "], \"edges\": [");
    for (uint32_t i = 0; i < graph->n_edges; i++)
        add_edge(text, &graph->edges[i], i);
    leat_text_add(text, "]}");
}
