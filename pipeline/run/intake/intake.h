/* intake.h: fills the block queues of a run: from files, from the cache of the source, or from the
 * spans of a source that is read in random order. On the way to the first step it queues count-only
 * blocks (fast_forward.h).
 *
 * It hands out SCAN, DECODE and CACHE jobs and takes them back. The demand says how much is wanted.
 * Owner: the run's thread.
 */
#pragma once

#include <stddef.h>

#include "pipeline/run/horizon.h"
#include "pipeline/run/intake/cache.h"
#include "pipeline/run/intake/fast_forward.h"
#include "pipeline/run/intake/lane.h"
#include "pipeline/run/intake/spans.h"
#include "pipeline/run/job_pool.h"
#include "pipeline/run/profile/figures.h"
#include "pipeline/work/knobs.h"

/* Texts for the operator until they are taken. The list is bounded, and drops texts
 * when it is full. Owner: the run's thread. */
#define LEAT_NOTE_LIST_MAX 64

struct leat_note_list {
    char *texts[LEAT_NOTE_LIST_MAX];
    size_t n_texts;
};

void leat_note_list_deinit(struct leat_note_list *list);
/* Adds a copy of the text; drops it without memory. */
void leat_note_list_add(struct leat_note_list *list, const char *text);
/* Adds the text itself, which the list frees. */
void leat_note_list_move(struct leat_note_list *list, char *take_text);
/* The oldest text, which the caller frees; NULL: none. */
char *leat_note_list_take(struct leat_note_list *list);

/* The demand of the order. */
struct leat_demand {
    const struct leat_horizon *horizon;
    struct leat_horizon_place place;
    bool is_over; /* The run has failed, or wants no more rows. */
    bool has_failed, is_cancelled;
    bool is_before_first; /* The next batch is one before the first step. */
    bool has_planned;     /* Batches wait for rows that are being fetched. */
};

struct leat_intake {
    struct leat_plan *plan;
    const struct leat_run_options *options;
    const struct leat_knobs *knobs;
    struct leat_account *account;
    uint64_t seed;
    struct leat_job_pool *jobs;
    struct leat_row_store *store;

    struct leat_lane *lanes; /* [n_lanes] */
    size_t n_lanes;          /* 1, or the number of sources that are mixed */
    struct leat_run_cache cache;
    struct leat_run_spans spans;
    struct leat_fast_forward forward;

    struct leat_note_list changes; /* texts about files that have changed */
    struct leat_stream_counts counts;
    uint64_t cache_bytes; /* counted in the account */
    bool is_short;        /* In this turn less was read for want of memory. */
    bool has_new_end;     /* A pass ended, or got a count-only block, without a job. */
};

/* Initializes the store, too. What is pointed to outlives the intake. */
int leat_intake_init(struct leat_intake *intake, struct leat_plan *plan,
                     const struct leat_run_options *options, const struct leat_knobs *knobs,
                     uint64_t seed, struct leat_account *account, struct leat_job_pool *jobs,
                     struct leat_row_store *store, struct leat_error *err);
/* The queues must be empty. */
void leat_intake_deinit(struct leat_intake *intake);
/* Gives back unused memory while others need it. */
void leat_intake_trim(struct leat_intake *intake);
/* Call it at each tick. maps_wait: pieces wait for memory to be mapped, even if no more rows are
 * wanted. True: a lane waits for memory and should try again. */
bool leat_intake_tick(struct leat_intake *intake, const struct leat_demand *demand,
                      bool maps_wait);
/* Blocks are read in another size from now on. */
void leat_intake_scale(struct leat_intake *intake, uint64_t before_bytes, uint64_t after_bytes);

uint32_t leat_intake_n_blocks(const struct leat_intake *intake);
/* Bytes of bundles and of the order of spans. */
uint64_t leat_intake_order_bytes(const struct leat_intake *intake);
bool leat_intake_is_mixed(const struct leat_intake *intake);
/* Sets the number of epochs. */
void leat_intake_extend(struct leat_intake *intake, uint64_t n_epochs);
/* Updates the account by the blocks that are on their way to the cache. */
void leat_intake_count_cache(struct leat_intake *intake);
/* The facts about the lane that the cache needs, and the bound of its memory. */
struct leat_run_cache_view leat_intake_view(const struct leat_intake *intake,
                                            struct leat_lane *lane,
                                            const struct leat_demand *demand);
struct leat_room leat_intake_room(const struct leat_intake *intake);
/* Consumes that pass of the lane from now on. If the reader is still in the pass before, it goes to
 * the next one. */
void leat_intake_start_pass(struct leat_intake *intake, struct leat_lane *lane,
                            const struct leat_demand *demand, uint64_t epoch, uint64_t pass);

/* Returns has_new_end, and clears it. */
bool leat_intake_take_end(struct leat_intake *intake);

/* The next job of each kind: 1; 0: none is due; -errno: the run fails. */
int leat_intake_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                          struct leat_job **ret_job, struct leat_error *err);
int leat_intake_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err);
int leat_intake_decode_job(struct leat_intake *intake, struct leat_lane *lane,
                           const struct leat_demand *demand, struct leat_job **ret_job,
                           struct leat_error *err);

/* Takes a job back. 0; -errno: the run fails. */
int leat_intake_end_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                              struct leat_job *job, struct leat_error *err);
int leat_intake_end_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err);
