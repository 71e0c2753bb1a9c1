/* graph/flow.c: the edges of a graph, with their fields.
 *
 * In the map segment, a column exists from the stage that makes it to the last one that reads it.
 * Kept columns go on with the references to their rows. One thread.
 */
#include <string.h>

#include "pipeline/inspect/graph/graph_internal.h"
#include "pipeline/inspect/graph/label.h"
#include "pipeline/inspect/row_reader.h"
#include "proto/base/utf8.h"

void leat_graph_add_name(struct leat_text *text, const char *name) {
    size_t n = strlen(name);
    bool is_plain = leat_utf8_is_valid(name, n);

    for (size_t i = 0; i < n; i++)
        is_plain = is_plain && (unsigned char)name[i] >= 0x20 && name[i] != 0x7f;
    if (is_plain)
        leat_text_add_bytes(text, name, n);
    else
        leat_text_add_json(text, name, n);
}

void leat_graph_add_type(struct leat_text *text, const struct leat_plan *plan, uint32_t column) {
    const struct leat_field *field = &plan->fields[column];

    leat_text_add(text, "%s", leat_dtype_name(field->dtype));
    if (field->made != LEAT_MADE_OF_RECORDS && field->made != LEAT_MADE_OF_PARTS) {
        leat_text_add(text, "[%s ", leat_making_text(field->made));
        leat_graph_add_name(text, plan->fields[field->of].name);
        leat_text_add(text, "]");
    } else if (field->is_list && field->dtype != LEAT_DTYPE_TEXT && field->is_padded &&
               field->pad_length)
        leat_text_add(text, "[%llu]", (unsigned long long)field->pad_length);
    else if (field->is_list && !field->is_padded && field->width)
        leat_text_add(text, "[%llu]", (unsigned long long)field->width);
    else if (field->is_list && field->dtype != LEAT_DTYPE_TEXT && field->max_length)
        leat_text_add(text, "[<=%llu]", (unsigned long long)field->max_length);
    else if (field->is_list && field->dtype != LEAT_DTYPE_TEXT)
        leat_text_add(text, "[]");
}

static uint32_t step_of(const struct leat_plan *plan, uint32_t stage) {
    return stage == 0 ? 0 : (uint32_t)leat_graph_places(plan, &plan->stages[stage - 1]).step;
}

/* The column of the block that it is made of. */
static uint32_t base_of(const struct leat_plan *plan, uint32_t column) {
    while (plan->fields[column].made != LEAT_MADE_OF_RECORDS)
        column = plan->fields[column].of;
    return column;
}

static void find_steps(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    for (size_t i = 0; i < plan->n_makes; i++) {
        uint32_t step = step_of(plan, plan->makes[i].stage);

        if (step > 0 || plan->makes[i].stage == 0)
            graph->columns[plan->makes[i].column].made_at = step;
    }
    for (size_t i = 0; i < plan->n_reads; i++) {
        struct leat_graph_column *column = &graph->columns[base_of(plan, plan->reads[i].column)];
        uint32_t step = step_of(plan, plan->reads[i].stage);

        column->read_at = step > column->read_at ? step : column->read_at;
    }
    for (uint32_t i = 0; i < plan->n_map; i++)
        if (plan->map[i]->filter_column >= 0)
            graph->columns[plan->map[i]->filter_column].made_at = i + 1;
}

int leat_graph_find_columns(struct leat_graph *graph) {
    const struct leat_plan *plan = graph->plan;

    graph->columns =
        leat_arena_alloc(&graph->arena, (plan->n_columns + 1) * sizeof(*graph->columns));
    if (!graph->columns)
        return -1;
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        struct leat_text type = {.data = NULL};

        leat_graph_add_type(&type, plan, i);
        graph->columns[i] = (struct leat_graph_column){.made_at = LEAT_GRAPH_NONE,
                                                       .type = leat_graph_keep(graph, &type)};
        if (!graph->columns[i].type)
            return -1;
    }
    find_steps(graph);
    return 0;
}

bool leat_graph_is_live(const struct leat_graph *graph, uint32_t column, uint32_t step) {
    const struct leat_plan *plan = graph->plan;
    const struct leat_graph_column *known = &graph->columns[column];

    return plan->is_needed[column] && plan->fields[column].made == LEAT_MADE_OF_RECORDS &&
           known->made_at <= step && (plan->is_kept[column] || known->read_at > step);
}

void leat_graph_name_columns(struct leat_graph *graph, uint32_t step) {
    const struct leat_plan *plan = graph->plan;
    const struct leat_plan_stage *stage = step == 0 ? NULL : plan->map[step - 1];
    size_t n = stage ? stage->n_fields_after : plan->n_source_fields;

    for (uint32_t i = 0; i < plan->n_columns; i++)
        graph->columns[i].name = plan->fields[i].name;
    for (size_t i = 0; i < n; i++)
        if (stage)
            graph->columns[stage->columns_after[i]].name = stage->names_after[i];
        else
            graph->columns[plan->source_columns[i]].name = plan->source_names[i];
}

static struct leat_graph_edge *add_edge(struct leat_graph *graph, uint32_t from, uint32_t to,
                                        enum leat_graph_flow flow) {
    struct leat_graph_edge *edge = &graph->edges[graph->n_edges++];

    *edge = (struct leat_graph_edge){.from = from, .to = to, .flow = flow};
    return edge;
}

static int add_columns(struct leat_graph *graph, struct leat_graph_edge *edge, uint32_t step) {
    uint32_t n_columns = graph->plan->n_columns, n = 0;

    for (uint32_t i = 0; i < n_columns; i++)
        n += leat_graph_is_live(graph, i, step);
    edge->fields = leat_arena_alloc(&graph->arena, n * sizeof(*edge->fields));
    if (!edge->fields)
        return -1;
    leat_graph_name_columns(graph, step);
    for (uint32_t i = 0; i < n_columns; i++)
        if (leat_graph_is_live(graph, i, step))
            edge->fields[edge->n_fields++] = (struct leat_graph_field){
                .name = graph->columns[i].name, .type = graph->columns[i].type, .column = i};
    return 0;
}

static int add_tensors(struct leat_graph *graph, struct leat_graph_edge *edge) {
    const struct leat_plan *plan = graph->plan;

    edge->fields = leat_arena_alloc(&graph->arena, plan->n_tensors * sizeof(*edge->fields));
    if (!edge->fields)
        return -1;
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const struct leat_plan_tensor *tensor = &plan->tensors[i];
        struct leat_text type = {.data = NULL};

        leat_text_add(&type, "%s[", leat_dtype_name(tensor->dtype));
        for (uint32_t d = 0; d < tensor->ndim; d++)
            if (tensor->shape[d] < 0)
                leat_text_add(&type, "%s?", d ? ", " : "");
            else
                leat_text_add(&type, "%s%lld", d ? ", " : "", (long long)tensor->shape[d]);
        leat_text_add(&type, "]");
        edge->fields[edge->n_fields] = (struct leat_graph_field){
            .name = tensor->name, .type = leat_graph_keep(graph, &type), .column = tensor->column};
        if (!edge->fields[edge->n_fields++].type)
            return -1;
    }
    return 0;
}

/* Makes the edge from one node to the next. */
static int link_next(struct leat_graph *graph, uint32_t from, uint32_t to,
                     const struct leat_graph_edge *before) {
    const struct leat_graph_node *node = &graph->nodes[from];
    struct leat_graph_edge *edge;

    if (node->role <= LEAT_GRAPH_CUT)
        add_edge(graph, from, to, LEAT_FLOW_BYTES);
    else if (node->role <= LEAT_GRAPH_MAP)
        return add_columns(graph, add_edge(graph, from, to, LEAT_FLOW_COLUMNS),
                           (uint32_t)node->step);
    else if (node->role == LEAT_GRAPH_COLLATE)
        return add_tensors(graph, add_edge(graph, from, to, LEAT_FLOW_TENSORS));
    else {
        edge = add_edge(graph, from, to,
                        node->role == LEAT_GRAPH_RING ? LEAT_FLOW_TENSORS : LEAT_FLOW_REFERENCES);
        edge->fields = before->fields;
        edge->n_fields = before->n_fields;
    }
    return 0;
}

static uint32_t find_role(const struct leat_graph *graph, enum leat_graph_role role) {
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].role == role)
            return i;
    return LEAT_GRAPH_NONE;
}

/* The last node of the map segment. */
static uint32_t pass_end(const struct leat_graph *graph) {
    return find_role(graph, LEAT_GRAPH_PARSE) + (uint32_t)graph->plan->n_map;
}

/* Edges to the cache in the first epoch, and from it in later ones. */
static int connect_cache(struct leat_graph *graph) {
    uint32_t cache = find_role(graph, LEAT_GRAPH_CACHE), end = pass_end(graph);
    struct leat_graph_edge *edge;

    if (cache == LEAT_GRAPH_NONE)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        edge = add_edge(graph, i == 0 ? end : cache, i == 0 ? cache : end + 1, LEAT_FLOW_COLUMNS);
        edge->is_side = true;
        if (add_columns(graph, edge, (uint32_t)graph->plan->n_map) < 0)
            return -1;
    }
    return 0;
}

int leat_graph_connect(struct leat_graph *graph) {
    uint32_t n_sources = (uint32_t)graph->plan->n_sources;
    uint32_t trainer = find_role(graph, LEAT_GRAPH_TRAINER);
    uint32_t quarantine = find_role(graph, LEAT_GRAPH_QUARANTINE);
    const struct leat_graph_edge *before = NULL;

    for (uint32_t i = 0; i + 1 < n_sources; i++)
        add_edge(graph, i, n_sources, LEAT_FLOW_BYTES);
    for (uint32_t i = n_sources - 1; i < trainer; i++) {
        if (link_next(graph, i, i + 1, before) < 0)
            return -1;
        before = &graph->edges[graph->n_edges - 1];
    }
    if (quarantine != LEAT_GRAPH_NONE)
        add_edge(graph, pass_end(graph), quarantine, LEAT_FLOW_BAD)->is_side = true;
    return connect_cache(graph);
}
