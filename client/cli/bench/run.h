/* run.h: one run of one case: a daemon of its own, a trainer that reads every byte, and what
 * both of them took. */
#pragma once

#include "client/cli/bench/case.h"

/* Adds a sample to the case. 0, -EINTR (a signal: no sample), or what went wrong, as the stream
 * says it. */
int leat_bench_run(const struct leat_bench *bench, struct leat_bench_case *item,
                   struct leat_error *err);
