/* cache_items.h: blocks on their way to a cache file: a queue in the order of the data, and free
 * items whose memory is used again. Owner: the run's thread. */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/work/map.h"
#include "pipeline/work/scan.h"

struct leat_cache_items {
    struct leat_cache_item *first, **last; /* the queue */
    struct leat_cache_item *free;
    size_t n_bytes; /* of frames that are queued, or being written */
};

void leat_cache_items_init(struct leat_cache_items *items);
void leat_cache_items_deinit(struct leat_cache_items *items);
/* Frees the items that are not in use. */
void leat_cache_items_trim(struct leat_cache_items *items);

/* An empty item; NULL: no memory. */
struct leat_cache_item *leat_cache_items_take(struct leat_cache_items *items);
/* NULL is allowed. */
void leat_cache_items_give(struct leat_cache_items *items, struct leat_cache_item *take_item);
/* Queues an item. */
void leat_cache_items_add(struct leat_cache_items *items, struct leat_cache_item *take_item);
/* Empties the queue without writing it. */
void leat_cache_items_drop(struct leat_cache_items *items);

/* Takes the whole queue, to be written at that position of the file, from that record on. */
struct leat_cache_item *leat_cache_items_start_write(struct leat_cache_items *items,
                                                     uint64_t position, uint64_t record);
/* Takes back an item of leat_cache_items_start_write(), written or not. */
void leat_cache_items_end_write(struct leat_cache_items *items, struct leat_cache_item *take_item);

/* Memory of queued and free items. */
uint64_t leat_cache_items_bytes(const struct leat_cache_items *items);
uint64_t leat_cache_item_bytes(const struct leat_cache_item *item);

/* The part of a source that one of several builders of its cache reads: an equal
 * share of the bytes of all files, with the pieces that begin in it. Owner: the run's thread. */
struct leat_cache_shard {
    uint32_t index, n_shards; /* n_shards 0: all of the source */
    uint64_t from, to;        /* range of the bytes of all files, one behind the other */
    size_t file;              /* being read */
    uint64_t base;            /* where that file begins */
    uint64_t n_skipped;       /* records in front of the shard that were read */
};

enum leat_cache_sifted {
    LEAT_CACHE_SIFT_TAKE, /* The piece is of the shard. */
    LEAT_CACHE_SIFT_SKIP, /* It is in front of the shard. */
    LEAT_CACHE_SIFT_END,  /* It is behind the shard. */
};

/* Sets the range, once the data is known. */
void leat_cache_shard_set(struct leat_cache_shard *shard, const struct leat_data *data);
/* Goes to the start of the shard; returns its file. */
size_t leat_cache_shard_start(struct leat_cache_shard *shard, const struct leat_data *data);
/* Says where the piece lies, and numbers its records within the shard. */
enum leat_cache_sifted leat_cache_shard_sift(struct leat_cache_shard *shard,
                                             const struct leat_data *data,
                                             struct leat_piece *piece);
/* Bytes of the shard, and bytes of it up to the last frame of the file; file NULL: 0. */
uint64_t leat_cache_shard_n_bytes(const struct leat_cache_shard *shard,
                                  const struct leat_data *data);
uint64_t leat_cache_shard_n_done(const struct leat_cache_shard *shard, const struct leat_data *data,
                                 const struct leat_cache_file *file);
