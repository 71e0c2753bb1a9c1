/* shared_stream.h: helpers for the tests of this room: files in a folder that goes away, plans from
 * YAML, and a driver that runs a plan in any order of completion and takes a digest of what came.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/run/pipeline.h"
#include "proto/base/text.h"

/* ---- files ---- */

/* Group fixtures: a fresh folder, and its end with all that is in it. */
int folder_open(void **state);
int folder_close(void **state);
/* FOLDER/name; valid until the next calls (four of them). */
const char *folder_path(const char *name);
void folder_write(const char *name, const void *bytes, size_t n_bytes);
__attribute__((format(printf, 2, 3))) void folder_print(const char *name, const char *format, ...);
/* The whole file, terminated; free it. NULL if there is none. */
char *folder_read(const char *name);

/* ---- specs and plans ---- */

/* The stream `x` with this source and these lines of stages, as YAML in FOLDER/x.yaml. `options`
 * may be "". Example: stream_spec("csv: {paths: [a.csv]}", "", "- batch: {batch_size: 2}"). */
struct leat_spec *stream_spec(const char *source, const char *options, const char *stages);
struct leat_plan *stream_plan(const char *source, const char *options, const char *stages);
/* A plan as text or JSON, without a forecast; the caller frees it. */
char *stream_explain(const struct leat_plan *plan, uint32_t n_workers, bool as_json);
/* The printed error of a plan that must fail; valid until the next call. */
const char *stream_error(const char *source, const char *options, const char *stages);
/* The n first records after a stage as JSON lines (leat_head); free it. */
char *stream_head(const char *source, const char *options, const char *stages, int after_stage,
                  uint64_t n);

/* What one record a line of `data` (JSON Lines if it begins with '{', else CSV with a header) is
 * after all of `stages`: the rows as JSON, and the error that ended them. Fails the test if it is
 * not `expected`. */
void check_rows(const char *data, const char *stages, const char *expected);
/* The error of planning that is printed for `stages` on such data. */
void check_refused(const char *data, const char *stages, const char *expected);

/* ---- runs ---- */

struct drive {
    struct leat_run_options options; /* opener and max_map_jobs may be left out */
    unsigned n_jobs;                 /* out at once; 0: 1 */
    uint64_t random;   /* 0: first out, first back; else the seed of the order of completion */
    unsigned n_slots;  /* 0: 4 */
    size_t slot_bytes; /* 0: as the plan says */
    unsigned n_held;   /* batches that the trainer holds before it gives back the oldest */
    bool in_threads;   /* jobs that are out run at the same time */
    bool turns_knobs;  /* any of them, at any moment */
    bool grows;        /* begins with an epoch and a batch, and is told of the rest bit by bit */
    bool grows_late;   /* each epoch is told of once all that can be made before it is made */
    uint64_t cancel_after; /* batches; 0: never */
    void (*on_batch)(const struct leat_output *output, void *user);
    /* The run waits although no job is out, as it does for memory; without it, the test fails. */
    void (*on_wait)(struct leat_run *run, void *user);
    void *user;
};

struct driven {
    char digest[LEAT_DIGEST_HEX_SIZE]; /* of every output, every used byte, in order */
    uint64_t n_batches, n_rows, n_epochs, n_growths;
    uint64_t n_end_steps;    /* as the last end of an epoch tells */
    struct leat_error error; /* code 0: none */
    struct leat_run_stats stats;
    struct leat_error cache_note;         /* the last; code 0: none */
    uint64_t n_made, n_cached, n_damaged; /* records parsed, rows and blocks of the cache */
};

struct driven drive(struct leat_plan *plan, const struct drive *how);
/* The same from a spec as above, with a plan of its own. */
struct driven drive_stream(const char *source, const char *options, const char *stages,
                           const struct drive *how);

/* A tensor of the batch in the slot of that output, checked to be there. */
const void *batch_tensor(const struct leat_output *output, const char *name, enum leat_dtype dtype,
                         uint64_t *ret_n_elements);
const struct leat_slot_tensor *batch_descriptor(const struct leat_output *output, const char *name);

/* Collects one tensor over all batches: on_batch = collect, user = &collected. */
struct collected {
    const char *name;
    int64_t *values; /* of an int64 tensor */
    size_t n_values, capacity;
};
void collect(const struct leat_output *output, void *user);
void collected_free(struct collected *collected);
