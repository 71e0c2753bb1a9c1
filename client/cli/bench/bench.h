/* bench.h: `leatctl bench` measures configurations (cases): each is a stream of a file with some
 * values replaced, and has a sample for each run. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/cli/base/units.h"
#include "client/cli/bench/statistics.h"
#include "client/cli/bench/vary.h"
#include "proto/base/blake2b.h"
#include "proto/base/text.h"

/* The figures of a run. Tables, JSON and goals follow from leat_bench_figures. */
enum leat_bench_figure {
    LEAT_BENCH_WALL,  /* from opening the stream to the last batch */
    LEAT_BENCH_FIRST, /* from opening the stream to the first batch */
    LEAT_BENCH_MEASURED,
    LEAT_BENCH_BATCHES, /* this and all below: in the measured time */
    LEAT_BENCH_BATCH_RATE,
    LEAT_BENCH_RECORD_RATE,
    LEAT_BENCH_TOKEN_RATE,
    LEAT_BENCH_SOURCE_RATE,
    LEAT_BENCH_BYTE_RATE,
    LEAT_BENCH_RECORD_CPU, /* of the daemon */
    LEAT_BENCH_WAITED,
    LEAT_BENCH_MEMORY, /* of the daemon: the peak since its start */
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
    enum leat_bench_unit unit;
    bool is_better_low;
    bool is_in_table;
};
extern const struct leat_bench_figure_info leat_bench_figures[LEAT_BENCH_N_FIGURES];

/* "12,345", "1.23", "4.56 ms", "310.2 MiB", "45.6 MB/s", "12.3 %"; "-": not measured. */
const char *leat_bench_print(double value, enum leat_bench_unit unit,
                             char buffer[LEAT_CLI_UNIT_MAX]);

struct leat_bench_case {
    char *name;       /* "batch.batch_size=8, workers=2"; of --compare the file; "": as written */
    const char *file; /* NULL: of a saved result */
    char *stream;
    char *overrides[LEAT_CLI_STRINGS_MAX + 2]; /* for leatd --set */
    size_t n_overrides;
    uint64_t value; /* of --find */
    char digest[LEAT_DIGEST_HEX_SIZE];
    size_t n_samples;
    double samples[LEAT_BENCH_REPEAT_MAX][LEAT_BENCH_N_FIGURES]; /* NAN: not measured */
};

struct leat_bench {
    const char *file;                        /* NULL: --compare */
    uint64_t n_seconds, n_batches, n_epochs; /* of a run: exactly one of them is not 0 */
    uint64_t n_repeat;
    unsigned delivery;
    uint32_t window;
    enum leat_bench_figure goal; /* without --goal: records/s */
    bool hides_progress;
    size_t n_cases;
    struct leat_bench_case *cases[2 * LEAT_BENCH_MAX_CASES]; /* of two saved results */
    const char *searched;                                    /* the text of --find; NULL: none */
    char found[512]; /* the result of the search, and why it stopped */
    bool was_interrupted;
};

/* ---- cases ---- */

/* A case at the end of the list; NULL: no memory, or too many. */
struct leat_bench_case *leat_bench_add_case(struct leat_bench *bench, const char *name,
                                            const char *file, const char *stream);
/* Adds "full=value" to the overrides, and "path=value" to the name unless path is NULL. 0 or
 * -errno. */
int leat_bench_case_set(struct leat_bench_case *item, const char *full, const char *path,
                        const char *value);
/* Plans the stream with the values of the case, and has leatd check its settings. 0, or -errno: the
 * error is located in the file or, if there are values, names these. Data that can be read only
 * once is an error. */
int leat_bench_check(const struct leat_bench_case *item, struct leat_error *err);
void leat_bench_deinit(struct leat_bench *bench);

struct leat_bench_summary leat_bench_case_summary(const struct leat_bench_case *item,
                                                  enum leat_bench_figure figure);
/* Ratios b / a of pairs of runs. */
struct leat_bench_summary leat_bench_case_ratios(const struct leat_bench_case *a,
                                                 const struct leat_bench_case *b,
                                                 enum leat_bench_figure figure);
/* The case with the best median of the goal, without `other`; NULL: no case has one. */
const struct leat_bench_case *leat_bench_best(const struct leat_bench *bench,
                                              const struct leat_bench_case *other);

/* ---- running ---- */

/* Runs a case once, with a daemon of its own and a trainer that reads every byte, and adds the
 * sample. 0, -EINTR (a signal: no sample), or what went wrong, as the stream says it. */
int leat_bench_run(const struct leat_bench *bench, struct leat_bench_case *item,
                   struct leat_error *err);

/* `--find PATH` or `PATH=LOW..HIGH`: each value that is tried becomes a case. In the end cases are
 * sorted by value, and bench->found has the result. `run` runs the last case n_repeat times. 0, or
 * -errno; the samples until then stay. */
int leat_bench_find(struct leat_bench *bench, const struct leat_spec *spec, const char *text,
                    int (*run)(struct leat_bench *bench, size_t first_case, struct leat_error *err),
                    struct leat_error *err);

/* ---- results ---- */

/* A row for each case, and the best case. */
void leat_bench_table(const struct leat_bench *bench, struct leat_text *text);
/* a against b: ratios of pairs of runs, and whether they differ. `are_paired`: they ran in turns.
 */
void leat_bench_comparison(const struct leat_bench *bench, const struct leat_bench_case *a,
                           const struct leat_bench_case *b, bool are_paired,
                           struct leat_text *text);

#define LEAT_BENCH_JSON_FORMAT 1
/* Machine, options, medians and the figures of each run (`null`: not measured). */
void leat_bench_to_json(const struct leat_bench *bench, struct leat_text *text);
/* Adds the cases of a saved result. 0 or -errno with an error located in `file`. */
int leat_bench_from_json(const char *data, size_t n_bytes, const char *file,
                         struct leat_bench *bench, struct leat_error *err);
void leat_bench_add_machine_json(struct leat_text *json); /* "machine": {..} */
