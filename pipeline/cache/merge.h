/* cache/merge.h: joins shards that were prepared anywhere to the cache of the source as it is here,
 * frame by frame as a run would have written it.
 *
 * Blocks: it reads and writes files. One thread.
 */
#pragma once

#include "pipeline/cache/store.h"
#include "pipeline/plan/plan.h"

/* Called now and then with the bytes that are written, and their total. */
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
 * -EBUSY: another process builds it. watch: may be NULL. */
int leat_cache_merge(const struct leat_plan *plan, const struct leat_opener *opener,
                     const char *folder, const char *const *paths, size_t n_paths,
                     const struct leat_cache_merge_watch *watch,
                     struct leat_cache_merged *ret_merged, struct leat_error *err);
