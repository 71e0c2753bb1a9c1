/* find.c: see find.h. */
#include "client/cli/bench/find.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/stream_file.h"
#include "client/cli/bench/check.h"
#include "client/cli/bench/search.h"

#define OPTION "--find"

struct finder {
    struct leat_bench *bench;
    const struct leat_spec *spec;
    struct leat_bench_axis axis;
    struct leat_bench_search search;
    struct leat_error *err;
};

/* ---- the range ---- */

static int range_from_text(const char *text, uint64_t *ret_low, uint64_t *ret_high,
                           struct leat_error *err) {
    const char *dots = strstr(text, "..");
    int64_t low, high;

    if (!dots || leat_parse_bytes(text, (size_t)(dots - text), &low) < 0 ||
        leat_parse_bytes(dots + 2, strlen(dots + 2), &high) < 0 || low < 1 || low > high)
        return leat_error_set(
            err, -EINVAL, OPTION ": \"%.64s\" is no range LOW..HIGH of whole numbers from 1", text);
    *ret_low = (uint64_t)low;
    *ret_high = (uint64_t)high;
    return 0;
}

/* As the argument's table says; `workers` up to twice as many as there are CPUs. */
static int range_from_table(const struct finder *finder, uint64_t *ret_low, uint64_t *ret_high) {
    const struct leat_arg *arg = finder->axis.arg;

    if (arg && (arg->type == LEAT_ARG_INT || arg->type == LEAT_ARG_BYTES) && arg->max >= 1) {
        *ret_low = arg->min >= 1 ? (uint64_t)arg->min : 1;
        *ret_high = arg->max < 1e18 ? (uint64_t)arg->max : (uint64_t)1e18;
        return 0;
    }
    if (!arg && strcmp(finder->axis.path, "workers") == 0) {
        *ret_low = 1;
        *ret_high = 2 * (uint64_t)finder->bench->machine.n_cpus;
        return 0;
    }
    return leat_error_set(
        finder->err, -EINVAL, OPTION " %.64s: %s; give a range: %.64s=LOW..HIGH", finder->axis.path,
        arg ? "this is no number with limits" : "its limits are not known here", finder->axis.path);
}

/* Where the value stands in the stream; NULL: it does not. */
static const struct leat_value *written_value(const struct finder *finder) {
    const struct leat_spec *spec = finder->spec;
    const char *path = finder->axis.full + strlen("streams.") + strlen(spec->name) + 1, *dot;
    struct leat_error ignored = LEAT_ERROR_INIT;
    char stage[LEAT_NAME_MAX + 32];
    int index;

    if (!finder->axis.arg)
        return NULL;
    dot = strchr(path, '.');
    if (!dot)
        return leat_value_get(&spec->options, path);
    (void)snprintf(stage, sizeof(stage), "%.*s", (int)(dot - path), path);
    if (leat_cli_find_stage(spec, stage, &index, &ignored) != 0)
        return NULL;
    return leat_value_get(index < 0 ? &spec->source.args : &spec->stages[index].args, dot + 1);
}

/* From what is written, else from the default, else from the least. */
static uint64_t start_value(const struct finder *finder, uint64_t low) {
    const struct leat_value *written = written_value(finder);
    const struct leat_arg *arg = finder->axis.arg;
    const char *text = written && written->kind == LEAT_VALUE_SCALAR ? written->text
                       : arg                                         ? arg->fallback
                                                                     : NULL;
    int64_t value;

    if (text && leat_parse_bytes(text, strlen(text), &value) == 0 && value > 0)
        return (uint64_t)value;
    return low;
}

static int begin(struct finder *finder, const char *text) {
    char *path = strdup(text), *equals, *whole = NULL;
    uint64_t low = 1, high = 1;
    int r;

    equals = path ? strchr(path, '=') : NULL;
    if (equals)
        *equals = '\0';
    if (!path || asprintf(&whole, "%s=1", path) < 0) {
        free(path);
        return leat_error_oom(finder->err);
    }
    r = leat_bench_axis_parse(OPTION, whole, &finder->axis, finder->err);
    if (r == 0)
        r = leat_bench_axis_resolve(OPTION, finder->spec, &finder->axis, finder->err);
    if (r == 0)
        r = equals ? range_from_text(equals + 1, &low, &high, finder->err)
                   : range_from_table(finder, &low, &high);
    if (r == 0)
        leat_bench_search_init(&finder->search, low, high, start_value(finder, low));
    free(whole);
    free(path);
    return r;
}

/* ---- the search ---- */

static double score_of(const struct leat_bench *bench, const struct leat_bench_case *item) {
    double median = leat_bench_case_summary(item, bench->goal).median;

    if (!isfinite(median) || median <= 0)
        return 0;
    return leat_bench_figures[bench->goal].is_better_low ? 1 / median : median;
}

static struct leat_bench_case *add_case(struct finder *finder, uint64_t value) {
    struct leat_bench *bench = finder->bench;
    struct leat_bench_case *item = leat_bench_add_case(bench, bench->file, finder->spec->name);
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    if (!item || leat_bench_case_set(item, finder->axis.full, finder->axis.path, text) < 0)
        return NULL;
    item->value = value;
    return item;
}

/* A value that the stream refuses is an answer, unless it is the first. */
static int try_value(struct finder *finder, uint64_t value,
                     int (*run)(struct leat_bench *bench, size_t first_case,
                                struct leat_error *err)) {
    struct leat_bench_case *item = add_case(finder, value);
    struct leat_error refused = LEAT_ERROR_INIT;
    int r;

    if (!item)
        return leat_error_oom(finder->err);
    r = leat_bench_check(item, &refused);
    if (r < 0 && finder->search.n_points == 0) {
        *finder->err = refused;
        return r;
    }
    if (r == 0)
        r = run(finder->bench, finder->bench->n_cases - 1, finder->err);
    else
        r = 0;
    if (r == 0)
        leat_bench_search_tell(&finder->search, value, score_of(finder->bench, item));
    return r;
}

static int compare_values(const void *a, const void *b) {
    uint64_t x = (*(struct leat_bench_case *const *)a)->value;
    uint64_t y = (*(struct leat_bench_case *const *)b)->value;

    return (x > y) - (x < y);
}

static void print_point(const struct finder *finder, const struct leat_bench_point *point,
                        char buffer[LEAT_CLI_UNIT_MAX]) {
    const struct leat_bench_figure_info *info = &leat_bench_figures[finder->bench->goal];

    (void)leat_bench_print(info->is_better_low ? 1 / point->score : point->score, info->unit,
                           buffer);
}

static void conclude(struct finder *finder) {
    const struct leat_bench_point *best = leat_bench_search_best(&finder->search);
    const struct leat_bench_point *smallest = leat_bench_search_smallest(&finder->search);
    struct leat_bench *bench = finder->bench;
    char value[LEAT_CLI_UNIT_MAX], nearly[LEAT_CLI_UNIT_MAX];
    int n;

    qsort(bench->cases, bench->n_cases, sizeof(bench->cases[0]), compare_values);
    if (!best)
        return;
    print_point(finder, best, value);
    print_point(finder, smallest, nearly);
    n = snprintf(bench->found, sizeof(bench->found), "best for %s: %s=%" PRIu64 ", %s",
                 leat_bench_figures[bench->goal].label, finder->axis.path, best->value, value);
    if (smallest->value != best->value)
        n += snprintf(bench->found + n, sizeof(bench->found) - (size_t)n,
                      "; the smallest within %.0f %% of it: %" PRIu64 ", %s",
                      100 * LEAT_BENCH_NEARLY, smallest->value, nearly);
    if ((size_t)n < sizeof(bench->found))
        (void)snprintf(bench->found + n, sizeof(bench->found) - (size_t)n, "\nstopped: %s",
                       bench->was_interrupted     ? "interrupted"
                       : finder->search.reason[0] ? finder->search.reason
                                                  : "all values between are too near");
}

int leat_bench_find(struct leat_bench *bench, const struct leat_spec *spec, const char *text,
                    int (*run)(struct leat_bench *bench, size_t first_case, struct leat_error *err),
                    struct leat_error *err) {
    struct finder finder = {.bench = bench, .spec = spec, .err = err};
    int r = begin(&finder, text);
    uint64_t value;

    bench->searched = text;
    while (r == 0 && leat_bench_search_next(&finder.search, &value))
        r = try_value(&finder, value, run);
    conclude(&finder);
    leat_bench_axis_deinit(&finder.axis);
    return r;
}
