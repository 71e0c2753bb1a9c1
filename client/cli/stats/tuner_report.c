#include "client/cli/stats/tuner_report.h"

#include <inttypes.h>

#include "proto/base/json_writer.h"

static void add_knob_text(struct leat_text *text, const Leat__KnobStats *knob) {
    leat_text_add(text, "   %s %" PRIu64, knob->name, knob->value);
    if (knob->current != knob->value)
        leat_text_add(text, " (trying %" PRIu64 ")", knob->current);
    leat_text_add(text, "%s", knob->is_pinned ? " (by hand)" : "");
}

void leat_cli_tuner_text(struct leat_text *text, const Leat__StreamStats *stats) {
    for (size_t i = 0; i < stats->n_tuners; i++) {
        const Leat__TunerStats *tuner = stats->tuners[i];

        leat_text_add(text, "  %-14s %s%s:", "tuner", tuner->phase,
                      tuner->has_ended ? ", in the last run" : "");
        for (size_t k = 0; k < tuner->n_knobs; k++)
            add_knob_text(text, tuner->knobs[k]);
        leat_text_add(text, "\n");
        for (size_t k = 0; k < tuner->n_decisions; k++)
            leat_text_add_line(text, "    %8.1f s  %s", (double)tuner->decisions[k]->at_ns / 1e9,
                               tuner->decisions[k]->reason);
    }
}

static void add_knobs_json(struct leat_text *json, const Leat__TunerStats *tuner) {
    leat_json_open(json, "knobs", '[');
    for (size_t i = 0; i < tuner->n_knobs; i++) {
        const Leat__KnobStats *knob = tuner->knobs[i];

        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "name", knob->name);
        leat_json_add_uint(json, "value", knob->value);
        leat_json_add_uint(json, "current", knob->current);
        leat_json_add_bool(json, "is_pinned", knob->is_pinned);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

static void add_decisions_json(struct leat_text *json, const Leat__TunerStats *tuner) {
    leat_json_open(json, "decisions", '[');
    for (size_t i = 0; i < tuner->n_decisions; i++) {
        leat_json_open(json, NULL, '{');
        leat_json_add_uint(json, "at_ns", tuner->decisions[i]->at_ns);
        leat_json_add_text(json, "reason", tuner->decisions[i]->reason);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

void leat_cli_tuner_json(struct leat_text *json, const Leat__StreamStats *stats) {
    leat_json_open(json, "tuners", '[');
    for (size_t i = 0; i < stats->n_tuners; i++) {
        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "phase", stats->tuners[i]->phase);
        leat_json_add_bool(json, "has_ended", stats->tuners[i]->has_ended);
        add_knobs_json(json, stats->tuners[i]);
        add_decisions_json(json, stats->tuners[i]);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}
