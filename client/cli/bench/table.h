/* table.h: what was measured, for people. */
#pragma once

#include "client/cli/bench/case.h"
#include "proto/base/text.h"

/* Of one case: each figure with its range. Of several: a row each, and which is best. */
void leat_bench_table(const struct leat_bench *bench, struct leat_text *text);
/* a against b: ratios of pairs of runs, and whether there is a difference. `are_paired`: they ran
 * in turns. */
void leat_bench_comparison(const struct leat_bench *bench, const struct leat_bench_case *a,
                           const struct leat_bench_case *b, bool are_paired,
                           struct leat_text *text);
