#include "pipeline/inspect/graph/label.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/json_writer.h"
#include "proto/base/utf8.h"

#define EDGE_FIELDS_MAX 24

static bool is_plain(uint32_t point) {
    return point >= 0x20 && point != 0x7f && !(point >= 0x80 && point < 0xa0) &&
           !(point >= 0x202a && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069) &&
           (point & 0xfffe) != 0xfffe;
}

void leat_graph_add_clean(struct leat_text *text, const char *name) {
    const uint8_t *at = (const uint8_t *)name;
    size_t n = strlen(name);

    while (n > 0) {
        uint32_t length = leat_utf8_length(at, n), point = leat_utf8_code_point(at, n);

        if (is_plain(point) && (length > 1 || point < 0x80))
            leat_text_add_bytes(text, at, length);
        else
            leat_text_add(text, "\xef\xbf\xbd");
        at += length;
        n -= length;
    }
}

void leat_graph_add_bytes(struct leat_text *text, uint64_t n_bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double n = (double)n_bytes;
    size_t unit = 0;

    for (; n >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        n /= 1024;
    leat_text_add(text, unit == 0 ? "%.0f %s" : "%.3g %s", n, units[unit]);
}

void leat_graph_add_count(struct leat_text *text, double n) {
    if (n >= 1e9)
        leat_text_add(text, "%.3g G", n / 1e9);
    else if (n >= 1e6)
        leat_text_add(text, "%.3g M", n / 1e6);
    else if (n >= 1e4)
        leat_text_add(text, "%.3g k", n / 1e3);
    else if (n >= 99.5)
        leat_text_add(text, "%.0f", n);
    else
        leat_text_add(text, "%.3g", n);
}

void leat_graph_add_time(struct leat_text *text, double seconds) {
    if (seconds >= 7200)
        leat_text_add(text, "%.3g h", seconds / 3600);
    else if (seconds >= 120)
        leat_text_add(text, "%.3g min", seconds / 60);
    else if (seconds >= 0.9995)
        leat_text_add(text, "%.3g s", seconds);
    else if (seconds >= 0.9995e-3)
        leat_text_add(text, "%.3g ms", seconds * 1e3);
    else if (seconds >= 0.9995e-6)
        leat_text_add(text, "%.3g us", seconds * 1e6);
    else
        leat_text_add(text, "%.3g ns", seconds * 1e9);
}

void leat_graph_add_json_number(struct leat_text *text, const char *key, double value) {
    char digits[32];

    leat_json_add_raw(text, key, digits, (size_t)snprintf(digits, sizeof(digits), "%.6g", value));
}

double leat_graph_node_ns(const struct leat_graph_node *node,
                          const struct leat_forecast *forecast) {
    if (!forecast || !forecast->measurement)
        return -1;
    switch (node->role) {
    case LEAT_GRAPH_CUT:
        return forecast->scan_ns;
    case LEAT_GRAPH_PARSE:
    case LEAT_GRAPH_MAP:
        return leat_forecast_step(forecast, (uint32_t)node->step);
    case LEAT_GRAPH_BATCH:
        return forecast->order_ns; /* with all of the order */
    case LEAT_GRAPH_COLLATE:
        return forecast->collate_ns;
    case LEAT_GRAPH_CACHE:
        return forecast->encode_ns;
    default:
        return -1;
    }
}

static void add_field(struct leat_text *text, const struct leat_graph_field *field) {
    leat_graph_add_clean(text, field->name);
    leat_text_add(text, " ");
    leat_graph_add_clean(text, field->type);
}

/* Columns that the step of the map segment makes. */
static void add_made(struct leat_text *text, const struct leat_graph *graph, uint32_t node) {
    const struct leat_graph_edge *out = leat_graph_out(graph, node);
    int32_t step = graph->nodes[node].step;
    size_t n = 0;

    for (size_t i = 0; step >= 0 && out && i < out->n_fields; i++) {
        if (graph->columns[out->fields[i].column].made_at != (uint32_t)step)
            continue;
        if (n < EDGE_FIELDS_MAX) {
            leat_text_add(text, n ? ", " : "makes ");
            add_field(text, &out->fields[i]);
        }
        n++;
    }
    if (n > EDGE_FIELDS_MAX)
        leat_text_add(text, " and %zu more", n - EDGE_FIELDS_MAX);
    if (n > 0)
        leat_text_add(text, "\n");
}

void leat_graph_add_label(struct leat_text *text, const struct leat_graph *graph, uint32_t index,
                          const struct leat_forecast *forecast) {
    const struct leat_graph_node *node = &graph->nodes[index];
    double ns = leat_graph_node_ns(node, forecast);

    if (node->detail[0]) {
        leat_graph_add_clean(text, node->detail);
        leat_text_add(text, "\n");
    }
    add_made(text, graph, index);
    if (ns >= 0) {
        leat_graph_add_time(text, ns / 1e9);
        leat_text_add(text, " a record%s\n",
                      node->role == LEAT_GRAPH_BATCH ? ", including the other order stages" : "");
    }
    if (node->memory_bytes > 0) {
        leat_graph_add_bytes(text, node->memory_bytes);
        leat_text_add(text, " %s\n", node->memory);
    }
    if (node->why[0]) {
        leat_graph_add_clean(text, node->why);
        leat_text_add(text, "\n");
    }
}

void leat_graph_add_edge_label(struct leat_text *text, const struct leat_graph_edge *edge) {
    leat_text_add(text, "%s", leat_graph_flow_name(edge->flow));
    for (size_t i = 0; i < edge->n_fields && i < EDGE_FIELDS_MAX; i++) {
        leat_text_add(text, i ? ", " : ": ");
        add_field(text, &edge->fields[i]);
    }
    if (edge->n_fields > EDGE_FIELDS_MAX)
        leat_text_add(text, " and %zu more", edge->n_fields - EDGE_FIELDS_MAX);
}

/* East Asian text and pictures are about twice as wide. */
static size_t width_of(uint32_t point) {
    return point < 0x1100 || (point >= 0x2000 && point < 0x2600) ? 1 : 2;
}

size_t leat_graph_wrap(const char *text, size_t n_bytes, size_t n_columns) {
    const uint8_t *at = (const uint8_t *)text;
    size_t i = 0, n = 0, blank = 0;

    while (i < n_bytes) {
        n += width_of(leat_utf8_code_point(at + i, n_bytes - i));
        if (n > n_columns && i > 0)
            return blank > 0 ? blank : i;
        i += leat_utf8_length(at + i, n_bytes - i);
        if (at[i - 1] == ' ')
            blank = i;
    }
    return n_bytes;
}
