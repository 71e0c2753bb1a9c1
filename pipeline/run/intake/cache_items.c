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

/* ---- shards ---- */

/* Part i of n of the bytes. */
static uint64_t part(uint64_t n_bytes, uint32_t i, uint32_t n) {
    return (uint64_t)((unsigned __int128)n_bytes * i / n);
}

void leat_cache_shard_set(struct leat_cache_shard *shard, const struct leat_data *data) {
    if (shard->n_shards == 0 || !data)
        return;
    shard->from = part(data->n_bytes, shard->index, shard->n_shards);
    shard->to = part(data->n_bytes, shard->index + 1, shard->n_shards);
    shard->file = 0;
    shard->base = shard->n_skipped = 0;
}

size_t leat_cache_shard_start(struct leat_cache_shard *shard, const struct leat_data *data) {
    shard->n_skipped = 0;
    shard->file = 0;
    shard->base = 0;
    while (shard->file + 1 < data->n_files &&
           shard->base + data->states[shard->file].n_bytes <= shard->from)
        shard->base += data->states[shard->file++].n_bytes;
    return shard->file;
}

/* Offsets in a compressed file are those of its text, and may exceed its size. */
static uint64_t place_in(const struct leat_file_state *source, uint64_t offset) {
    return source->n_bytes > 0 && offset >= source->n_bytes ? source->n_bytes - 1 : offset;
}

enum leat_cache_sifted leat_cache_shard_sift(struct leat_cache_shard *shard,
                                             const struct leat_data *data,
                                             struct leat_piece *piece) {
    uint64_t offset;

    if (shard->n_shards == 0)
        return LEAT_CACHE_SIFT_TAKE;
    while (shard->file < piece->span.file)
        shard->base += data->states[shard->file++].n_bytes;
    offset = shard->base + place_in(&data->states[shard->file], piece->span.offset);
    if (offset >= shard->to)
        return LEAT_CACHE_SIFT_END;
    if (offset < shard->from) {
        shard->n_skipped += piece->span.n_records;
        return LEAT_CACHE_SIFT_SKIP;
    }
    piece->record -= shard->n_skipped;
    return LEAT_CACHE_SIFT_TAKE;
}

uint64_t leat_cache_shard_n_bytes(const struct leat_cache_shard *shard,
                                  const struct leat_data *data) {
    return shard->n_shards > 0 ? shard->to - shard->from : data ? data->n_bytes : 0;
}

uint64_t leat_cache_shard_n_done(const struct leat_cache_shard *shard, const struct leat_data *data,
                                 const struct leat_cache_file *file) {
    const struct leat_cache_span *last;
    uint64_t n_bytes = 0, end;

    if (!file || file->n_frames == 0)
        return 0;
    last = &file->frames[file->n_frames - 1].span;
    for (size_t i = 0; i < last->file && i < data->n_files; i++)
        n_bytes += data->states[i].n_bytes;
    end = last->offset + last->n_bytes;
    if (last->file < data->n_files && end > data->states[last->file].n_bytes)
        end = data->states[last->file].n_bytes;
    return n_bytes + end - shard->from;
}
