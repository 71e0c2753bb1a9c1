#include "pipeline/run/intake/cache_items.h"

#include <stdlib.h>

void leat_cache_items_init(struct leat_cache_items *items) {
    *items = (struct leat_cache_items){.last = &items->first};
}

void leat_cache_items_deinit(struct leat_cache_items *items) {
    leat_cache_items_drop(items);
    leat_cache_items_trim(items);
}

void leat_cache_items_trim(struct leat_cache_items *items) {
    while (items->free) {
        struct leat_cache_item *item = items->free;

        items->free = item->next;
        leat_cache_bytes_deinit(&item->block);
        leat_cache_bytes_deinit(&item->stored);
        free(item);
    }
}

struct leat_cache_item *leat_cache_items_take(struct leat_cache_items *items) {
    struct leat_cache_item *item = items->free;

    if (!item)
        return calloc(1, sizeof(*item));
    items->free = item->next;
    return item;
}

void leat_cache_items_give(struct leat_cache_items *items, struct leat_cache_item *take_item) {
    if (!take_item)
        return;
    take_item->next = items->free;
    items->free = take_item;
}

void leat_cache_items_add(struct leat_cache_items *items, struct leat_cache_item *take_item) {
    take_item->next = NULL;
    *items->last = take_item;
    items->last = &take_item->next;
    items->n_bytes += leat_cache_frame_size(&take_item->frame);
}

void leat_cache_items_drop(struct leat_cache_items *items) {
    while (items->first) {
        struct leat_cache_item *item = items->first;

        items->first = item->next;
        leat_cache_items_give(items, item);
    }
    items->last = &items->first;
    items->n_bytes = 0;
}

struct leat_cache_item *leat_cache_items_start_write(struct leat_cache_items *items,
                                                     uint64_t position, uint64_t record) {
    struct leat_cache_item *first = items->first;

    for (struct leat_cache_item *item = first; item; item = item->next) {
        item->frame.position = position;
        item->frame.record = record;
        position += leat_cache_frame_size(&item->frame);
        record += item->frame.span.n_records;
    }
    items->first = NULL;
    items->last = &items->first;
    return first;
}

void leat_cache_items_end_write(struct leat_cache_items *items, struct leat_cache_item *take_item) {
    items->n_bytes -= leat_cache_frame_size(&take_item->frame);
    leat_cache_items_give(items, take_item);
}

uint64_t leat_cache_item_bytes(const struct leat_cache_item *item) {
    return item->block.capacity + item->stored.capacity;
}

static uint64_t list_bytes(const struct leat_cache_item *first) {
    uint64_t n_bytes = 0;

    for (const struct leat_cache_item *item = first; item; item = item->next)
        n_bytes += leat_cache_item_bytes(item);
    return n_bytes;
}

uint64_t leat_cache_items_bytes(const struct leat_cache_items *items) {
    return list_bytes(items->free) + list_bytes(items->first);
}
