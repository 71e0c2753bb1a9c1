/* block_cache.h: blocks of objects as files of a folder on the local disk.
 *
 * A file has the bytes of its block and their XXH3, and is named after the object's URL and version
 * and the block's number and size. It appears whole or not at all; several processes may share a
 * folder. Where the disk is full or fails, blocks are kept in memory until they were handed out.
 * Owner: the loop.
 */
#pragma once

#include "daemon/fetch/catalog.h"
#include "proto/base/error.h"

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

/* Bytes of that block of the object. */
uint64_t leat_block_bytes(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, uint64_t block);
uint64_t leat_n_blocks(const struct leat_block_cache *cache,
                       const struct leat_fetch_object *object);

bool leat_block_cache_has(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, uint64_t block);
/* A descriptor, read-only; -1: there is no such block. */
int leat_block_cache_open(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, uint64_t block);
void leat_block_cache_remove(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                             uint64_t block);
/* Keeps a block; a descriptor of it, which may be of memory. -errno: not even that. */
int leat_block_cache_add(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                         uint64_t block, const void *data, size_t n);
