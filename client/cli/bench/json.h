/* json.h: what was measured, for programs, and back again for --compare. */
#pragma once

#include "client/cli/bench/case.h"
#include "proto/base/text.h"

#define LEAT_BENCH_JSON_FORMAT 1

/* All of it: machine, options, each run of each case with its figures (`null`: not measured), and
 * medians. */
void leat_bench_to_json(const struct leat_bench *bench, struct leat_text *text);

/* Reads the cases of a saved result; names are those of the case, or the file's if it has but one.
 * They are added to the bench. 0 or -errno with an error located in `file`. */
int leat_bench_from_json(const char *data, size_t n_bytes, const char *file,
                         struct leat_bench *bench, struct leat_error *err);
