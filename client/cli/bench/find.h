/* find.h: `--find PATH`: the best value of an argument, by a search (search.h). */
#pragma once

#include "client/cli/bench/case.h"
#include "proto/spec.h"

/* `text` is PATH, or PATH=LOW..HIGH. Each value that is tried becomes a case; the cases are sorted
 * by it in the end, and bench->found says what came out. 0, or -errno; what was measured until then
 * stays. */
int leat_bench_find(struct leat_bench *bench, const struct leat_spec *spec, const char *text,
                    int (*run)(struct leat_bench *bench, size_t first_case, struct leat_error *err),
                    struct leat_error *err);
