/* cache_job.h: the CACHE job: finds the cache of the source, or adds to it. Any thread. */
#pragma once

#include "pipeline/cache/key.h"
#include "pipeline/cache/shard.h"
#include "pipeline/plan/data_watch.h"

struct leat_cache_item;

enum leat_cache_task {
    LEAT_CACHE_OPEN,
    LEAT_CACHE_WRITE,
    LEAT_CACHE_FINISH, /* All of the source is in the file. */
    LEAT_CACHE_YIELD,  /* Does nothing, so that other runs get a turn between frames. */
};

struct leat_cache_job {
    enum leat_cache_task task;
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    const char *folder;
    uint32_t shard, n_shards;     /* n_shards 0: all of the source */
    struct leat_cache_file *file; /* of the run; frames are read for FINISH only */
    bool is_builder;              /* of that file */
    bool is_index, has_columns;
    bool begins_anew;              /* OPEN: drops the frames of an earlier builder */
    struct leat_data *data;        /* lent by the run */
    bool is_settled;               /* OPEN: the file is good as long as the data is the same */
    bool may_build;                /* OPEN */
    struct leat_data_watch *watch; /* OPEN: the run's */
    bool has_changed;              /* OPEN, out: the data has changed, and the run fails */
    bool is_same;                  /* OPEN, out: the data is the same; else `found` is set */
    struct leat_cache_found found; /* OPEN, out */
    struct leat_cache_item *items; /* WRITE: have their positions */
    size_t n_written;              /* WRITE, out */
};

int leat_cache_execute(struct leat_cache_job *job, struct leat_error *err);
