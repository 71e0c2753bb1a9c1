/* options.h: what a run is told at its beginning. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_account;
struct leat_error;
struct leat_opener;
struct leat_plan;

struct leat_run_options {
    uint64_t first_epoch, first_step;
    uint64_t n_epochs; /* 0: without end */
    uint64_t n_steps;  /* The run ends after this many batches of all of its ranks; 0: all. */
    /* The ranks that the run makes batches for; n_ranks 0 counts as 1. */
    uint64_t first_rank, n_ranks;
    uint64_t world_size; /* 0 counts as 1 */
    /* A round is world_size steps, one for each rank. Rounds of first_epoch begin at steps that are
     * congruent to round_phase modulo world_size, where the trainers started; those of later epochs
     * begin at step 0. */
    uint64_t round_phase;
    bool has_seed;
    uint64_t seed;            /* replaces the stream's own */
    int on_change;            /* enum leat_on_change; AUTO counts as WARN */
    uint32_t max_map_jobs;    /* blocks between scan and order at once: LEAT_BLOCKS_IN_QUEUE() */
    bool only_builds;         /* The run builds the cache of the source, and makes no batches. */
    bool only_places;         /* The run makes no batches; places.h looks at the references. */
    const char *cache_folder; /* replaces the stream's own; NULL: that */
    /* Folder for indexes of blocks (index.h) of streams without a cache, unless the stream names
     * one; NULL: none. */
    const char *index_folder;
    uint32_t shard, n_shards; /* only_builds: the part of the cache to build; n_shards 0: all */
    uint64_t (*now_ns)(void); /* for busy times; NULL: they stay 0 */
    uint32_t n_map_threads;   /* that execute MAP jobs; 0: unknown */
    const struct leat_opener *opener; /* outlives the run */
    struct leat_account *account;     /* outlives the run; NULL: memory is not limited */
    /* True if leat_run_reach() tells where trainers are. Else outputs that are taken tell it. */
    bool is_told;
    bool is_unfused; /* Each per-record stage is a job of its own; the batches are the same. */
};

/* True if other runs make the batches of other ranks, so that this one need not make all rows. It
 * makes all where data may change meanwhile, as rows are read some time after they are counted. */
bool leat_run_options_are_of_some(const struct leat_run_options *options);
/* Checks the options against the plan. 0; -EINVAL: there are no such ranks, or skips leave ranks
 * with different numbers of steps; -ESPIPE: the source comes through a FIFO and cannot be read from
 * that position, or as many times. */
int leat_run_options_check(const struct leat_run_options *options, const struct leat_plan *plan,
                           struct leat_error *err);
