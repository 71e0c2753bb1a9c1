/* reference.c: see reference.h. */
#include "daemon/core/reference.h"

#include <string.h>

#include "daemon/config/settings.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics.h"
#include "pipeline/spec/arg_json.h"

static void add_settings(struct leat_text *text) {
    leat_text_add(text, ",\n\"settings\": ");
    leat_args_json(text, leat_settings_args);
    leat_text_add(text, ",\n\"at_start\": [");
    for (size_t i = 0; leat_settings_at_start[i]; i++)
        leat_text_add(text, "%s\"%s\"", i ? ", " : "", leat_settings_at_start[i]);
    leat_text_add(text, "]");
}

static void add_events(struct leat_text *text) {
    leat_text_add(text, ",\n\"events\": [");
    for (size_t i = 0; i < LEAT_N_EVENTS; i++) {
        const struct leat_log_event *event = &leat_log_events[i];

        leat_text_add(text, "%s\n{\"name\": \"%s\", \"room\": \"%s\", \"level\": \"%s\"",
                      i ? "," : "", event->name, leat_log_room_name(event->room),
                      leat_log_level_name(event->level));
        leat_arg_json_text(text, "id", event->id);
        leat_arg_json_text(text, "message", event->message);
        leat_arg_json_text(text, "advice", event->advice);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
}

static void add_metrics(struct leat_text *text) {
    static const char *const scopes[] = {[LEAT_METER_DAEMON] = "daemon",
                                         [LEAT_METER_STREAM] = "stream",
                                         [LEAT_METER_STAGE] = "stage"};

    leat_text_add(text, ",\n\"metrics\": [\n{\"name\": \"" LEAT_METRICS_BUILD_INFO
                        "\", \"scope\": \"daemon\", \"kind\": \"gauge\"");
    leat_arg_json_text(text, "member", NULL);
    leat_arg_json_text(text, "help", LEAT_METRICS_BUILD_INFO_HELP);
    leat_text_add(text, "}");
    for (const struct leat_meter *meter = leat_meters; meter->name; meter++) {
        if (meter->label && strcmp(meter[-1].name, meter->name) == 0)
            continue;
        leat_text_add(text, ",\n{\"name\": \"");
        leat_metrics_name(text, meter);
        leat_text_add(text, "\", \"scope\": \"%s\", \"kind\": \"%s\"", scopes[meter->scope],
                      meter->kind == LEAT_METER_COUNTER ? "counter" : "gauge");
        leat_arg_json_text(text, "member", meter->member);
        leat_arg_json_text(text, "help", meter->help);
        leat_text_add(text, "}");
    }
    for (size_t i = 0; i < LEAT_N_SPREADS; i++) {
        leat_text_add(text, ",\n{\"name\": \"");
        leat_metrics_spread_name(text, &leat_spread_meters[i]);
        leat_text_add(text, "\", \"scope\": \"stream\", \"kind\": \"histogram\"");
        leat_arg_json_text(text, "member", NULL);
        leat_arg_json_text(text, "help", leat_spread_meters[i].help);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
}

void leat_reference_json(struct leat_text *text) {
    leat_text_add(text, "{\"version\": \"" LEAT_VERSION "\"");
    add_settings(text);
    add_events(text);
    add_metrics(text);
    leat_text_add(text, "}\n");
}
