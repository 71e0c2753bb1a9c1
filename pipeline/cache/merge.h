/* cache/merge.h: shards that were prepared anywhere, joined to the cache of the source as it lies
 * here: frame by frame what a run would have written at once.
 *
 * Blocks: it reads and writes files. One thread.
 */
#pragma once

#include "pipeline/cache/store.h"
#include "pipeline/plan/plan.h"

#define LEAT_CACHE_SHARDS_MAX 100000

/* Told now and then how much is written, of how much. */
struct leat_cache_merge_watch {
    void (*on_progress)(void *user, uint64_t n_done_bytes, uint64_t n_total_bytes);
    void *user;
};

struct leat_cache_merged {
    char name[LEAT_CACHE_NAME_MAX];
    bool was_there; /* it was complete before; nothing was done */
    uint64_t n_frames, n_records, n_rows, n_bytes;
};

/* paths: files of shards, and folders that hold them; of each shard one. -EINVAL: they are not all
 * shards of that cache, -ESTALE: they are of other data or another spec, -EBADMSG: one is damaged,
 * -EBUSY: another builds it. watch: may be NULL. */
int leat_cache_merge(const struct leat_plan *plan, const struct leat_opener *opener,
                     const char *folder, const char *const *paths, size_t n_paths,
                     const struct leat_cache_merge_watch *watch,
                     struct leat_cache_merged *ret_merged, struct leat_error *err);

/* Files in a folder that are called like shards; 0 as well if it cannot be read. May block. */
size_t leat_cache_merge_count(const char *folder);
