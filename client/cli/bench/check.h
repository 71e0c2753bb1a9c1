/* check.h: whether a case can be run, asked before the first run. */
#pragma once

#include "client/cli/bench/case.h"

/* Plans the stream, and lets leatd look at its settings, with the values of the case. 0 or -errno:
 * an error has the place in the file, or, if the file as written has no such error, the values in
 * its place. What can be read but once cannot be run several times. */
int leat_bench_check(const struct leat_bench_case *item, struct leat_error *err);
