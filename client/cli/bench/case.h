/* case.h: what `leatctl bench` works on: cases, each a file with values in place of some that are
 * written in it, and the samples that were taken of them. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/cli/bench/figure.h"
#include "client/cli/bench/statistics.h"
#include "client/cli/bench/vary.h"
#include "proto/base/blake2b.h"

struct leat_bench_case {
    char *name;       /* "batch.batch_size=8, workers=2"; of --compare the file; "" : as written */
    const char *file; /* NULL: of a saved result */
    char *stream;
    char *overrides[LEAT_CLI_STRINGS_MAX + 2]; /* for leatd --set */
    size_t n_overrides;
    uint64_t value; /* of --find */
    char digest[LEAT_DIGEST_HEX_SIZE];
    size_t n_samples;
    struct leat_bench_sample samples[LEAT_BENCH_REPEAT_MAX];
};

/* How long each run is: exactly one of the three is not 0. */
struct leat_bench_length {
    uint64_t seconds, n_batches, n_epochs;
};

struct leat_bench_machine {
    char cpu[128], kernel[128], host[65];
    unsigned n_cpus; /* that we may run on */
    uint64_t memory_bytes;
};

struct leat_bench {
    const char *file; /* NULL: --compare */
    struct leat_bench_length length;
    uint64_t n_repeat;
    unsigned delivery;
    uint32_t window;
    enum leat_bench_figure goal;
    bool has_goal, hides_progress;
    struct leat_bench_machine machine;
    size_t n_cases;
    struct leat_bench_case *cases[LEAT_BENCH_MAX_CASES];
    const char *searched; /* --find: the path; NULL: none */
    char found[256];      /* what the search found, and why it stopped */
    bool was_interrupted;
};

/* A case for that file and stream, at the end of the list; NULL: no memory, or too many. */
struct leat_bench_case *leat_bench_add_case(struct leat_bench *bench, const char *file,
                                            const char *stream);
/* Adds "full=value" to what is set, and "path=value" to the name. 0 or -ENOMEM. */
int leat_bench_case_set(struct leat_bench_case *item, const char *full, const char *path,
                        const char *value);
void leat_bench_deinit(struct leat_bench *bench);

/* Over the samples of a case. */
struct leat_bench_summary leat_bench_case_summary(const struct leat_bench_case *item,
                                                  enum leat_bench_figure figure);
struct leat_bench_summary leat_bench_case_ratios(const struct leat_bench_case *a,
                                                 const struct leat_bench_case *b,
                                                 enum leat_bench_figure figure);
/* The case with the best median; NULL: none has any. */
const struct leat_bench_case *leat_bench_best(const struct leat_bench *bench,
                                              enum leat_bench_figure figure);

/* How noisy a case is: the spread of the goal, or of records/s. */
double leat_bench_noise(const struct leat_bench *bench, const struct leat_bench_case *item);

void leat_bench_machine_read(struct leat_bench_machine *ret_machine);
