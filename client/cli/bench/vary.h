/* vary.h: `--vary PATH=V1,V2,..`: which values an argument takes in turn. Owner: the one
 * thread.
 *
 * Values are YAML, separated by commas that stand in no brackets or quotes. `1..16` are whole
 * numbers with both ends, `16..64+16` those 16 apart, `1..64*2` those that double; the ends may
 * have units: `64KiB..1MiB*2`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pipeline/spec/bind.h"

#define LEAT_BENCH_MAX_CASES 256

struct leat_bench_axis {
    char *path;    /* as written, "batch_size" */
    char *full;    /* as leatd --set takes it, "streams.titanic.batch.batch_size" */
    char **values; /* [n_values] */
    size_t n_values;
    const struct leat_arg *arg; /* its table's line; NULL: not known here, as of settings */
};

/* Reads `text`; `option` ("--vary") is what errors begin with. More than LEAT_BENCH_MAX_CASES
 * values are refused. 0 or -errno; to be deinited either way. */
int leat_bench_axis_parse(const char *option, const char *text, struct leat_bench_axis *ret_axis,
                          struct leat_error *err);
void leat_bench_axis_deinit(struct leat_bench_axis *axis);

/* Finds out what the path means in that stream: `source.ARG`, `STAGE.ARG`, `STAGE[2].ARG`, an
 * option of the stream; a bare name that only one stage has an argument of; else a setting of the
 * daemon. Fills full and arg. 0 or -errno. */
int leat_bench_axis_resolve(const char *option, const struct leat_spec *spec,
                            struct leat_bench_axis *axis, struct leat_error *err);

/* The number of combinations, or -E2BIG with that number. */
int leat_bench_axes_count(const struct leat_bench_axis *axes, size_t n_axes, size_t *ret_n_cases,
                          struct leat_error *err);
/* Which value of each axis the combination of that index has: the last axis changes first. */
void leat_bench_axes_pick(const struct leat_bench_axis *axes, size_t n_axes, size_t index,
                          size_t *ret_picks);
