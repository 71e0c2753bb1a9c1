/* report.c: the figures of a run, and what was measured for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/cli/base/output.h"
#include "client/cli/bench/bench.h"
#include "client/leat.h"
#include "proto/base/calls.h"
#include "proto/base/json_writer.h"

#define NOISY       0.1 /* a spread above this is worth a warning */
#define MAX_SHOWN   1e18
#define MAX_SHOWN_S 1e9

const struct leat_bench_figure_info leat_bench_figures[LEAT_BENCH_N_FIGURES] = {
    {"wall_s", "wall time", LEAT_BENCH_SECONDS, true, false},
    {"first_batch_s", "first batch", LEAT_BENCH_SECONDS, true, true},
    {"measured_s", "measured", LEAT_BENCH_SECONDS, true, false},
    {"batches", "batches", LEAT_BENCH_COUNT, false, false},
    {"batches_per_s", "batches/s", LEAT_BENCH_COUNT, false, true},
    {"records_per_s", "records/s", LEAT_BENCH_COUNT, false, true},
    {"tokens_per_s", "tokens/s", LEAT_BENCH_COUNT, false, true},
    {"source_bytes_per_s", "source", LEAT_BENCH_BYTES_PER_S, false, true},
    {"batch_bytes_per_s", "batch bytes", LEAT_BENCH_BYTES_PER_S, false, true},
    {"daemon_cpu_s_per_record", "CPU/record", LEAT_BENCH_SECONDS, true, true},
    {"waited", "waited", LEAT_BENCH_SHARE, true, true},
    {"daemon_hwm_bytes", "memory", LEAT_BENCH_BYTES, true, true},
};

static const char *print_count(double value, char *buffer) {
    if (value >= 99.95)
        return leat_cli_count((uint64_t)(value + 0.5), buffer);
    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.3g", value);
    return buffer;
}

const char *leat_bench_print(double value, enum leat_bench_unit unit,
                             char buffer[LEAT_CLI_UNIT_MAX]) {
    if (!isfinite(value) || value < 0 ||
        value > (unit == LEAT_BENCH_SECONDS ? MAX_SHOWN_S : MAX_SHOWN)) {
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "-");
        return buffer;
    }
    switch (unit) {
    case LEAT_BENCH_COUNT:
        return print_count(value, buffer);
    case LEAT_BENCH_SECONDS:
        return leat_cli_duration((uint64_t)(value * 1e9 + 0.5), buffer);
    case LEAT_BENCH_BYTES:
        return leat_cli_bytes((uint64_t)value, buffer);
    case LEAT_BENCH_BYTES_PER_S:
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.*f MB/s", value < 1e8 ? 1 : 0, value / 1e6);
        return buffer;
    case LEAT_BENCH_SHARE:
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.1f %%", 100 * value);
        return buffer;
    }
    return "";
}

/* ---- cells ---- */

static const char *name_of(const struct leat_bench_case *item) {
    return item->name[0] ? item->name : "unchanged";
}

static void add_value(struct leat_cli_grid *grid, double value, enum leat_bench_unit unit) {
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, leat_bench_print(value, unit, buffer));
}

static void add_median(struct leat_cli_grid *grid, const struct leat_bench_case *item,
                       enum leat_bench_figure figure) {
    add_value(grid, leat_bench_case_summary(item, figure).median, leat_bench_figures[figure].unit);
}

static double spread_of(const struct leat_bench *bench, const struct leat_bench_case *item) {
    struct leat_bench_summary summary = leat_bench_case_summary(item, bench->goal);

    return summary.n_values > 1 ? leat_bench_spread(&summary) : NAN;
}

/* Chooses the figures that have any value: streams without lists have no tokens. */
static size_t choose_figures(const struct leat_bench *bench,
                             enum leat_bench_figure ret_figures[LEAT_BENCH_N_FIGURES]) {
    size_t n = 0;

    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++)
        for (size_t c = 0; c < bench->n_cases; c++)
            if ((leat_bench_figures[i].is_in_table || (int)bench->goal == i) &&
                leat_bench_case_summary(bench->cases[c], (enum leat_bench_figure)i).high > 0) {
                ret_figures[n++] = (enum leat_bench_figure)i;
                break;
            }
    return n;
}

/* ---- head and warnings ---- */

/* The model of an x86 CPU, or the architecture of another machine. */
static void read_cpu(char *ret_cpu, size_t size, const char *machine) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];

    (void)snprintf(ret_cpu, size, "%s", machine);
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += strspn(value, ": ");
        (void)snprintf(ret_cpu, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file)
        (void)fclose(file);
}

struct machine {
    struct utsname name;
    char cpu[128];
    unsigned n_cpus;
    uint64_t memory_bytes;
};

static struct machine read_machine(void) {
    struct machine machine = {.n_cpus = leat_n_cpus(),
                              .memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                                              (uint64_t)sysconf(_SC_PAGESIZE)};

    (void)uname(&machine.name);
    read_cpu(machine.cpu, sizeof(machine.cpu), machine.name.machine);
    return machine;
}

static void add_machine(struct leat_text *text) {
    struct machine machine = read_machine();
    char bytes[LEAT_CLI_UNIT_MAX];

    leat_text_add(text, "%s, %u CPU%s, %s, %s %s", machine.cpu, machine.n_cpus,
                  machine.n_cpus == 1 ? "" : "s", leat_cli_bytes(machine.memory_bytes, bytes),
                  machine.name.sysname, machine.name.release);
}

void leat_bench_add_machine_json(struct leat_text *json) {
    struct machine machine = read_machine();
    char kernel[sizeof(machine.name.sysname) + sizeof(machine.name.release) + 1];

    (void)snprintf(kernel, sizeof(kernel), "%s %s", machine.name.sysname, machine.name.release);
    leat_json_open(json, "machine", '{');
    leat_json_add_text(json, "host", machine.name.nodename);
    leat_json_add_text(json, "cpu", machine.cpu);
    leat_json_add_uint(json, "cpus", machine.n_cpus);
    leat_json_add_uint(json, "memory_bytes", machine.memory_bytes);
    leat_json_add_text(json, "kernel", kernel);
    leat_json_close(json, '}');
}

static void add_head(const struct leat_bench *bench, struct leat_text *text) {
    if (bench->file && bench->n_cases > 0) {
        leat_text_add_shown(text, bench->file);
        leat_text_add(text, ", stream ");
        leat_text_add_shown(text, bench->cases[0]->stream);
        leat_text_add(text, ": ");
    }
    leat_text_add(text, "%" PRIu64 " run%s of ", bench->n_repeat, bench->n_repeat == 1 ? "" : "s");
    if (bench->n_batches > 0)
        leat_text_add(text, "%" PRIu64 " batches, after a warm-up with a tenth of this number",
                      bench->n_batches);
    else if (bench->n_epochs > 0)
        leat_text_add(text, "%" PRIu64 " epoch%s, measured from the first batch on",
                      bench->n_epochs, bench->n_epochs == 1 ? "" : "s");
    else
        leat_text_add(text, "%" PRIu64 " s, after a warm-up of %.4g s", bench->n_seconds,
                      bench->n_seconds < 4 ? (double)bench->n_seconds / 4 : 1.0);
    leat_text_add(text, "\nleat %s; ", leat_version());
    add_machine(text);
    leat_text_add(text, "\n\n");
}

static void add_warnings(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_case *noisiest = NULL;
    double noise = NOISY;

    for (size_t i = 0; i < bench->n_cases; i++)
        if (spread_of(bench, bench->cases[i]) > noise) {
            noisiest = bench->cases[i];
            noise = spread_of(bench, noisiest);
        }
    if (noisiest)
        leat_text_add(text,
                      "warning: runs of %s differ by up to %.0f %% in %s: try longer runs "
                      "(--seconds), more runs (--repeat) or a quieter machine\n",
                      name_of(noisiest), 100 * noise, leat_bench_figures[bench->goal].label);
    if (bench->was_interrupted)
        leat_text_add(text, "you interrupted the measurement: these are the results so far\n");
}

/* ---- cases ---- */

static void add_best(const struct leat_bench *bench, struct leat_text *text) {
    const struct leat_bench_figure_info *info = &leat_bench_figures[bench->goal];
    const struct leat_bench_case *best = leat_bench_best(bench, NULL), *other;
    struct leat_bench_summary ratios;
    char value[LEAT_CLI_UNIT_MAX];

    other = best ? leat_bench_best(bench, best) : NULL;
    if (!other)
        return;
    ratios = leat_bench_case_ratios(other, best, bench->goal);
    leat_text_add(
        text, "best for %s: %s, %s; %.3g times that of %s, ", info->label, name_of(best),
        leat_bench_print(leat_bench_case_summary(best, bench->goal).median, info->unit, value),
        ratios.median, name_of(other));
    if (ratios.n_values < 2)
        leat_text_add(text, "but one pair of runs is too few to be sure\n");
    else
        leat_text_add(text, "%.3g to %.3g in %zu pairs of runs%s\n", ratios.low, ratios.high,
                      ratios.n_values,
                      leat_bench_covers_one(&ratios) ? ": no difference seen" : "");
}

void leat_bench_table(const struct leat_bench *bench, struct leat_text *text) {
    enum leat_bench_figure figures[LEAT_BENCH_N_FIGURES];
    size_t n_figures = choose_figures(bench, figures);
    struct leat_cli_grid grid;

    add_head(bench, text);
    leat_cli_grid_init(&grid, n_figures + 2);
    leat_cli_grid_add(&grid, "");
    for (size_t i = 0; i < n_figures; i++)
        leat_cli_grid_add(&grid, leat_bench_figures[figures[i]].label);
    leat_cli_grid_add(&grid, "spread");
    for (size_t c = 0; c < bench->n_cases; c++) {
        if (bench->cases[c]->n_samples == 0)
            continue;
        leat_cli_grid_add(&grid, name_of(bench->cases[c]));
        for (size_t i = 0; i < n_figures; i++)
            add_median(&grid, bench->cases[c], figures[i]);
        add_value(&grid, spread_of(bench, bench->cases[c]), LEAT_BENCH_SHARE);
    }
    leat_cli_grid_print(&grid, text);
    leat_text_add(text, "\n");
    if (bench->searched)
        leat_text_add(text, "%s\n", bench->found);
    else
        add_best(bench, text);
    add_warnings(bench, text);
}

/* ---- two ---- */

static const char *judge_ratios(const struct leat_bench_summary *ratios,
                                enum leat_bench_figure figure) {
    if (ratios->n_values == 0)
        return "";
    if (figure == LEAT_BENCH_SOURCE_RATE && ratios->high <= 0)
        return ""; /* reading a cache in place of the source is neither better nor worse */
    if (leat_bench_covers_one(ratios))
        return "no difference seen";
    return (ratios->median < 1) == leat_bench_figures[figure].is_better_low ? "B is better"
                                                                            : "A is better";
}

void leat_bench_comparison(const struct leat_bench *bench, const struct leat_bench_case *a,
                           const struct leat_bench_case *b, bool are_paired,
                           struct leat_text *text) {
    static const char *const heads[] = {"", "A", "B", "B/A", "range", ""};
    enum leat_bench_figure figures[LEAT_BENCH_N_FIGURES];
    size_t n_figures = choose_figures(bench, figures);
    struct leat_cli_grid grid;

    if (are_paired)
        add_head(bench, text);
    leat_text_add(text, "A: %s, %zu run%s\nB: %s, %zu run%s\n\n", name_of(a), a->n_samples,
                  a->n_samples == 1 ? "" : "s", name_of(b), b->n_samples,
                  b->n_samples == 1 ? "" : "s");
    leat_cli_grid_init(&grid, 6);
    for (size_t i = 0; i < 6; i++)
        leat_cli_grid_add(&grid, heads[i]);
    for (size_t i = 0; i < n_figures; i++) {
        struct leat_bench_summary ratios = leat_bench_case_ratios(a, b, figures[i]);
        char range[LEAT_CLI_UNIT_MAX] = "-", ratio[LEAT_CLI_UNIT_MAX] = "-";

        if (ratios.n_values > 0) {
            (void)snprintf(ratio, sizeof(ratio), "%.3f", ratios.median);
            (void)snprintf(range, sizeof(range), "%.3f to %.3f", ratios.low, ratios.high);
        }
        leat_cli_grid_add(&grid, leat_bench_figures[figures[i]].label);
        add_median(&grid, a, figures[i]);
        add_median(&grid, b, figures[i]);
        leat_cli_grid_add(&grid, ratio);
        leat_cli_grid_add(&grid, range);
        leat_cli_grid_add(&grid, judge_ratios(&ratios, figures[i]));
    }
    leat_cli_grid_print(&grid, text);
    leat_text_add(text, "%s",
                  are_paired ? "\n"
                             : "\n"
                               "note: these runs were made at different times, so the load of the "
                               "machine may have been different\n");
    add_warnings(bench, text);
}
