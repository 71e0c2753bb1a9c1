/* cache_items.h: blocks on their way to a cache file: a queue in the order of the data, and free
 * items whose memory is used again. Owner: the run's thread. */
#pragma once

#include "pipeline/work/map.h"

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
