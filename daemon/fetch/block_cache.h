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

#define LEAT_BLOCK_NAME_SIZE 96
#define LEAT_BLOCK_GATHERED  (256U << 10)

struct leat_block_range {
    uint64_t first, n_bytes;
};

struct leat_block_cache {
    int folder;
    uint64_t max_bytes, n_bytes, block_bytes;
    uint64_t salt;      /* of the names of files that are being written */
    uint64_t n_written; /* that were begun */
    bool is_failing;    /* the disk took no block, and it was told */
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

/* A block that comes. libcurl hands over 16 KiB at a time; they are gathered, as a file takes many
 * small pieces at almost twice the cost, and hashed and written while they are in the processor's
 * cache. */
struct leat_block_writer {
    struct leat_block_cache *cache;
    int fd; /* -1: it has not begun */
    uint64_t n_bytes; /* that are written */
    struct XXH3_state_s *hash;
    uint8_t *gathered; /* [LEAT_BLOCK_GATHERED]; behind the written ones */
    size_t n_gathered;
    bool is_in_memory; /* as the disk took no more */
    char name[LEAT_BLOCK_NAME_SIZE], temporary[LEAT_BLOCK_NAME_SIZE];
};

/* 0 or -errno: not even memory takes it. After any result the writer has to be dropped. */
int leat_block_writer_begin(struct leat_block_writer *writer, struct leat_block_cache *cache,
                            const struct leat_fetch_object *object, struct leat_block_range range);
int leat_block_writer_add(struct leat_block_writer *writer, const void *data, size_t n);
/* Keeps the block, and drops the writer. A descriptor of the block, or -errno. */
int leat_block_writer_finish(struct leat_block_writer *writer);
void leat_block_writer_drop(struct leat_block_writer *writer);
