/* figure.c: see figure.h. */
#include "client/cli/bench/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/spec/bind.h"

#define MAX_SHOWN 1e18

const struct leat_bench_figure_info leat_bench_figures[LEAT_BENCH_N_FIGURES] = {
    [LEAT_BENCH_WALL] = {"wall_s", "wall time", "wall", LEAT_BENCH_SECONDS, true, false},
    [LEAT_BENCH_FIRST] = {"first_batch_s", "first batch", "first_batch", LEAT_BENCH_SECONDS, true,
                          true},
    [LEAT_BENCH_MEASURED] = {"measured_s", "measured", NULL, LEAT_BENCH_SECONDS, true, false},
    [LEAT_BENCH_BATCHES] = {"batches", "batches", NULL, LEAT_BENCH_COUNT, false, false},
    [LEAT_BENCH_BATCH_RATE] = {"batches_per_s", "batches/s", "batches", LEAT_BENCH_COUNT, false,
                               true},
    [LEAT_BENCH_RECORD_RATE] = {"records_per_s", "records/s", "records", LEAT_BENCH_COUNT, false,
                                true},
    [LEAT_BENCH_TOKEN_RATE] = {"tokens_per_s", "tokens/s", "tokens", LEAT_BENCH_COUNT, false, true},
    [LEAT_BENCH_SOURCE_RATE] = {"source_bytes_per_s", "source", "source", LEAT_BENCH_BYTES_PER_S,
                                false, true},
    [LEAT_BENCH_BYTE_RATE] = {"batch_bytes_per_s", "batch bytes", "bytes", LEAT_BENCH_BYTES_PER_S,
                              false, true},
    [LEAT_BENCH_DAEMON_CPU] = {"daemon_cpu_s", "daemon CPU", NULL, LEAT_BENCH_SECONDS, true, false},
    [LEAT_BENCH_RECORD_CPU] = {"daemon_cpu_s_per_record", "CPU/record", "cpu", LEAT_BENCH_SECONDS,
                               true, true},
    [LEAT_BENCH_OWN_CPU] = {"own_cpu_s", "trainer CPU", NULL, LEAT_BENCH_SECONDS, true, false},
    [LEAT_BENCH_WAITED] = {"waited", "waited", NULL, LEAT_BENCH_SHARE, true, true},
    [LEAT_BENCH_MEMORY] = {"daemon_hwm_bytes", "memory", "memory", LEAT_BENCH_BYTES, true, true},
};

static const char *print_seconds(double value, char *buffer) {
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s"}};
    size_t i = 0;

    while (i < 3 && value * units[i].scale >= 999.5)
        i++;
    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX,
                   value * units[i].scale >= 99.95 ? "%.0f %s" : "%.3g %s", value * units[i].scale,
                   units[i].unit);
    return buffer;
}

static const char *print_count(double value, char *buffer) {
    if (value >= 99.95)
        return leat_cli_count((uint64_t)(value + 0.5), buffer);
    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.3g", value);
    return buffer;
}

const char *leat_bench_print(double value, enum leat_bench_unit unit,
                             char buffer[LEAT_CLI_UNIT_MAX]) {
    if (!isfinite(value) || value < 0 || value > MAX_SHOWN) {
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "-");
        return buffer;
    }
    switch (unit) {
    case LEAT_BENCH_COUNT:
        return print_count(value, buffer);
    case LEAT_BENCH_SECONDS:
        return print_seconds(value, buffer);
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

int leat_bench_goal(const char *text, enum leat_bench_figure *ret_figure, struct leat_error *err) {
    const char *names[LEAT_BENCH_N_FIGURES], *nearest;
    char all[256] = "";
    size_t n = strlen(text), n_names = 0;

    if (n > 2 && strcmp(text + n - 2, "/s") == 0)
        n -= 2;
    for (int i = 0; i < LEAT_BENCH_N_FIGURES; i++) {
        const struct leat_bench_figure_info *info = &leat_bench_figures[i];
        size_t n_all = strlen(all);

        if (!info->goal)
            continue;
        if ((strlen(info->goal) == n && memcmp(info->goal, text, n) == 0) ||
            strcmp(info->key, text) == 0) {
            *ret_figure = (enum leat_bench_figure)i;
            return 0;
        }
        names[n_names++] = info->goal;
        (void)snprintf(all + n_all, sizeof(all) - n_all, "%s%s", n_all ? ", " : "", info->goal);
    }
    nearest = leat_nearest(text, names, n_names);
    return leat_error_set(err, -EINVAL, "--goal: \"%.64s\" is not one of %s%s%s%s", text, all,
                          nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
}
