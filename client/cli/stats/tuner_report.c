/* tuner_report.c: see tuner_report.h. */
#include "client/cli/stats/tuner_report.h"

#include <inttypes.h>
#include <string.h>

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

static void add_text_json(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, "\"%s\": ", name);
    leat_text_add_json(text, value, strlen(value));
}

static void add_knobs_json(struct leat_text *text, const Leat__TunerStats *tuner) {
    leat_text_add(text, ", \"knobs\": [");
    for (size_t i = 0; i < tuner->n_knobs; i++) {
        const Leat__KnobStats *knob = tuner->knobs[i];

        leat_text_add(text, "%s{", i ? ", " : "");
        add_text_json(text, "name", knob->name);
        leat_text_add(text,
                      ", \"value\": %" PRIu64 ", \"current\": %" PRIu64 ", \"is_pinned\": %s}",
                      knob->value, knob->current, knob->is_pinned ? "true" : "false");
    }
    leat_text_add(text, "]");
}

static void add_decisions_json(struct leat_text *text, const Leat__TunerStats *tuner) {
    leat_text_add(text, ", \"decisions\": [");
    for (size_t i = 0; i < tuner->n_decisions; i++) {
        leat_text_add(text, "%s{\"at_ns\": %" PRIu64 ", ", i ? ", " : "",
                      tuner->decisions[i]->at_ns);
        add_text_json(text, "reason", tuner->decisions[i]->reason);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
}

void leat_cli_tuner_json(struct leat_text *text, const Leat__StreamStats *stats) {
    leat_text_add(text, "\"tuners\": [");
    for (size_t i = 0; i < stats->n_tuners; i++) {
        leat_text_add(text, "%s{", i ? ", " : "");
        add_text_json(text, "phase", stats->tuners[i]->phase);
        leat_text_add(text, ", \"has_ended\": %s", stats->tuners[i]->has_ended ? "true" : "false");
        add_knobs_json(text, stats->tuners[i]);
        add_decisions_json(text, stats->tuners[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
}
