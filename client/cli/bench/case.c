/* case.c: cases: their values, checks before they run, summaries of their samples. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/bench/bench.h"
#include "pipeline/run/pipeline.h"

static struct leat_bench_case *case_free(struct leat_bench_case *item) {
    for (size_t i = 0; i < item->n_overrides; i++)
        free(item->overrides[i]);
    free(item->name);
    free(item->stream);
    free(item);
    return NULL;
}

struct leat_bench_case *leat_bench_add_case(struct leat_bench *bench, const char *name,
                                            const char *file, const char *stream) {
    struct leat_bench_case *item =
        bench->n_cases < 2 * LEAT_BENCH_MAX_CASES ? calloc(1, sizeof(*item)) : NULL;

    if (!item)
        return NULL;
    item->file = file;
    item->name = strdup(name);
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

/* ---- checks ---- */

static int check_plan(const struct leat_spec *spec, const char *file, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    int r = leat_plan_check(spec, err);

    if (r == 0)
        r = leat_pipeline_open(spec, &leat_opener_operator, &plan, err);
    if (r == 0 && plan->is_one_pass) {
        r = leat_error_set(err, -EINVAL,
                           "the data comes through a pipe, but `bench` reads the data several "
                           "times; give files instead of a pipe");
        leat_error_locate(err, file, spec->source.line, spec->source.column);
    }
    leat_plan_unref(plan);
    return r;
}

/* Without leatd there is no check: the first run reports the error. */
static int check_settings(const struct leat_bench_case *item, struct leat_error *err) {
    char text[LEAT_ERROR_MESSAGE_MAX] = "", *said = text;
    size_t n = strlen(item->file);
    int status = leat_cli_daemon_check(item->file, (const char *const *)item->overrides,
                                       item->n_overrides, text, sizeof(text));

    if (status == 0 || status == 127)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    said += strncmp(said, "leatd: ", 7) == 0 ? 7 : 0;
    if (item->n_overrides > 0 && strncmp(said, item->file, n) == 0 && said[n] == ':')
        said += n + 1 + strspn(said + n + 1, "0123456789: ");
    return leat_error_set(err, -EINVAL, "%s", said);
}

int leat_bench_check(const struct leat_bench_case *item, struct leat_error *err) {
    const struct leat_spec *spec = NULL;
    struct leat_cli_streams streams;
    int r = leat_cli_streams_load(item->file, (const char *const *)item->overrides,
                                  item->n_overrides, &streams, err);

    if (r == 0)
        spec = leat_cli_streams_find(&streams, item->file, item->stream, err);
    if (spec)
        r = check_plan(spec, item->file, err);
    leat_cli_streams_deinit(&streams);
    if (err->code == 0)
        r = check_settings(item, err);
    if (err->code < 0 && item->n_overrides > 0) { /* the value does not stand in the file */
        err->line = err->column = 0;
        (void)snprintf(err->file, sizeof(err->file), "%.*s", (int)sizeof(err->file) - 1,
                       item->name[0] ? item->name : item->overrides[0]);
    }
    return err->code < 0 ? err->code : r;
}

/* ---- samples ---- */

static void take_values(const struct leat_bench_case *item, enum leat_bench_figure figure,
                        double ret_values[LEAT_BENCH_REPEAT_MAX]) {
    for (size_t i = 0; i < item->n_samples; i++)
        ret_values[i] = item->samples[i][figure];
}

struct leat_bench_summary leat_bench_case_summary(const struct leat_bench_case *item,
                                                  enum leat_bench_figure figure) {
    double values[LEAT_BENCH_REPEAT_MAX];

    take_values(item, figure, values);
    return leat_bench_summarise(values, item->n_samples);
}

struct leat_bench_summary leat_bench_case_ratios(const struct leat_bench_case *a,
                                                 const struct leat_bench_case *b,
                                                 enum leat_bench_figure figure) {
    double values_a[LEAT_BENCH_REPEAT_MAX], values_b[LEAT_BENCH_REPEAT_MAX];

    take_values(a, figure, values_a);
    take_values(b, figure, values_b);
    return leat_bench_ratios(values_a, values_b,
                             a->n_samples < b->n_samples ? a->n_samples : b->n_samples);
}

const struct leat_bench_case *leat_bench_best(const struct leat_bench *bench,
                                              const struct leat_bench_case *other) {
    bool is_better_low = leat_bench_figures[bench->goal].is_better_low;
    const struct leat_bench_case *best = NULL;
    double best_median = 0;

    for (size_t i = 0; i < bench->n_cases; i++) {
        double median = leat_bench_case_summary(bench->cases[i], bench->goal).median;

        if (bench->cases[i] == other || !isfinite(median) ||
            (best && (is_better_low ? median >= best_median : median <= best_median)))
            continue;
        best = bench->cases[i];
        best_median = median;
    }
    return best;
}
