/* metrics.c: see metrics.h; https://github.com/prometheus/OpenMetrics, specification 1.0, and
 * Prometheus' exposition formats. All samples of a metric stand together, so each line of
 * figures.def goes over all streams. */
#include "daemon/metrics/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static const char *const unit_suffixes[] = {
    [LEAT_FIGURE_NONE] = "", [LEAT_FIGURE_NS] = "_seconds", [LEAT_FIGURE_BYTES] = "_bytes"};

static const char *suffix(const struct leat_figure *figure) {
    return figure->kind == LEAT_FIGURE_COUNTER ? "_total" : "";
}

void leat_metrics_name(struct leat_text *text, const struct leat_figure *figure) {
    leat_text_add(text, "%s%s%s", figure->metric, unit_suffixes[figure->unit], suffix(figure));
}

static void announce(struct leat_text *text, const char *name, const char *unit, const char *end,
                     const char *type, const char *help, enum leat_metrics_format format) {
    const char *ending = format == LEAT_METRICS_PROMETHEUS ? end : "";

    leat_text_add(text, "# HELP %s%s%s %s\n# TYPE %s%s%s %s\n", name, unit, ending, help, name,
                  unit, ending, type);
    if (format == LEAT_METRICS_OPENMETRICS && unit[0])
        leat_text_add(text, "# UNIT %s%s %s\n", name, unit, unit + 1);
}

/* A trainer may give its stream any name. The label is the name as people see it. */
static void add_label(struct leat_text *text, const char *name, const char *value) {
    struct leat_text shown = {.data = NULL};

    leat_text_add(text, "%s=\"", name);
    leat_text_add_shown(&shown, value);
    for (const char *at = shown.data; at && *at; at++) {
        if (*at == '\\' || *at == '"')
            leat_text_add(text, "\\");
        leat_text_add_bytes(text, at, 1);
    }
    leat_text_add(text, "\"");
    leat_text_end_part(text, &shown);
}

static void add_stream_labels(struct leat_text *text, const struct leat_stream_reading *stream) {
    add_label(text, "stream", stream->name);
    leat_text_add(text, ",owner=\"%s\"", leat_stream_owner_name(stream->owner));
}

static void add_number(struct leat_text *text, enum leat_figure_unit unit, uint64_t value) {
    if (unit == LEAT_FIGURE_NS)
        leat_text_add(text, " %" PRIu64 ".%09" PRIu64 "\n", value / SECOND_NS, value % SECOND_NS);
    else
        leat_text_add(text, " %" PRIu64 "\n", value);
}

static void add_value(struct leat_text *text, const struct leat_figure *figure,
                      const void *figures) {
    add_number(text, figure->unit, leat_figure_get(figure, figures));
}

static void add_of_stream(struct leat_text *text, const struct leat_figure *figure,
                          const struct leat_stream_reading *stream) {
    leat_metrics_name(text, figure);
    leat_text_add(text, "{");
    add_stream_labels(text, stream);
    leat_text_add(text, "%s%s}", figure->metric_label ? "," : "",
                  figure->metric_label ? figure->metric_label : "");
    add_value(text, figure, &stream->counts.figures);
}

static void add_of_stages(struct leat_text *text, const struct leat_figure *figure,
                          const struct leat_stream_reading *stream) {
    for (size_t i = 0; i < stream->n_stages; i++) {
        const struct leat_stage_reading *stage = &stream->stages[i];

        leat_metrics_name(text, figure);
        leat_text_add(text, "{");
        add_stream_labels(text, stream);
        leat_text_add(text, ",");
        add_label(text, "stage", stage->name);
        leat_text_add(text, ",role=\"%s\"}", leat_role_name(stage->role));
        add_value(text, figure, &stage->figures);
    }
}

/* Announces a figure if it is a metric, and the first one of its name. */
static bool begin(struct leat_text *text, const struct leat_figure *figure,
                  enum leat_metrics_format format) {
    if (leat_figure_is_first(figure))
        announce(text, figure->metric, unit_suffixes[figure->unit], suffix(figure),
                 figure->kind == LEAT_FIGURE_COUNTER ? "counter" : "gauge", figure->help, format);
    return figure->metric != NULL;
}

/* ---- histograms ---- */

void leat_metrics_spread_name(struct leat_text *text, const struct leat_figure_spread *spread) {
    leat_text_add(text, "%s%s", spread->metric, unit_suffixes[spread->unit]);
}

static void add_line(struct leat_text *text, const struct leat_figure_spread *spread,
                     const char *suffix, const struct leat_stream_reading *stream) {
    leat_metrics_spread_name(text, spread);
    leat_text_add(text, "%s{", suffix);
    add_stream_labels(text, stream);
}

/* A bound is a label, so both formats write it the same way: with a point. */
static void add_bound(struct leat_text *text, const struct leat_figure_spread *spread, size_t i) {
    uint64_t bound;

    if (i == spread->bounds->n) {
        leat_text_add(text, ",le=\"+Inf\"}");
        return;
    }
    bound = spread->bounds->at[i];
    if (spread->unit == LEAT_FIGURE_NS && bound < SECOND_NS)
        leat_text_add(text, ",le=\"%g\"}", (double)bound / (double)SECOND_NS);
    else
        leat_text_add(text, ",le=\"%" PRIu64 ".0\"}",
                      spread->unit == LEAT_FIGURE_NS ? bound / SECOND_NS : bound);
}

static void add_spread(struct leat_text *text, const struct leat_figure_spread *spread,
                       const struct leat_stream_reading *stream, const struct leat_spread *values) {
    uint64_t n = 0;

    for (size_t i = 0; i <= spread->bounds->n; i++) {
        n += values->n[i];
        add_line(text, spread, "_bucket", stream);
        add_bound(text, spread, i);
        leat_text_add(text, " %" PRIu64 "\n", n);
    }
    add_line(text, spread, "_sum", stream);
    leat_text_add(text, "}");
    add_number(text, spread->unit, values->total);
    add_line(text, spread, "_count", stream);
    leat_text_add(text, "} %" PRIu64 "\n", n);
}

static void add_spreads(struct leat_text *text, const struct leat_reading *reading,
                        enum leat_metrics_format format) {
    for (size_t i = 0; i < LEAT_N_SPREADS; i++) {
        const struct leat_figure_spread *spread = &leat_spread_table[i];

        announce(text, spread->metric, unit_suffixes[spread->unit], "", "histogram", spread->help,
                 format);
        for (size_t j = 0; j < reading->n_streams; j++)
            add_spread(text, spread, &reading->streams[j], &reading->streams[j].counts.spreads[i]);
    }
}

void leat_metrics_render(struct leat_text *text, const struct leat_reading *reading,
                         enum leat_metrics_format format) {
    announce(text, LEAT_METRICS_BUILD_INFO, "", "", "gauge", LEAT_METRICS_BUILD_INFO_HELP, format);
    leat_text_add(text, LEAT_METRICS_BUILD_INFO "{version=\"%s\"} 1\n", LEAT_VERSION);
    for (const struct leat_figure *figure = leat_daemon_figure_table; figure->member; figure++)
        if (begin(text, figure, format)) {
            leat_metrics_name(text, figure);
            add_value(text, figure, &reading->figures);
        }
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (begin(text, figure, format))
            for (size_t i = 0; i < reading->n_streams; i++)
                add_of_stream(text, figure, &reading->streams[i]);
    for (const struct leat_figure *figure = leat_stage_figure_table; figure->member; figure++)
        if (begin(text, figure, format))
            for (size_t i = 0; i < reading->n_streams; i++)
                add_of_stages(text, figure, &reading->streams[i]);
    add_spreads(text, reading, format);
    if (format == LEAT_METRICS_OPENMETRICS)
        leat_text_add(text, "# EOF\n");
}
