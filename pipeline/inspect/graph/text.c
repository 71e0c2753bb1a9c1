/* graph/text.c: a graph as lanes: segments as headings, and under each its stages, with what they
 * make and why they are there. One thread. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"
#include "proto/base/json_writer.h"

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
    leat_text_end_part(text, &label);
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
    leat_text_end_part(text, &label);
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

/* ---- forecasts ---- */

static void add_rate(struct leat_text *text, double n, const char *unit) {
    leat_graph_add_count(text, n);
    leat_text_add(text, " %s", unit);
}

/* The share of a part in the time of jobs and loop. */
static void add_share(struct leat_text *text, const char *name, double ns, double all) {
    leat_text_add(text, "%s %.0f %%", name, all > 0 ? 100 * ns / all : 0);
}

static void add_costs(struct leat_text *text, const struct leat_forecast *forecast) {
    double all = forecast->scan_ns + forecast->pass_ns + forecast->encode_ns +
                 forecast->collate_ns + forecast->order_ns;

    leat_text_add(text, "  a record ");
    leat_graph_add_time(text, all / 1e9);
    leat_text_add(text, " of processor time: ");
    add_share(text, "read", forecast->scan_ns, all);
    add_share(text, ", map", forecast->pass_ns, all);
    if (forecast->encode_ns > 0)
        add_share(text, ", cache", forecast->encode_ns, all);
    add_share(text, ", order", forecast->order_ns, all);
    add_share(text, ", collate", forecast->collate_ns, all);
    leat_text_add(text, "\n  rate     ");
    add_rate(text, forecast->records_per_s, "records/s, ");
    leat_graph_add_bytes(text, (uint64_t)forecast->bytes_per_s);
    leat_text_add(text, "/s of source, ");
    add_rate(text, forecast->rows_per_s, "rows/s");
    leat_text_add(text, ", limited by %s\n", leat_resource_phrase(forecast->bound));
}

static void add_times(struct leat_text *text, const struct leat_forecast *forecast) {
    const struct leat_measurement *measured = forecast->measurement;

    leat_text_add(text, "  first batch after ");
    leat_graph_add_time(text, forecast->first_batch_s);
    if (forecast->epoch_s > 0) {
        leat_text_add(text, "; first epoch of %s", measured->is_all ? "" : "about ");
        add_rate(text, measured->n_epoch_records, "records in ");
        leat_graph_add_time(text, forecast->epoch_s);
    } else {
        leat_text_add(text, "; the epoch never ends");
    }
    if (forecast->cached_epoch_s > 0) {
        leat_text_add(text, "; a later epoch, from the cache, in ");
        leat_graph_add_time(text, forecast->cached_epoch_s);
    }
    leat_text_add(text, "\n");
}

void leat_forecast_text(struct leat_text *text, const struct leat_forecast *forecast) {
    const struct leat_measurement *measured;

    if (!forecast)
        return;
    measured = forecast->measurement;
    if (!measured) {
        leat_text_add(text, "\ntime: not predicted: %s\n", forecast->reason);
        return;
    }
    leat_text_add(text, "\ntime, predicted for %u busy worker%s from ", forecast->n_threads,
                  forecast->n_threads == 1 ? "" : "s");
    add_rate(text, (double)measured->n_records, "records (");
    leat_graph_add_bytes(text, measured->n_bytes);
    leat_text_add(text, ") that took ");
    leat_graph_add_time(text, (double)measured->elapsed_ns / 1e9);
    leat_text_add(text, "\nassumed: an idle machine, files in the page cache, and a trainer that "
                        "never makes leat wait\n");
    add_costs(text, forecast);
    add_times(text, forecast);
}

void leat_forecast_json(struct leat_text *text, const char *key,
                        const struct leat_forecast *forecast) {
    const struct leat_measurement *measured = forecast ? forecast->measurement : NULL;

    if (!forecast) {
        leat_json_add_null(text, key);
        return;
    }
    leat_json_open(text, key, '{');
    leat_json_add_bool(text, "is_measured", measured);
    leat_json_add_text(text, "reason", measured ? "" : forecast->reason);
    if (measured) {
        const struct {
            const char *key;
            double value;
        } numbers[] = {
            {"sample_bytes", (double)measured->n_bytes},
            {"sample_records", (double)measured->n_records},
            {"sample_s", (double)measured->elapsed_ns / 1e9},
            {"read_ns", forecast->scan_ns},
            {"map_ns", forecast->pass_ns},
            {"order_ns", forecast->order_ns},
            {"collate_ns", forecast->collate_ns},
            {"cache_write_ns", forecast->encode_ns},
            {"cache_read_ns", forecast->load_ns},
            {"records_per_s", forecast->records_per_s},
            {"rows_per_s", forecast->rows_per_s},
            {"source_bytes_per_s", forecast->bytes_per_s},
            {"epoch_records", measured->n_epoch_records},
            {"epoch_s", forecast->epoch_s},
            {"first_batch_s", forecast->first_batch_s},
            {"cached_records_per_s", forecast->cached_records_per_s},
            {"cached_epoch_s", forecast->cached_epoch_s},
        };

        leat_json_add_uint(text, "n_threads", forecast->n_threads);
        leat_json_add_text(text, "bound", leat_resource_name(forecast->bound));
        leat_json_add_bool(text, "is_all", measured->is_all);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
            leat_graph_add_json_number(text, numbers[i].key, numbers[i].value);
    }
    leat_json_close(text, '}');
}
