/* saved.c: results as JSON, and reading them again for --compare. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/line_input.h"
#include "client/cli/bench/bench.h"
#include "client/leat.h"
#include "proto/base/json_writer.h"

#define MAX_NAME 256 /* of a saved case, in bytes */

static void add_sample(struct leat_text *json, const char *key, const double *values) {
    leat_json_open(json, key, '{');
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++)
        leat_json_add_double(json, leat_bench_figures[i].key, values[i]);
    leat_json_close(json, '}');
}

static void add_case(struct leat_text *json, const struct leat_bench_case *item) {
    double medians[LEAT_BENCH_N_FIGURES];

    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++)
        medians[i] = leat_bench_case_summary(item, (enum leat_bench_figure)i).median;
    leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", item->name);
    leat_json_add_text(json, "file", item->file);
    leat_json_add_text(json, "stream", item->stream);
    leat_json_add_text(json, "spec_digest", item->digest[0] ? item->digest : NULL);
    leat_json_open(json, "set", '[');
    for (size_t i = 0; i < item->n_overrides; i++)
        leat_json_add_text(json, NULL, item->overrides[i]);
    leat_json_close(json, ']');
    leat_json_line(json);
    add_sample(json, "median", medians);
    leat_json_line(json);
    leat_json_open(json, "runs", '[');
    for (size_t i = 0; i < item->n_samples; i++) {
        leat_json_line(json);
        add_sample(json, NULL, item->samples[i]);
    }
    leat_json_close(json, ']');
    leat_json_close(json, '}');
}

void leat_bench_to_json(const struct leat_bench *bench, struct leat_text *json) {
    const struct leat_bench_case *best = leat_bench_best(bench, NULL);
    time_t now = time(NULL);
    char date[32] = "";
    struct tm utc;

    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    leat_json_open(json, NULL, '{');
    leat_json_add_int(json, "leat_bench", LEAT_BENCH_JSON_FORMAT);
    leat_json_add_text(json, "version", leat_version());
    leat_json_add_text(json, "date", date);
    leat_json_line(json);
    leat_bench_add_machine_json(json);
    leat_json_line(json);
    leat_json_open(json, "options", '{');
    leat_json_add_uint(json, "seconds", bench->n_seconds);
    leat_json_add_uint(json, "batches", bench->n_batches);
    leat_json_add_uint(json, "epochs", bench->n_epochs);
    leat_json_add_uint(json, "repeat", bench->n_repeat);
    leat_json_add_uint(json, "window", bench->window);
    leat_json_add_text(json, "delivery", leat_cli_deliveries[bench->delivery]);
    leat_json_add_text(json, "goal", leat_bench_figures[bench->goal].key);
    leat_json_add_text(json, "find", bench->searched);
    leat_json_close(json, '}');
    leat_json_line(json);
    leat_json_open(json, "configurations", '[');
    for (size_t i = 0; i < bench->n_cases; i++)
        add_case(json, bench->cases[i]);
    leat_json_close(json, ']');
    leat_json_line(json);
    leat_json_add_text(json, "best", best ? best->name : NULL);
    leat_json_add_text(json, "found", bench->searched ? bench->found : NULL);
    leat_json_add_bool(json, "was_interrupted", bench->was_interrupted);
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

/* ---- reading ---- */

/* A figure that another version has not saved is NAN. */
static int read_runs(struct leat_json_node runs, struct leat_bench_case *item,
                     struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node run, value;

    leat_json_iterate(runs, &iterator);
    while (leat_json_next(&iterator, &run)) {
        enum leat_json_kind kind = leat_json_kind(run);

        if (item->n_samples == LEAT_BENCH_REPEAT_MAX)
            return leat_error_set(err, -E2BIG, "the file has more than %d runs",
                                  LEAT_BENCH_REPEAT_MAX);
        if (kind != LEAT_JSON_OBJECT)
            return leat_error_set(err, -EINVAL, "a run must be an object, but it is %s",
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
        return leat_error_set(err, -EINVAL, "it is %s, but it must be an object",
                              leat_json_kind_name(leat_json_kind(object)));
    if (bench->n_cases == 2 * LEAT_BENCH_MAX_CASES)
        return leat_error_set(err, -E2BIG, "there are more than %d runs to compare",
                              2 * LEAT_BENCH_MAX_CASES);
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
        return leat_error_set(
            err, -EINVAL,
            "this is not a file of `leatctl bench --save` (\"leat_bench\": %d is missing)",
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
