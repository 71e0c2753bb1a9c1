/* figure.h: what is measured of a run, declared once in a table: tables for people, JSON and
 * goals follow from it. */
#pragma once

#include <stdbool.h>

#include "client/cli/base/units.h"
#include "proto/base/error.h"

enum leat_bench_figure {
    LEAT_BENCH_WALL,  /* from opening the stream to the last batch */
    LEAT_BENCH_FIRST, /* from opening the stream to the first batch */
    LEAT_BENCH_MEASURED,
    LEAT_BENCH_BATCHES, /* all that follow are of the measured time */
    LEAT_BENCH_BATCH_RATE,
    LEAT_BENCH_RECORD_RATE,
    LEAT_BENCH_TOKEN_RATE,
    LEAT_BENCH_SOURCE_RATE,
    LEAT_BENCH_BYTE_RATE,
    LEAT_BENCH_DAEMON_CPU,
    LEAT_BENCH_RECORD_CPU,
    LEAT_BENCH_OWN_CPU,
    LEAT_BENCH_WAITED,
    LEAT_BENCH_MEMORY, /* of the daemon, at most, from its start on */
    LEAT_BENCH_N_FIGURES,
};

enum leat_bench_unit {
    LEAT_BENCH_COUNT,
    LEAT_BENCH_SECONDS,
    LEAT_BENCH_BYTES,
    LEAT_BENCH_BYTES_PER_S,
    LEAT_BENCH_SHARE,
};

struct leat_bench_figure_info {
    const char *key;   /* in JSON */
    const char *label; /* for people */
    const char *goal;  /* what --goal calls it; NULL: it is none */
    enum leat_bench_unit unit;
    bool is_better_low;
    bool is_in_table; /* of several configurations */
};

extern const struct leat_bench_figure_info leat_bench_figures[LEAT_BENCH_N_FIGURES];

/* The values of one run. What could not be measured is NAN. */
struct leat_bench_sample {
    double values[LEAT_BENCH_N_FIGURES];
};

/* "12,345", "1.23", "4.56 ms", "310.2 MiB", "45.6 MB/s", "12.3 %"; "-": not measured. */
const char *leat_bench_print(double value, enum leat_bench_unit unit,
                             char buffer[LEAT_CLI_UNIT_MAX]);

/* The figure that a goal means: "records", "records/s", its key. 0, or -EINVAL with all that there
 * are. */
int leat_bench_goal(const char *text, enum leat_bench_figure *ret_figure, struct leat_error *err);
