/* block_cache.h: blocks of objects as files of a folder on the local disk.
 *
 * A block is any range of an object's bytes. Its file has these bytes and their XXH3, and is named
 * after the object's URL and version and the range. It appears whole or not at all; several
 * processes may share a folder. Where the disk is full or fails, blocks are kept in memory until
 * they were handed out. Owner: the loop.
 */
#pragma once

#include "daemon/fetch/catalog.h"
#include "proto/base/error.h"

struct leat_block_range {
    uint64_t first, n_bytes;
};

struct leat_block_cache {
    int folder;
    uint64_t max_bytes, n_bytes, block_bytes;
    uint64_t salt;   /* of the name of the file that is being written */
    bool is_failing; /* the disk took no block, and it was told */
};

/* path NULL: the folder that leat_fetch_settings says. After an error the cache keeps nothing. */
int leat_block_cache_init(struct leat_block_cache *cache, const char *path, uint64_t max_bytes,
                          uint64_t block_bytes, struct leat_error *err);
void leat_block_cache_deinit(struct leat_block_cache *cache);

/* The block with that number, of those that divide the object. */
struct leat_block_range leat_block_number(const struct leat_block_cache *cache,
                                          const struct leat_fetch_object *object, uint64_t number);
uint64_t leat_n_blocks(const struct leat_block_cache *cache,
                       const struct leat_fetch_object *object);

bool leat_block_cache_has(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, struct leat_block_range range);
/* A descriptor, read-only; -1: there is no such block. */
int leat_block_cache_open(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, struct leat_block_range range);
void leat_block_cache_remove(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                             struct leat_block_range range);
/* Keeps a block; a descriptor of it, which may be of memory. -errno: not even that. */
int leat_block_cache_add(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                         uint64_t first, const void *data, size_t n);
