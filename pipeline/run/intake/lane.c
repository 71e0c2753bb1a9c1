#include "pipeline/run/intake/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/row_store.h"

void leat_lane_init(struct leat_lane *lane, struct leat_plan *plan,
                    const struct leat_run_options *options, struct leat_account *account,
                    uint32_t index, size_t n_lanes, size_t max_map_jobs) {
    lane->index = index;
    lane->epoch = options->first_epoch;
    lane->pass = 0;
    leat_block_queue_init(&lane->queue);
    leat_lane_memory_init(&lane->memory, plan, account, leat_row_store_forget);
    leat_reader_init(&lane->reader, plan, options, account, index, n_lanes, max_map_jobs);
}

void leat_lane_deinit(struct leat_lane *lane) {
    leat_reader_deinit(&lane->reader);
    leat_lane_memory_deinit(&lane->memory);
}

struct leat_queue_entry *leat_lane_add(struct leat_lane *lane, struct leat_queue_entry entry) {
    entry.epoch = lane->reader.epoch;
    entry.pass = lane->reader.pass;
    return leat_block_queue_add(&lane->queue, &entry);
}

void leat_lane_free_entry(struct leat_lane *lane, struct leat_queue_entry *entry) {
    if (entry->block)
        leat_block_unref(entry->block, 1);
    leat_lane_release_piece(lane, &entry->piece);
    free(entry->n_idle_rows);
    free(entry);
}

bool leat_lane_is_stale(const struct leat_lane *lane) {
    return leat_queue_entry_is_stale(lane->queue.first, lane->epoch, lane->pass);
}

void leat_lane_set_pass(struct leat_lane *lane, uint64_t epoch, uint64_t pass) {
    lane->epoch = epoch;
    lane->pass = pass;
}

uint64_t leat_lane_n_read(const struct leat_lane *lane) {
    const struct leat_queue_entry *entry = lane->queue.first;

    return entry && entry->state == LEAT_ENTRY_MAPPED && entry->next_row > 0
               ? leat_queue_entry_n_read(entry)
               : 0;
}

int leat_lane_give_buffers(struct leat_lane *lane, struct leat_scan_job *job) {
    for (size_t i = 0; i < job->n_pieces && i < LEAT_SCAN_MAX; i++) {
        job->buffers[i] = leat_lane_memory_take_buffer(&lane->memory);
        if (!job->buffers[i])
            return -ENOMEM;
    }
    return 0;
}

void leat_lane_take_buffers(struct leat_lane *lane, struct leat_scan_job *job) {
    for (size_t i = 0; i < job->n_pieces && i < LEAT_SCAN_MAX; i++)
        leat_lane_memory_give_buffer(&lane->memory, job->buffers[i]);
}

void leat_lane_release_piece(struct leat_lane *lane, struct leat_piece *piece) {
    leat_lane_memory_give_buffer(&lane->memory, piece->buffer);
    piece->buffer = NULL;
}
