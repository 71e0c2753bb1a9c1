/* saved.c: results that were saved earlier, by us or by anybody. Declared in json.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/json_request.h"
#include "client/cli/bench/json.h"

#define MAX_NAME 256

static bool is_number(struct leat_json_node node) {
    enum leat_json_kind kind = leat_json_kind(node);

    return kind == LEAT_JSON_INT || kind == LEAT_JSON_UINT || kind == LEAT_JSON_DOUBLE;
}

/* Figures that a later or earlier version has not are not known. */
static int read_sample(struct leat_json_node run, struct leat_bench_sample *ret_sample,
                       struct leat_error *err) {
    if (leat_json_kind(run) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "a run is %s, but it must be an object",
                              leat_json_kind_name(leat_json_kind(run)));
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        const char *key = leat_bench_figures[i].key;
        struct leat_json_node value;

        ret_sample->values[i] = NAN;
        if (leat_json_find(run, key, strlen(key), &value) && is_number(value))
            ret_sample->values[i] = leat_json_double(value);
    }
    return 0;
}

static int read_runs(struct leat_json_node runs, struct leat_bench_case *item,
                     struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node run;
    int r = 0;

    leat_json_iterate(runs, &iterator);
    while (r == 0 && leat_json_next(&iterator, &run)) {
        if (item->n_samples == LEAT_BENCH_REPEAT_MAX)
            return leat_error_set(err, -E2BIG, "more than %d runs", LEAT_BENCH_REPEAT_MAX);
        r = read_sample(run, &item->samples[item->n_samples], err);
        item->n_samples += r == 0;
    }
    return r;
}

/* A text member, cut to MAX_NAME bytes. */
static int read_text(struct leat_json_node object, const char *key, char **ret_text,
                     struct leat_error *err) {
    struct leat_json_node member;
    size_t n = 0;
    const char *text;
    int r = leat_cli_request_required(object, key, LEAT_JSON_STRING, &member, err);

    if (r < 0)
        return r;
    text = leat_json_string(member, &n);
    free(*ret_text);
    *ret_text = strndup(text, n < MAX_NAME ? n : MAX_NAME);
    return *ret_text ? 0 : leat_error_oom(err);
}

static int read_case(struct leat_json_node object, struct leat_bench *bench,
                     struct leat_error *err) {
    struct leat_bench_case *item;
    struct leat_json_node runs;
    int r;

    if (leat_json_kind(object) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "%s, but it must be an object",
                              leat_json_kind_name(leat_json_kind(object)));
    r = leat_cli_request_required(object, "runs", LEAT_JSON_ARRAY, &runs, err);
    if (r < 0)
        return r;
    if (bench->n_cases == LEAT_BENCH_MAX_CASES)
        return leat_error_set(err, -E2BIG, "more than %d of them", LEAT_BENCH_MAX_CASES);
    item = leat_bench_add_case(bench, NULL, "");
    if (!item)
        return leat_error_oom(err);
    r = read_text(object, "name", &item->name, err);
    if (r == 0)
        r = read_text(object, "stream", &item->stream, err);
    return r == 0 ? read_runs(runs, item, err) : r;
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
