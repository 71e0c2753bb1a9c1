/* figures.c: the figures of a run, and how they are printed. */
#include <math.h>
#include <stdio.h>

#include "client/cli/bench/bench.h"

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
