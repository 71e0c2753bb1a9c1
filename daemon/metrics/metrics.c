/* metrics.c: see metrics.h; https://github.com/prometheus/OpenMetrics, specification 1.0, and
 * Prometheus' exposition formats. All samples of a metric stand together, so each line of
 * meters.def goes over all streams. */
#include "daemon/metrics/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static const char *const unit_suffixes[] = {
    [LEAT_METER_NONE] = "", [LEAT_METER_NS] = "_seconds", [LEAT_METER_BYTES] = "_bytes"};

static const char *suffix(const struct leat_meter *meter) {
    return meter->kind == LEAT_METER_COUNTER ? "_total" : "";
}

void leat_metrics_name(struct leat_text *text, const struct leat_meter *meter) {
    leat_text_add(text, "%s%s%s", meter->name, unit_suffixes[meter->unit], suffix(meter));
}

static void announce(struct leat_text *text, const char *name, const char *unit, const char *end,
                     const char *type, const char *help, enum leat_metrics_format format) {
    const char *ending = format == LEAT_METRICS_PROMETHEUS ? end : "";

    leat_text_add(text, "# HELP %s%s%s %s\n# TYPE %s%s%s %s\n", name, unit, ending, help, name,
                  unit, ending, type);
    if (format == LEAT_METRICS_OPENMETRICS && unit[0])
        leat_text_add(text, "# UNIT %s%s %s\n", name, unit, unit + 1);
}

/* What a trainer called its stream may be anything: it is labelled as it is shown. */
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
    text->failed |= shown.failed;
    free(shown.data);
}

static void add_stream_labels(struct leat_text *text, const struct leat_stream_reading *stream) {
    add_label(text, "stream", stream->name);
    leat_text_add(text, ",owner=\"%s\"", leat_stream_owner_name(stream->owner));
}

static void add_number(struct leat_text *text, enum leat_meter_unit unit, uint64_t value) {
    if (unit == LEAT_METER_NS)
        leat_text_add(text, " %" PRIu64 ".%09" PRIu64 "\n", value / SECOND_NS, value % SECOND_NS);
    else
        leat_text_add(text, " %" PRIu64 "\n", value);
}

static void add_value(struct leat_text *text, const struct leat_meter *meter, const void *figures) {
    add_number(text, meter->unit, leat_meter_value(meter, figures));
}

static void add_stages(struct leat_text *text, const struct leat_meter *meter,
                       const struct leat_stream_reading *stream) {
    for (size_t i = 0; i < stream->n_stages; i++) {
        const struct leat_stage_reading *stage = &stream->stages[i];

        leat_metrics_name(text, meter);
        leat_text_add(text, "{");
        add_stream_labels(text, stream);
        leat_text_add(text, ",");
        add_label(text, "stage", stage->name);
        leat_text_add(text, ",role=\"%s\"}", leat_role_name(stage->role));
        add_value(text, meter, &stage->figures);
    }
}

static void add_streams(struct leat_text *text, const struct leat_meter *meter,
                        const struct leat_reading *reading) {
    for (size_t i = 0; i < reading->n_streams; i++) {
        const struct leat_stream_reading *stream = &reading->streams[i];

        if (meter->scope == LEAT_METER_STAGE) {
            add_stages(text, meter, stream);
            continue;
        }
        leat_metrics_name(text, meter);
        leat_text_add(text, "{");
        add_stream_labels(text, stream);
        leat_text_add(text, "%s%s}", meter->label ? "," : "", meter->label ? meter->label : "");
        add_value(text, meter, &stream->figures);
    }
}

/* ---- histograms ---- */

void leat_metrics_spread_name(struct leat_text *text, const struct leat_spread_meter *meter) {
    leat_text_add(text, "%s%s", meter->name, unit_suffixes[meter->unit]);
}

static void add_line(struct leat_text *text, const struct leat_spread_meter *meter,
                     const char *suffix, const struct leat_stream_reading *stream) {
    leat_metrics_spread_name(text, meter);
    leat_text_add(text, "%s{", suffix);
    add_stream_labels(text, stream);
}

/* A bound is written in one way in both formats, as it is a label: with a point. */
static void add_bound(struct leat_text *text, const struct leat_spread_meter *meter, size_t i) {
    uint64_t bound;

    if (i == meter->bounds->n) {
        leat_text_add(text, ",le=\"+Inf\"}");
        return;
    }
    bound = meter->bounds->at[i];
    if (meter->unit == LEAT_METER_NS && bound < SECOND_NS)
        leat_text_add(text, ",le=\"%g\"}", (double)bound / (double)SECOND_NS);
    else
        leat_text_add(text, ",le=\"%" PRIu64 ".0\"}",
                      meter->unit == LEAT_METER_NS ? bound / SECOND_NS : bound);
}

static void add_spread(struct leat_text *text, const struct leat_spread_meter *meter,
                       const struct leat_stream_reading *stream, const struct leat_spread *spread) {
    uint64_t n = 0;

    for (size_t i = 0; i <= meter->bounds->n; i++) {
        n += spread->n[i];
        add_line(text, meter, "_bucket", stream);
        add_bound(text, meter, i);
        leat_text_add(text, " %" PRIu64 "\n", n);
    }
    add_line(text, meter, "_sum", stream);
    leat_text_add(text, "}");
    add_number(text, meter->unit, spread->total);
    add_line(text, meter, "_count", stream);
    leat_text_add(text, "} %" PRIu64 "\n", n);
}

static void add_spreads(struct leat_text *text, const struct leat_reading *reading,
                        enum leat_metrics_format format) {
    for (size_t i = 0; i < LEAT_N_SPREADS; i++) {
        const struct leat_spread_meter *meter = &leat_spread_meters[i];

        announce(text, meter->name, unit_suffixes[meter->unit], "", "histogram", meter->help,
                 format);
        for (size_t j = 0; j < reading->n_streams; j++)
            add_spread(text, meter, &reading->streams[j], &reading->streams[j].spreads[i]);
    }
}

void leat_metrics_render(struct leat_text *text, const struct leat_reading *reading,
                         enum leat_metrics_format format) {
    announce(text, LEAT_METRICS_BUILD_INFO, "", "", "gauge", LEAT_METRICS_BUILD_INFO_HELP, format);
    leat_text_add(text, LEAT_METRICS_BUILD_INFO "{version=\"%s\"} 1\n", LEAT_VERSION);
    for (const struct leat_meter *meter = leat_meters; meter->name; meter++) {
        if (!meter->label || strcmp(meter[-1].name, meter->name) != 0)
            announce(text, meter->name, unit_suffixes[meter->unit], suffix(meter),
                     meter->kind == LEAT_METER_COUNTER ? "counter" : "gauge", meter->help, format);
        if (meter->scope == LEAT_METER_DAEMON) {
            leat_metrics_name(text, meter);
            add_value(text, meter, &reading->figures);
        } else {
            add_streams(text, meter, reading);
        }
    }
    add_spreads(text, reading, format);
    if (format == LEAT_METRICS_OPENMETRICS)
        leat_text_add(text, "# EOF\n");
}
