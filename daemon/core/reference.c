#include "daemon/core/reference.h"

#include <stdlib.h>

#include "daemon/config/settings.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics.h"
#include "pipeline/spec/arg_json.h"
#include "proto/base/json_writer.h"

static void add_settings(struct leat_text *json) {
    leat_json_line(json);
    leat_args_json(json, "settings", leat_settings_args);
    leat_json_line(json);
    leat_json_add_texts(json, "at_start", leat_settings_at_start);
}

static void add_events(struct leat_text *json) {
    leat_json_line(json);
    leat_json_open(json, "events", '[');
    for (size_t i = 0; i < LEAT_N_EVENTS; i++) {
        const struct leat_log_event *event = &leat_log_events[i];

        leat_json_line(json);
        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "name", event->name);
        leat_json_add_text(json, "room", leat_log_room_name(event->room));
        leat_json_add_text(json, "level", leat_log_level_name(event->level));
        leat_json_add_text(json, "id", event->id);
        leat_json_add_text(json, "message", event->message);
        leat_json_add_text(json, "advice", event->advice);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

static void add_metric(struct leat_text *json, const char *name, const char *scope,
                       const char *kind, const char *member, const char *help) {
    leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", name);
    leat_json_add_text(json, "scope", scope);
    leat_json_add_text(json, "kind", kind);
    leat_json_add_text(json, "member", member);
    leat_json_add_text(json, "help", help);
    leat_json_close(json, '}');
}

static void add_figures(struct leat_text *json, const struct leat_figure *table,
                        const char *scope) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        struct leat_text name = {.data = NULL};

        if (!leat_figure_is_first(figure))
            continue;
        leat_metrics_name(&name, figure);
        add_metric(json, name.data, scope,
                   figure->kind == LEAT_FIGURE_COUNTER ? "counter" : "gauge", figure->member,
                   figure->help);
        free(name.data);
    }
}

static void add_metrics(struct leat_text *json) {
    leat_json_line(json);
    leat_json_open(json, "metrics", '[');
    add_metric(json, LEAT_METRICS_BUILD_INFO, "daemon", "gauge", NULL,
               LEAT_METRICS_BUILD_INFO_HELP);
    add_figures(json, leat_daemon_figure_table, "daemon");
    add_figures(json, leat_stream_figure_table, "stream");
    add_figures(json, leat_stage_figure_table, "stage");
    for (size_t i = 0; i < LEAT_N_SPREADS; i++) {
        struct leat_text name = {.data = NULL};

        leat_metrics_spread_name(&name, &leat_spread_table[i]);
        add_metric(json, name.data, "stream", "histogram", NULL, leat_spread_table[i].help);
        free(name.data);
    }
    leat_json_close(json, ']');
}

void leat_reference_json(struct leat_text *json) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "version", LEAT_VERSION);
    add_settings(json);
    add_events(json);
    add_metrics(json);
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}
