/* find.c: `--find PATH`: the best value of an argument, by a search (search.h). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/bench/bench.h"
#include "client/cli/bench/search.h"
#include "proto/base/calls.h"

#define MAX_VALUE INT64_C(1000000000000000000)

struct finder {
    struct leat_bench *bench;
    const struct leat_spec *spec;
    int (*run)(struct leat_bench *bench, size_t first_case, struct leat_error *err);
    struct leat_bench_axis axis;
    struct leat_bench_search search;
    struct leat_error *err;
};

/* `range` is "LOW..HIGH". NULL: until the stream refuses a value; `workers` up to twice the number
 * of CPUs. */
static int set_range(struct finder *finder, const char *range) {
    const char *dots = range ? strstr(range, "..") : NULL;
    int64_t low = 1, high = 0;

    if (!range)
        high = strcmp(finder->axis.path, "workers") == 0 ? 2 * (int64_t)leat_n_cpus() : MAX_VALUE;
    else if (!dots || leat_parse_bytes(range, (size_t)(dots - range), &low) < 0 ||
             leat_parse_bytes(dots + 2, strlen(dots + 2), &high) < 0 || low < 1 || low > high)
        return leat_error_set(
            finder->err, -EINVAL,
            "--find: \"%.64s\" is not a range of whole numbers from 1, such as 1..64", range);
    finder->search.low = (uint64_t)low;
    finder->search.high = (uint64_t)high;
    return 0;
}

/* The value in the file, else the default, else 1. */
static uint64_t start_value(const struct finder *finder) {
    const struct leat_value *written = finder->axis.written;
    const char *text = written && written->kind == LEAT_VALUE_SCALAR ? written->text
                       : finder->axis.arg                            ? finder->axis.arg->fallback
                                                                     : NULL;
    int64_t value;

    return text && leat_parse_bytes(text, strlen(text), &value) == 0 && value > 0 ? (uint64_t)value
                                                                                  : 1;
}

/* A value that the stream refuses has the score 0; as the first one it is an error. */
static int measure_value(void *user, uint64_t value, double *ret_score) {
    struct finder *finder = user;
    struct leat_bench *bench = finder->bench;
    struct leat_bench_case *item = leat_bench_add_case(bench, "", bench->file, finder->spec->name);
    struct leat_error refused = LEAT_ERROR_INIT;
    double median;
    char text[24];
    int r;

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    if (!item || leat_bench_case_set(item, finder->axis.full, finder->axis.path, text) < 0)
        return leat_error_oom(finder->err);
    item->value = value;
    *ret_score = 0;
    r = leat_bench_check(item, &refused);
    if (r < 0 && finder->search.n_points > 0)
        return 0;
    *finder->err = refused;
    if (r == 0)
        r = finder->run(bench, bench->n_cases - 1, finder->err);
    median = leat_bench_case_summary(item, bench->goal).median;
    if (isfinite(median) && median > 0)
        *ret_score = leat_bench_figures[bench->goal].is_better_low ? 1 / median : median;
    return r;
}

static int compare_values(const void *a, const void *b) {
    uint64_t x = (*(struct leat_bench_case *const *)a)->value;
    uint64_t y = (*(struct leat_bench_case *const *)b)->value;

    return (x > y) - (x < y);
}

static const char *print_score(const struct leat_bench *bench, const struct leat_bench_point *point,
                               char buffer[LEAT_CLI_UNIT_MAX]) {
    const struct leat_bench_figure_info *info = &leat_bench_figures[bench->goal];

    return leat_bench_print(info->is_better_low ? 1 / point->score : point->score, info->unit,
                            buffer);
}

static void fill_found(const struct finder *finder) {
    const struct leat_bench_point *best = leat_bench_search_best(&finder->search);
    const struct leat_bench_point *smallest = leat_bench_search_smallest(&finder->search);
    struct leat_bench *bench = finder->bench;
    char value[LEAT_CLI_UNIT_MAX], also[128] = "";

    qsort(bench->cases, bench->n_cases, sizeof(bench->cases[0]), compare_values);
    if (!best)
        return;
    if (smallest != best)
        (void)snprintf(
            also, sizeof(also), "; the smallest value at most %.0f %% worse: %" PRIu64 ", %s",
            100 * LEAT_BENCH_NEARLY, smallest->value, print_score(bench, smallest, value));
    (void)snprintf(bench->found, sizeof(bench->found),
                   "best for %s: %.48s=%" PRIu64 ", %s%s\n"
                   "the search stopped because %s",
                   leat_bench_figures[bench->goal].label, finder->axis.path, best->value,
                   print_score(bench, best, value), also,
                   bench->was_interrupted ? "you interrupted it" : finder->search.reason);
}

int leat_bench_find(struct leat_bench *bench, const struct leat_spec *spec, const char *text,
                    int (*run)(struct leat_bench *bench, size_t first_case, struct leat_error *err),
                    struct leat_error *err) {
    struct finder finder = {
        .bench = bench, .spec = spec, .run = run, .search = {.measure = measure_value}, .err = err};
    const char *equals = strchr(text, '=');
    char whole[320];
    int r;

    (void)snprintf(whole, sizeof(whole), "%.*s=1", (int)(equals ? equals - text : 256), text);
    bench->searched = text;
    finder.search.user = &finder;
    r = leat_bench_axis_init(&finder.axis, "--find", whole, spec, err);
    if (r == 0)
        r = set_range(&finder, equals ? equals + 1 : NULL);
    if (r == 0)
        r = leat_bench_search(&finder.search, start_value(&finder));
    fill_found(&finder);
    leat_bench_axis_deinit(&finder.axis);
    return r;
}
