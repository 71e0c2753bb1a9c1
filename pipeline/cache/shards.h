/* cache/shards.h: the shards of a cache that were prepared apart, each of them once, in their
 * order. Blocks: it reads files. One thread. */
#pragma once

#include "pipeline/cache/store.h"
#include "pipeline/plan/plan.h"

#define LEAT_CACHE_SHARDS_MAX LEAT_SET_SHARDS_MAX

struct leat_cache_shard_file {
    char *path;
    struct leat_cache_file *file;
};

struct leat_cache_shards {
    struct leat_cache_identity identity; /* of the source as it is here */
    struct leat_data *data;              /* of the source */
    struct leat_cache_shard_file *items; /* [n_items] */
    size_t n_items, capacity;
    const char *spec_file; /* for messages */
    int code;              /* of an error about shards that are not a whole */
    struct leat_error *err;
};

/* paths: files of shards, and folders that hold them, which may be in a store (s3://). -ESTALE:
 * they are of other data or another spec; `code`: they are not all shards of one cache, each once;
 * -EBADMSG: one is damaged. In any case leat_cache_shards_deinit() follows. */
int leat_cache_shards_open(struct leat_cache_shards *shards, const struct leat_plan *plan,
                           const struct leat_opener *opener, const char *const *paths,
                           size_t n_paths, int code, struct leat_error *err);
void leat_cache_shards_deinit(struct leat_cache_shards *shards);

/* The number of files in a folder that have names of shards; 0 also if it cannot be read. May
 * block. */
size_t leat_cache_shards_count(const char *folder);
