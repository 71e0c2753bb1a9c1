/* vary.h: `--vary PATH=V1,V2,..`: the values that an argument takes in turn. Owner: the one thread.
 *
 * Values are YAML, separated by commas that stand in no brackets or quotes. `1..16` are whole
 * numbers with both ends, `16..64+16` those 16 apart, `1..64*2` those that double; the ends may
 * have units: `64KiB..1MiB*2`.
 */
#pragma once

#include "pipeline/spec/bind.h"

#define LEAT_BENCH_MAX_CASES 256

struct leat_bench_axis {
    char *path;    /* as written, "batch_size" */
    char *full;    /* as leatd --set takes it, "streams.titanic.batch.batch_size" */
    char **values; /* [n_values] */
    size_t n_values;
    const struct leat_arg *arg;       /* NULL: unknown here, as for settings */
    const struct leat_value *written; /* its value in the stream; NULL: none */
};

/* Reads `text` and resolves its path in that stream: `source.ARG`, `STAGE.ARG`, `STAGE[2].ARG`, an
 * option of the stream; an argument's name alone, if only one stage has it; else a setting of the
 * daemon. Borrows from the stream. 0 or -errno; deinit it either way. */
int leat_bench_axis_init(struct leat_bench_axis *ret_axis, const char *option, const char *text,
                         const struct leat_spec *spec, struct leat_error *err);
void leat_bench_axis_deinit(struct leat_bench_axis *axis);
