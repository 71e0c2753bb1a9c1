/* json.c: see json.h. Written from the table of figures. */
#include "client/cli/bench/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "client/leat.h"

static void add_text(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, "\"%s\": ", name);
    if (value)
        leat_text_add_json(text, value, strlen(value));
    else
        leat_text_add(text, "null");
}

static void add_number(struct leat_text *text, const char *name, double value) {
    if (isfinite(value))
        leat_text_add(text, "\"%s\": %.9g", name, value);
    else
        leat_text_add(text, "\"%s\": null", name);
}

static void add_machine(struct leat_text *text, const struct leat_bench_machine *machine) {
    leat_text_add(text, "\"machine\": {");
    add_text(text, "host", machine->host);
    leat_text_add(text, ", ");
    add_text(text, "cpu", machine->cpu);
    leat_text_add(text, ", \"cpus\": %u, \"memory_bytes\": %" PRIu64 ", ", machine->n_cpus,
                  machine->memory_bytes);
    add_text(text, "kernel", machine->kernel);
    leat_text_add(text, "}");
}

static void add_options(struct leat_text *text, const struct leat_bench *bench) {
    leat_text_add(
        text,
        "\"options\": {\"seconds\": %" PRIu64 ", \"batches\": %" PRIu64 ", \"epochs\": %" PRIu64
        ", \"repeat\": %" PRIu64 ", \"window\": %u, \"delivery\": \"%s\", ",
        bench->length.seconds, bench->length.n_batches, bench->length.n_epochs, bench->n_repeat,
        bench->window, bench->delivery == LEAT_DELIVERY_COPY ? "copy" : "shared");
    add_text(text, "goal", leat_bench_figures[bench->goal].goal);
    leat_text_add(text, ", ");
    add_text(text, "find", bench->searched);
    leat_text_add(text, "}");
}

static void add_sample(struct leat_text *text, const struct leat_bench_sample *sample) {
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        leat_text_add(text, i ? ", " : "{");
        add_number(text, leat_bench_figures[i].key, sample->values[i]);
    }
    leat_text_add(text, "}");
}

static void add_case(struct leat_text *text, const struct leat_bench_case *item) {
    struct leat_bench_sample medians, spreads;

    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        struct leat_bench_summary summary =
            leat_bench_case_summary(item, (enum leat_bench_figure)i);

        medians.values[i] = summary.median;
        spreads.values[i] = summary.n_values ? leat_bench_spread(&summary) : NAN;
    }
    leat_text_add(text, "{");
    add_text(text, "name", item->name);
    leat_text_add(text, ", ");
    add_text(text, "file", item->file);
    leat_text_add(text, ", ");
    add_text(text, "stream", item->stream);
    leat_text_add(text, ", ");
    add_text(text, "spec_digest", item->digest[0] ? item->digest : NULL);
    leat_text_add(text, ", \"set\": [");
    for (size_t i = 0; i < item->n_overrides; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_text_add_json(text, item->overrides[i], strlen(item->overrides[i]));
    }
    leat_text_add(text, "],\n   \"median\": ");
    add_sample(text, &medians);
    leat_text_add(text, ",\n   \"spread\": ");
    add_sample(text, &spreads);
    leat_text_add(text, ",\n   \"runs\": [");
    for (size_t i = 0; i < item->n_samples; i++) {
        leat_text_add(text, i ? ",\n    " : "\n    ");
        add_sample(text, &item->samples[i]);
    }
    leat_text_add(text, "]}");
}

static void add_time(struct leat_text *text) {
    time_t now = time(NULL);
    char date[32] = "";
    struct tm utc;

    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    add_text(text, "date", date);
}

void leat_bench_to_json(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_case *best = leat_bench_best(bench, bench->goal);

    leat_text_add(text, "{\"leat_bench\": %d, ", LEAT_BENCH_JSON_FORMAT);
    add_text(text, "version", leat_version());
    leat_text_add(text, ", ");
    add_time(text);
    leat_text_add(text, ",\n ");
    add_machine(text, &bench->machine);
    leat_text_add(text, ",\n ");
    add_options(text, bench);
    leat_text_add(text, ",\n \"configurations\": [");
    for (size_t i = 0; i < bench->n_cases; i++) {
        leat_text_add(text, i ? ",\n  " : "\n  ");
        add_case(text, bench->cases[i]);
    }
    leat_text_add(text, "],\n ");
    add_text(text, "best", best ? best->name : NULL);
    leat_text_add(text, ", ");
    add_text(text, "found", bench->searched ? bench->found : NULL);
    leat_text_add(text, ", \"was_interrupted\": %s}\n", bench->was_interrupted ? "true" : "false");
}
