/* saved.c: what was measured, for programs, and back again for --compare. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/json_request.h"
#include "client/cli/bench/bench.h"
#include "client/leat.h"

#define MAX_NAME 256 /* of a saved case, in bytes */

/* `before` is what stands before the value: ", \"name\": ". */
static void add_text(struct leat_text *text, const char *before, const char *value) {
    leat_text_add(text, "%s", before);
    if (value)
        leat_text_add_json(text, value, strlen(value));
    else
        leat_text_add(text, "null");
}

static void add_sample(struct leat_text *text, const double *values) {
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        leat_text_add(text, "%s\"%s\": ", i ? ", " : "{", leat_bench_figures[i].key);
        if (isfinite(values[i]))
            leat_text_add(text, "%.9g", values[i]);
        else
            leat_text_add(text, "null");
    }
    leat_text_add(text, "}");
}

static void add_case(struct leat_text *text, const struct leat_bench_case *item) {
    double medians[LEAT_BENCH_N_FIGURES];

    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++)
        medians[i] = leat_bench_case_summary(item, (enum leat_bench_figure)i).median;
    add_text(text, "{\"name\": ", item->name);
    add_text(text, ", \"file\": ", item->file);
    add_text(text, ", \"stream\": ", item->stream);
    add_text(text, ", \"spec_digest\": ", item->digest[0] ? item->digest : NULL);
    leat_text_add(text, ", \"set\": [");
    for (size_t i = 0; i < item->n_overrides; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_text_add_json(text, item->overrides[i], strlen(item->overrides[i]));
    }
    leat_text_add(text, "],\n   \"median\": ");
    add_sample(text, medians);
    leat_text_add(text, ",\n   \"runs\": [");
    for (size_t i = 0; i < item->n_samples; i++) {
        leat_text_add(text, i ? ",\n    " : "\n    ");
        add_sample(text, item->samples[i]);
    }
    leat_text_add(text, "]}");
}

void leat_bench_to_json(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_case *best = leat_bench_best(bench, NULL);
    time_t now = time(NULL);
    char date[32] = "";
    struct tm utc;

    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    leat_text_add(text, "{\"leat_bench\": %d", LEAT_BENCH_JSON_FORMAT);
    add_text(text, ", \"version\": ", leat_version());
    add_text(text, ", \"date\": ", date);
    leat_text_add(text, ",\n \"machine\": ");
    leat_bench_add_machine(text, true);
    leat_text_add(text,
                  ",\n \"options\": {\"seconds\": %" PRIu64 ", \"batches\": %" PRIu64
                  ", \"epochs\": %" PRIu64 ", \"repeat\": %" PRIu64
                  ", \"window\": %u, \"delivery\": \"%s\"",
                  bench->n_seconds, bench->n_batches, bench->n_epochs, bench->n_repeat,
                  bench->window, bench->delivery == LEAT_DELIVERY_COPY ? "copy" : "shared");
    add_text(text, ", \"goal\": ", leat_bench_figures[bench->goal].key);
    add_text(text, ", \"find\": ", bench->searched);
    leat_text_add(text, "},\n \"configurations\": [");
    for (size_t i = 0; i < bench->n_cases; i++) {
        leat_text_add(text, i ? ",\n  " : "\n  ");
        add_case(text, bench->cases[i]);
    }
    add_text(text, "],\n \"best\": ", best ? best->name : NULL);
    add_text(text, ", \"found\": ", bench->searched ? bench->found : NULL);
    leat_text_add(text, ", \"was_interrupted\": %s}\n", bench->was_interrupted ? "true" : "false");
}

/* ---- back again ---- */

/* Figures that another version has not are not known. */
static int read_runs(struct leat_json_node runs, struct leat_bench_case *item,
                     struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node run, value;

    leat_json_iterate(runs, &iterator);
    while (leat_json_next(&iterator, &run)) {
        enum leat_json_kind kind = leat_json_kind(run);

        if (item->n_samples == LEAT_BENCH_REPEAT_MAX)
            return leat_error_set(err, -E2BIG, "more than %d runs", LEAT_BENCH_REPEAT_MAX);
        if (kind != LEAT_JSON_OBJECT)
            return leat_error_set(err, -EINVAL, "a run is %s, but it must be an object",
                                  leat_json_kind_name(kind));
        for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
            const char *key = leat_bench_figures[i].key;

            item->samples[item->n_samples][i] = NAN;
            if (!leat_json_find(run, key, strlen(key), &value))
                continue;
            kind = leat_json_kind(value);
            if (kind == LEAT_JSON_INT || kind == LEAT_JSON_UINT || kind == LEAT_JSON_DOUBLE)
                item->samples[item->n_samples][i] = leat_json_double(value);
        }
        item->n_samples++;
    }
    return 0;
}

static int read_case(struct leat_json_node object, struct leat_bench *bench,
                     struct leat_error *err) {
    struct leat_json_node runs, name, stream;
    char *texts[2] = {NULL, NULL};
    struct leat_bench_case *item;
    int r;

    if (leat_json_kind(object) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "%s, but it must be an object",
                              leat_json_kind_name(leat_json_kind(object)));
    if (bench->n_cases == 2 * LEAT_BENCH_MAX_CASES)
        return leat_error_set(err, -E2BIG, "more than %d of them", 2 * LEAT_BENCH_MAX_CASES);
    r = leat_cli_request_required(object, "runs", LEAT_JSON_ARRAY, &runs, err);
    if (r == 0)
        r = leat_cli_request_required(object, "name", LEAT_JSON_STRING, &name, err);
    if (r == 0)
        r = leat_cli_request_required(object, "stream", LEAT_JSON_STRING, &stream, err);
    if (r < 0)
        return r;
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        const char *text = leat_json_string(i ? stream : name, &n);

        texts[i] = strndup(text, n < MAX_NAME ? n : MAX_NAME);
    }
    item = texts[0] && texts[1] ? leat_bench_add_case(bench, texts[0], NULL, texts[1]) : NULL;
    free(texts[0]);
    free(texts[1]);
    return item ? read_runs(runs, item, err) : leat_error_oom(err);
}

static int read_cases(struct leat_json_node root, struct leat_bench *bench,
                      struct leat_error *err) {
    struct leat_json_node cases, object;
    struct leat_json_iterator iterator;
    size_t n = 0;
    int r;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT ||
        !leat_json_find(root, "leat_bench", strlen("leat_bench"), &object) ||
        leat_json_kind(object) != LEAT_JSON_INT || leat_json_int(object) != LEAT_BENCH_JSON_FORMAT)
        return leat_error_set(err, -EINVAL,
                              "this is no result that `leatctl bench --json` saved "
                              "(\"leat_bench\": %d is missing)",
                              LEAT_BENCH_JSON_FORMAT);
    r = leat_cli_request_required(root, "configurations", LEAT_JSON_ARRAY, &cases, err);
    if (r < 0)
        return r;
    leat_json_iterate(cases, &iterator);
    for (; r == 0 && leat_json_next(&iterator, &object); n += r == 0)
        r = read_case(object, bench, err);
    if (r < 0)
        leat_error_prefix(err, "configurations[%zu]", n);
    return r;
}

int leat_bench_from_json(const char *data, size_t n_bytes, const char *file,
                         struct leat_bench *bench, struct leat_error *err) {
    struct leat_json *json = NULL;
    struct leat_json_node root;
    int r;

    if (leat_json_new(n_bytes + 1, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, data, n_bytes, n_bytes, &root, err);
    if (r == 0)
        r = read_cases(root, bench, err);
    if (r < 0)
        leat_error_locate(err, file, 0, 0);
    leat_json_free(json);
    return r;
}
