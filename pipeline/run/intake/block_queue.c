#include "pipeline/run/intake/block_queue.h"

#include <stdlib.h>

void leat_block_queue_init(struct leat_block_queue *queue) {
    *queue = (struct leat_block_queue){.last = &queue->first};
}

static bool is_end(const struct leat_queue_entry *entry) {
    return entry->state == LEAT_ENTRY_PASS_END;
}

struct leat_queue_entry *leat_block_queue_add(struct leat_block_queue *queue,
                                              const struct leat_queue_entry *entry) {
    struct leat_queue_entry *added = malloc(sizeof(*added));

    if (!added)
        return NULL;
    *added = *entry;
    added->next = NULL;
    *queue->last = added;
    queue->last = &added->next;
    queue->n_blocks += !is_end(added);
    queue->n_ends += is_end(added);
    return added;
}

struct leat_queue_entry *leat_block_queue_take(struct leat_block_queue *queue) {
    struct leat_queue_entry *entry = queue->first;

    queue->first = entry->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->n_blocks -= !is_end(entry);
    queue->n_ends -= is_end(entry);
    return entry;
}

struct leat_queue_entry *leat_block_queue_next_unmapped(const struct leat_block_queue *queue) {
    for (struct leat_queue_entry *entry = queue->first; entry; entry = entry->next)
        if (entry->state == LEAT_ENTRY_SCANNED || entry->state == LEAT_ENTRY_CACHED ||
            entry->state == LEAT_ENTRY_PARKED)
            return entry;
    return NULL;
}

size_t leat_block_queue_n_unmapped(const struct leat_block_queue *queue) {
    size_t n = 0;

    for (const struct leat_queue_entry *entry = queue->first; entry; entry = entry->next)
        n += entry->state != LEAT_ENTRY_MAPPED && !is_end(entry);
    return n;
}

uint64_t leat_block_queue_n_records(const struct leat_block_queue *queue, uint64_t epoch,
                                    bool with_unmapped) {
    uint64_t n = 0;

    for (const struct leat_queue_entry *entry = queue->first; entry; entry = entry->next)
        if (entry->epoch == epoch && !is_end(entry) &&
            (with_unmapped ||
             (entry->state != LEAT_ENTRY_SCANNED && entry->state != LEAT_ENTRY_CACHED)))
            n += entry->piece.span.n_records ? entry->piece.span.n_records : 1;
    return n;
}

void leat_queue_entry_start_map(struct leat_queue_entry *entry, struct leat_block *block) {
    entry->block = block;
    entry->state = LEAT_ENTRY_MAPPING;
}

void leat_queue_entry_end_map(struct leat_queue_entry *entry, const struct leat_error *error) {
    entry->error = *error;
    entry->state = LEAT_ENTRY_MAPPED;
}

void leat_queue_entry_park(struct leat_queue_entry *entry, struct leat_job *job) {
    entry->parked = job;
    entry->state = LEAT_ENTRY_PARKED;
}

struct leat_job *leat_queue_entry_unpark(struct leat_queue_entry *entry) {
    struct leat_job *job = entry->parked;

    entry->parked = NULL;
    entry->state = LEAT_ENTRY_MAPPING;
    return job;
}

void leat_queue_entry_set_count_only(struct leat_queue_entry *entry, struct leat_block *block) {
    entry->block = block;
    entry->state = LEAT_ENTRY_MAPPED;
}

struct leat_buffer *leat_queue_entry_take_buffer(struct leat_queue_entry *entry) {
    struct leat_buffer *buffer = entry->piece.buffer;

    entry->piece.buffer = NULL;
    return buffer;
}

void leat_queue_entry_give_item(struct leat_queue_entry *entry, struct leat_cache_item *item) {
    entry->item = item;
    entry->frame = item->frame;
    entry->frame.record = entry->piece.record;
}

struct leat_cache_item *leat_queue_entry_take_item(struct leat_queue_entry *entry) {
    struct leat_cache_item *item = entry->item;

    entry->item = NULL;
    return item;
}

void leat_queue_entry_skip_rows(struct leat_queue_entry *entry) {
    while (leat_queue_entry_has_row(entry) &&
           leat_queue_entry_next_record(entry) < entry->from_record)
        entry->next_row++;
}

const struct leat_bad_record *leat_queue_entry_take_bad(struct leat_queue_entry *entry,
                                                        uint32_t before_row) {
    const struct leat_block *block = entry->block;
    uint32_t end = before_row < block->n_rows && block->records ? block->records[before_row]
                                                                : entry->to_record;

    while (leat_queue_entry_has_bad(entry) && block->bad[entry->next_bad].record < end) {
        const struct leat_bad_record *bad = &block->bad[entry->next_bad++];

        if (bad->record >= entry->from_record)
            return bad;
    }
    return NULL;
}

uint64_t leat_queue_entry_n_read(const struct leat_queue_entry *entry) {
    return leat_queue_entry_next_record(entry) - entry->from_record;
}
