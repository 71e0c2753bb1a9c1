/* cache_items.h: blocks on their way to a cache file: a queue of those that are to be written, in
 * the order of the data, and memory of others that is used again. Owner: the run's thread. */
#pragma once

#include "pipeline/work/job.h"

struct leat_cache_items {
    struct leat_cache_item *first, **last; /* to be written */
    struct leat_cache_item *free;
    size_t n_bytes; /* of frames that are to be written, or are being written */
};

void leat_cache_items_init(struct leat_cache_items *items);
void leat_cache_items_deinit(struct leat_cache_items *items);
/* Gives back the memory of items that are not in use. */
void leat_cache_items_trim(struct leat_cache_items *items);

/* An empty item; NULL: no memory. */
struct leat_cache_item *leat_cache_items_take(struct leat_cache_items *items);
/* take_item NULL: nothing happens. */
void leat_cache_items_give(struct leat_cache_items *items, struct leat_cache_item *take_item);
/* Puts an item at the end of the queue. */
void leat_cache_items_add(struct leat_cache_items *items, struct leat_cache_item *take_item);
/* Empties the queue: what is in it is not written. */
void leat_cache_items_drop(struct leat_cache_items *items);

/* Takes the queue to be written from that byte and record of the file on. */
struct leat_cache_item *leat_cache_items_start_write(struct leat_cache_items *items,
                                                     uint64_t position, uint64_t record);
/* Takes an item back that was written, or was to be. */
void leat_cache_items_end_write(struct leat_cache_items *items, struct leat_cache_item *take_item);

/* Memory of what is in the queue, or is free. */
uint64_t leat_cache_items_bytes(const struct leat_cache_items *items);
uint64_t leat_cache_item_bytes(const struct leat_cache_item *item);
