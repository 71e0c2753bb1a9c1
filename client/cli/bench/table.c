/* table.c: see table.h. */
#include "client/cli/bench/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/base/grid.h"
#include "client/leat.h"

#define NOISY 0.1 /* a spread above this is worth a warning */

static const char *name_of(const struct leat_bench_case *item) {
    return item->name[0] ? item->name : "as written";
}

static void add_figure(struct leat_cli_grid *grid, double value, enum leat_bench_figure figure) {
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, leat_bench_print(value, leat_bench_figures[figure].unit, buffer));
}

static void add_share(struct leat_cli_grid *grid, double share) {
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, leat_bench_print(share, LEAT_BENCH_SHARE, buffer));
}

/* Whether there is anything to tell: streams without lists have no tokens. */
static bool is_known(const struct leat_bench *bench, enum leat_bench_figure figure) {
    for (size_t i = 0; i < bench->n_cases; i++)
        if (leat_bench_case_summary(bench->cases[i], figure).high > 0)
            return true;
    return false;
}

/* ---- what was done ---- */

static void add_length(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_length *length = &bench->length;

    if (length->n_batches > 0)
        leat_text_add(text, "of %" PRIu64 " batches, after a tenth of that to warm up",
                      length->n_batches);
    else if (length->n_epochs > 0)
        leat_text_add(text, "of %" PRIu64 " epoch%s, from the first batch on", length->n_epochs,
                      length->n_epochs == 1 ? "" : "s");
    else
        leat_text_add(text, "of %" PRIu64 " s, after %.4g s to warm up", length->seconds,
                      length->seconds < 4 ? (double)length->seconds / 4 : 1.0);
}

static void add_head(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_machine *machine = &bench->machine;
    char memory[LEAT_CLI_UNIT_MAX];

    if (bench->file && bench->n_cases > 0) {
        leat_text_add_shown(text, bench->file);
        leat_text_add(text, ", stream ");
        leat_text_add_shown(text, bench->cases[0]->stream);
        leat_text_add(text, ": ");
    }
    leat_text_add(text, "%" PRIu64 " run%s ", bench->n_repeat, bench->n_repeat == 1 ? "" : "s");
    add_length(bench, text);
    leat_text_add(text, "\nleat %s; %s, %u CPU%s, %s, %s\n\n", leat_version(), machine->cpu,
                  machine->n_cpus, machine->n_cpus == 1 ? "" : "s",
                  leat_cli_bytes(machine->memory_bytes, memory), machine->kernel);
}

static void add_warnings(const struct leat_bench *bench, struct leat_text *text) {
    enum leat_bench_figure figure = bench->has_goal ? bench->goal : LEAT_BENCH_RECORD_RATE;
    const struct leat_bench_case *noisiest = NULL;
    double noise = NOISY;

    for (size_t i = 0; i < bench->n_cases; i++)
        if (leat_bench_noise(bench, bench->cases[i]) > noise) {
            noisiest = bench->cases[i];
            noise = leat_bench_noise(bench, noisiest);
        }
    if (noisiest)
        leat_text_add(text,
                      "warning: runs%s%s differ by up to %.0f %% in %s: take longer ones "
                      "(--seconds), more of them (--repeat), or a quieter machine\n",
                      bench->n_cases > 1 ? " of " : "", bench->n_cases > 1 ? name_of(noisiest) : "",
                      100 * noise, leat_bench_figures[figure].label);
    if (bench->was_interrupted)
        leat_text_add(text, "interrupted: this is what was measured until then\n");
}

/* ---- one case ---- */

static void add_one(const struct leat_bench *bench, struct leat_text *text) {
    struct leat_cli_grid grid;

    leat_cli_grid_init(&grid, 5);
    leat_cli_grid_add(&grid, "");
    leat_cli_grid_add(&grid, "median");
    leat_cli_grid_add(&grid, "lowest");
    leat_cli_grid_add(&grid, "highest");
    leat_cli_grid_add(&grid, "spread");
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        enum leat_bench_figure figure = (enum leat_bench_figure)i;
        struct leat_bench_summary summary = leat_bench_case_summary(bench->cases[0], figure);

        if (!is_known(bench, figure) && figure != LEAT_BENCH_WAITED)
            continue;
        leat_cli_grid_add(&grid, leat_bench_figures[i].label);
        add_figure(&grid, summary.median, figure);
        add_figure(&grid, summary.low, figure);
        add_figure(&grid, summary.high, figure);
        add_share(&grid, summary.n_values > 1 ? leat_bench_spread(&summary) : NAN);
    }
    leat_cli_grid_print(&grid, text);
}

/* ---- several ---- */

static size_t choose_columns(const struct leat_bench *bench, enum leat_bench_figure *ret_figures) {
    size_t n = 0;

    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        enum leat_bench_figure figure = (enum leat_bench_figure)i;
        bool is_goal = bench->has_goal && bench->goal == figure;

        if ((leat_bench_figures[i].is_in_table || is_goal) && is_known(bench, figure))
            ret_figures[n++] = figure;
    }
    return n;
}

static void add_several(const struct leat_bench *bench, struct leat_text *text) {
    enum leat_bench_figure figures[LEAT_BENCH_N_FIGURES];
    size_t n_figures = choose_columns(bench, figures);
    struct leat_cli_grid grid;

    leat_cli_grid_init(&grid, n_figures + 2);
    leat_cli_grid_add(&grid, "");
    for (size_t c = 0; c < n_figures; c++)
        leat_cli_grid_add(&grid, leat_bench_figures[figures[c]].label);
    leat_cli_grid_add(&grid, "spread");
    for (size_t i = 0; i < bench->n_cases; i++) {
        if (bench->cases[i]->n_samples == 0)
            continue;
        leat_cli_grid_add(&grid, name_of(bench->cases[i]));
        for (size_t c = 0; c < n_figures; c++)
            add_figure(&grid, leat_bench_case_summary(bench->cases[i], figures[c]).median,
                       figures[c]);
        add_share(&grid,
                  bench->cases[i]->n_samples > 1 ? leat_bench_noise(bench, bench->cases[i]) : NAN);
    }
    leat_cli_grid_print(&grid, text);
}

static const struct leat_bench_case *next_best(const struct leat_bench *bench,
                                               const struct leat_bench_case *best) {
    struct leat_bench others = {.n_cases = 0};

    for (size_t i = 0; i < bench->n_cases; i++)
        if (bench->cases[i] != best)
            others.cases[others.n_cases++] = bench->cases[i];
    return leat_bench_best(&others, bench->goal);
}

static void add_best(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_figure_info *info = &leat_bench_figures[bench->goal];
    const struct leat_bench_case *best = leat_bench_best(bench, bench->goal), *other;
    struct leat_bench_summary ratios;
    char value[LEAT_CLI_UNIT_MAX];

    if (!best)
        return;
    leat_text_add(
        text, "best for %s: %s, %s", info->label, name_of(best),
        leat_bench_print(leat_bench_case_summary(best, bench->goal).median, info->unit, value));
    other = next_best(bench, best);
    if (other) {
        ratios = leat_bench_case_ratios(other, best, bench->goal);
        leat_text_add(text, "; %.3g times that of %s, ", ratios.median, name_of(other));
        if (ratios.n_values < 2)
            leat_text_add(text, "which one pair of runs does not prove");
        else
            leat_text_add(text, "%.3g to %.3g in %zu pairs of runs%s", ratios.low, ratios.high,
                          ratios.n_values,
                          leat_bench_covers_one(&ratios) ? ": no difference seen" : "");
    }
    leat_text_add(text, "\n");
}

void leat_bench_table(const struct leat_bench *bench, struct leat_text *text) {
    add_head(bench, text);
    if (bench->n_cases == 1 && !bench->searched) {
        add_one(bench, text);
    } else {
        add_several(bench, text);
        leat_text_add(text, "\n");
        if (bench->searched)
            leat_text_add(text, "%s\n", bench->found);
        else
            add_best(bench, text);
    }
    add_warnings(bench, text);
}

/* ---- two ---- */

/* Who reads a cache reads no source, which is neither better nor worse. */
static bool has_no_source(const struct leat_bench_summary *ratios, enum leat_bench_figure figure) {
    return figure == LEAT_BENCH_SOURCE_RATE && ratios->high <= 0;
}

static void add_verdict(struct leat_cli_grid *grid, const struct leat_bench_summary *ratios,
                        enum leat_bench_figure figure) {
    const struct leat_bench_figure_info *info = &leat_bench_figures[figure];

    if (ratios->n_values == 0 || has_no_source(ratios, figure))
        leat_cli_grid_add(grid, "");
    else if (leat_bench_covers_one(ratios))
        leat_cli_grid_add(grid, "no difference seen");
    else
        leat_cli_grid_add(grid, (ratios->median < 1) == info->is_better_low ? "B is better"
                                                                            : "A is better");
}

static void add_pair(struct leat_cli_grid *grid, const struct leat_bench_case *a,
                     const struct leat_bench_case *b, enum leat_bench_figure figure) {
    struct leat_bench_summary ratios = leat_bench_case_ratios(a, b, figure);
    char range[LEAT_CLI_UNIT_MAX] = "-", ratio[LEAT_CLI_UNIT_MAX] = "-";

    if (ratios.n_values > 0) {
        (void)snprintf(ratio, sizeof(ratio), "%.3f", ratios.median);
        (void)snprintf(range, sizeof(range), "%.3f to %.3f", ratios.low, ratios.high);
    }
    leat_cli_grid_add(grid, leat_bench_figures[figure].label);
    add_figure(grid, leat_bench_case_summary(a, figure).median, figure);
    add_figure(grid, leat_bench_case_summary(b, figure).median, figure);
    leat_cli_grid_add(grid, ratio);
    leat_cli_grid_add(grid, range);
    add_verdict(grid, &ratios, figure);
}

void leat_bench_comparison(const struct leat_bench *bench, const struct leat_bench_case *a,
                           const struct leat_bench_case *b, bool are_paired,
                           struct leat_text *text) {
    static const char *const heads[] = {"", "A", "B", "B/A", "range", ""};
    struct leat_cli_grid grid;

    if (are_paired)
        add_head(bench, text);
    leat_text_add(text, "A: %s, %zu run%s\nB: %s, %zu run%s\n\n", name_of(a), a->n_samples,
                  a->n_samples == 1 ? "" : "s", name_of(b), b->n_samples,
                  b->n_samples == 1 ? "" : "s");
    leat_cli_grid_init(&grid, 6);
    for (size_t i = 0; i < 6; i++)
        leat_cli_grid_add(&grid, heads[i]);
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        enum leat_bench_figure figure = (enum leat_bench_figure)i;

        if (leat_bench_figures[i].is_in_table && is_known(bench, figure))
            add_pair(&grid, a, b, figure);
    }
    leat_cli_grid_print(&grid, text);
    leat_text_add(text, "\n");
    if (!are_paired)
        leat_text_add(text, "note: these did not run in turns: what else the machine did may "
                            "differ too\n");
    add_warnings(bench, text);
}
