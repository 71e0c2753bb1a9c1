/* options.h: what a run is told at its beginning. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_account;
struct leat_error;
struct leat_opener;

struct leat_run_options {
    uint64_t first_epoch, first_step;
    uint64_t n_epochs; /* 0: without end */
    uint64_t n_steps;  /* The run ends after so many batches of all of its ranks; 0: all. */
    /* The ranks of which it makes the batches; n_ranks 0 counts as 1. */
    uint64_t first_rank, n_ranks;
    uint64_t world_size; /* 0 counts as 1 */
    /* Rounds of first_epoch, of world_size steps of which each rank has one, begin at steps that
     * are congruent to that modulo world_size: the position at which the trainers of all ranks
     * started. Those of later epochs begin at 0. */
    uint64_t round_phase;
    bool has_seed;
    uint64_t seed;         /* in place of the stream's own */
    int on_change;         /* enum leat_on_change; AUTO: as WARN */
    uint32_t max_map_jobs; /* blocks between scan and order at once: LEAT_BLOCKS_IN_LINE() */
    /* No batches are made: the cache of the source is built, and then the run ends. */
    bool only_builds;
    bool only_places; /* No batches are made: places.h asks where the rows of the first are from. */
    const char *cache_folder; /* in place of the stream's own; NULL: that */
    /* Where the run keeps indexes of blocks (index.h) of streams that have no cache, unless the
     * stream says where; NULL: nowhere. */
    const char *index_folder;
    uint32_t shard, n_shards; /* only_builds: that part of the cache alone; n_shards 0: all */
    uint64_t (*now_ns)(void); /* for busy times; NULL: they stay 0 */
    uint32_t n_map_threads;   /* that execute MAP jobs; 0: unknown */
    const struct leat_opener *opener; /* outlives the run */
    struct leat_account *account;     /* outlives the run; NULL: nobody limits it */
    /* leat_run_reach() says where trainers are; else the run takes what is taken of it for that. */
    bool is_told;
    bool is_unfused; /* Each per-record stage is a job of its own; the batches are the same. */
};

/* 0; -EINVAL: there are no such ranks. */
int leat_run_options_check(const struct leat_run_options *options, struct leat_error *err);
