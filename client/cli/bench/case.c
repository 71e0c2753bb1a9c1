/* case.c: cases and what their samples say. See case.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/bench/case.h"

static struct leat_bench_case *case_free(struct leat_bench_case *item) {
    if (!item)
        return NULL;
    for (size_t i = 0; i < item->n_overrides; i++)
        free(item->overrides[i]);
    free(item->name);
    free(item->stream);
    free(item);
    return NULL;
}

struct leat_bench_case *leat_bench_add_case(struct leat_bench *bench, const char *file,
                                            const char *stream) {
    struct leat_bench_case *item;

    if (bench->n_cases == LEAT_BENCH_MAX_CASES)
        return NULL;
    item = calloc(1, sizeof(*item));
    if (!item)
        return NULL;
    item->file = file;
    item->name = strdup("");
    item->stream = strdup(stream);
    if (!item->name || !item->stream)
        return case_free(item);
    bench->cases[bench->n_cases++] = item;
    return item;
}

int leat_bench_case_set(struct leat_bench_case *item, const char *full, const char *path,
                        const char *value) {
    char *name;

    if (item->n_overrides == sizeof(item->overrides) / sizeof(item->overrides[0]))
        return -E2BIG;
    if (asprintf(&item->overrides[item->n_overrides], "%s=%s", full, value) < 0)
        return -ENOMEM;
    item->n_overrides++;
    if (!path)
        return 0;
    if (asprintf(&name, "%s%s%s=%s", item->name, item->name[0] ? ", " : "", path, value) < 0)
        return -ENOMEM;
    free(item->name);
    item->name = name;
    return 0;
}

void leat_bench_deinit(struct leat_bench *bench) {
    for (size_t i = 0; i < bench->n_cases; i++)
        case_free(bench->cases[i]);
    bench->n_cases = 0;
}

static size_t take_values(const struct leat_bench_case *item, enum leat_bench_figure figure,
                          double ret_values[LEAT_BENCH_REPEAT_MAX]) {
    for (size_t i = 0; i < item->n_samples; i++)
        ret_values[i] = item->samples[i].values[figure];
    return item->n_samples;
}

struct leat_bench_summary leat_bench_case_summary(const struct leat_bench_case *item,
                                                  enum leat_bench_figure figure) {
    double values[LEAT_BENCH_REPEAT_MAX];

    return leat_bench_summarise(values, take_values(item, figure, values));
}

struct leat_bench_summary leat_bench_case_ratios(const struct leat_bench_case *a,
                                                 const struct leat_bench_case *b,
                                                 enum leat_bench_figure figure) {
    double values_a[LEAT_BENCH_REPEAT_MAX], values_b[LEAT_BENCH_REPEAT_MAX];
    size_t n_a = take_values(a, figure, values_a), n_b = take_values(b, figure, values_b);

    return leat_bench_ratios(values_a, values_b, n_a < n_b ? n_a : n_b);
}

const struct leat_bench_case *leat_bench_best(const struct leat_bench *bench,
                                              enum leat_bench_figure figure) {
    const struct leat_bench_case *best = NULL;
    double best_median = 0;

    for (size_t i = 0; i < bench->n_cases; i++) {
        double median = leat_bench_case_summary(bench->cases[i], figure).median;

        if (!isfinite(median) ||
            (best && (leat_bench_figures[figure].is_better_low ? median >= best_median
                                                               : median <= best_median)))
            continue;
        best = bench->cases[i];
        best_median = median;
    }
    return best;
}

double leat_bench_noise(const struct leat_bench *bench, const struct leat_bench_case *item) {
    struct leat_bench_summary summary =
        leat_bench_case_summary(item, bench->has_goal ? bench->goal : LEAT_BENCH_RECORD_RATE);

    return leat_bench_spread(&summary);
}
