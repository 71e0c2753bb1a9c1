#include "pipeline/run/intake/row_feed.h"

static void start_mixer(struct leat_row_feed *feed, uint64_t epoch, uint64_t pass) {
    leat_mixer_start(&feed->mixer, feed->intake->plan->mixing, feed->intake->seed, epoch, pass);
}

void leat_row_feed_init(struct leat_row_feed *feed, struct leat_intake *intake,
                        struct leat_run_mapping *mapping) {
    *feed = (struct leat_row_feed){.intake = intake, .mapping = mapping};
    if (leat_intake_is_mixed(intake))
        start_mixer(feed, intake->options->first_epoch, 0);
}

/* Frees an entry that left the queue. */
static void drop(struct leat_row_feed *feed, struct leat_lane *lane,
                 struct leat_queue_entry *take_entry) {
    leat_run_cache_forget(&feed->intake->cache, take_entry);
    leat_lane_free_entry(lane, take_entry);
}

/* Drops the first entry; its block may be evicted if a stage holds it. */
static void pop(struct leat_row_feed *feed, struct leat_lane *lane) {
    struct leat_queue_entry *entry = leat_block_queue_take(&lane->queue);

    leat_run_mapping_forget(feed->mapping, entry);
    leat_row_store_add(feed->intake->store, entry, feed->intake->cache.is_index);
    drop(feed, lane, entry);
}

void leat_row_feed_deinit(struct leat_row_feed *feed) {
    for (size_t i = 0; i < feed->intake->n_lanes; i++) {
        struct leat_lane *lane = &feed->intake->lanes[i];

        while (lane->queue.first) {
            struct leat_queue_entry *entry = leat_block_queue_take(&lane->queue);

            leat_run_mapping_forget(feed->mapping, entry);
            drop(feed, lane, entry);
        }
    }
}

size_t leat_row_feed_next_lane(struct leat_row_feed *feed) {
    return leat_intake_is_mixed(feed->intake) ? leat_mixer_next(&feed->mixer) : 0;
}

uint64_t leat_row_feed_end_pass(struct leat_row_feed *feed) {
    uint64_t n = feed->n_read;

    for (size_t i = 0; i < feed->intake->n_lanes; i++)
        n += leat_lane_n_read(&feed->intake->lanes[i]);
    feed->n_read = 0;
    return n;
}

void leat_row_feed_start_pass(struct leat_row_feed *feed, const struct leat_demand *demand,
                              uint64_t epoch, uint64_t pass, bool epoch_is_over) {
    struct leat_intake *intake = feed->intake;

    if (!leat_intake_is_mixed(intake)) {
        leat_intake_start_pass(intake, intake->lanes, demand, epoch, pass);
        return;
    }
    for (size_t i = 0; i < intake->n_lanes; i++) {
        struct leat_lane *lane = &intake->lanes[i];

        leat_intake_start_pass(intake, lane, demand, lane->epoch + epoch_is_over,
                               epoch_is_over ? 0 : lane->pass + 1);
    }
    start_mixer(feed, epoch, pass);
}

/* Rows can be taken at once if no bad record and no end of the range lies between them. */
static uint32_t n_rows_at_once(const struct leat_queue_entry *entry) {
    return entry->to_record == UINT32_MAX && !leat_queue_entry_has_bad(entry)
               ? entry->block->n_rows - entry->next_row
               : 1;
}

/* The next bad record, or the next rows of a block; NONE: the block is consumed. */
static enum leat_row_event next_of_block(struct leat_queue_entry *entry,
                                         struct leat_row_item *ret_item) {
    bool has_row;

    if (entry->from_record > 0)
        leat_queue_entry_skip_rows(entry);
    has_row = leat_queue_entry_has_row(entry);
    if (leat_queue_entry_has_bad(entry)) {
        ret_item->bad = leat_queue_entry_take_bad(entry, has_row ? entry->next_row : UINT32_MAX);
        ret_item->file = entry->block->file;
        if (ret_item->bad)
            return LEAT_ROW_BAD;
    }
    if (!has_row)
        return LEAT_ROW_NONE;
    ret_item->entry = entry;
    ret_item->n_rows = n_rows_at_once(entry);
    return LEAT_ROW_NEXT;
}

/* A run that only builds a cache counts bad records, too. */
static enum leat_row_event next_bad(struct leat_queue_entry *entry,
                                    struct leat_row_item *ret_item) {
    ret_item->bad = leat_queue_entry_take_bad(entry, UINT32_MAX);
    ret_item->file = entry->block->file;
    return ret_item->bad ? LEAT_ROW_BAD : LEAT_ROW_NONE;
}

static bool is_unmapped(const struct leat_queue_entry *entry) {
    return entry->state == LEAT_ENTRY_SCANNED || entry->state == LEAT_ENTRY_CACHED ||
           entry->state == LEAT_ENTRY_PARKED;
}

/* The next event of an entry that is MAPPED or PASS_END; NONE: the entry is consumed. */
static enum leat_row_event next_of_entry(struct leat_row_feed *feed, struct leat_queue_entry *entry,
                                         struct leat_row_item *ret_item) {
    enum leat_row_event event;

    if (entry->error.code) {
        ret_item->error = &entry->error;
        return LEAT_ROW_FAILED;
    }
    if (entry->is_for_cache) /* The block comes again, from the cache. */
        return LEAT_ROW_NONE;
    if (entry->state == LEAT_ENTRY_PASS_END)
        return LEAT_ROW_PASS_END;
    if (feed->intake->options->only_builds)
        return next_bad(entry, ret_item);
    event = next_of_block(entry, ret_item);
    if (event == LEAT_ROW_NONE)
        feed->n_read += leat_queue_entry_n_read(entry);
    return event;
}

static enum leat_row_event next_of_lane(struct leat_row_feed *feed, struct leat_lane *lane,
                                        bool is_over, struct leat_row_item *ret_item) {
    struct leat_queue_entry *entry;

    while ((entry = lane->queue.first)) {
        enum leat_row_event event = LEAT_ROW_NONE;

        if (entry->state == LEAT_ENTRY_MAPPING)
            return LEAT_ROW_NONE;
        if (!is_over && !leat_lane_is_stale(lane)) {
            if (is_unmapped(entry))
                return LEAT_ROW_NONE;
            event = next_of_entry(feed, entry, ret_item);
        }
        if (event != LEAT_ROW_NONE && event != LEAT_ROW_PASS_END)
            return event;
        pop(feed, lane);
        if (event == LEAT_ROW_PASS_END)
            return event;
    }
    return LEAT_ROW_NONE;
}

static enum leat_row_event next_of_mix(struct leat_row_feed *feed, const struct leat_demand *demand,
                                       struct leat_row_item *ret_item) {
    for (;;) {
        struct leat_lane *lane = &feed->intake->lanes[leat_mixer_next(&feed->mixer)];
        enum leat_row_event event = next_of_lane(feed, lane, false, ret_item);
        enum leat_mixer_verdict verdict;

        if (event == LEAT_ROW_NEXT) {
            leat_mixer_take(&feed->mixer);
            ret_item->n_rows = 1;
        }
        if (event != LEAT_ROW_PASS_END)
            return event;
        verdict = leat_mixer_end(&feed->mixer);
        if (verdict == LEAT_MIXER_PASS_ENDS)
            return LEAT_ROW_PASS_END;
        if (verdict == LEAT_MIXER_REPEATS)
            leat_intake_start_pass(feed->intake, lane, demand, lane->epoch, lane->pass + 1);
    }
}

enum leat_row_event leat_row_feed_next(struct leat_row_feed *feed, const struct leat_demand *demand,
                                       bool is_over, struct leat_row_item *ret_item) {
    if (!leat_intake_is_mixed(feed->intake))
        return next_of_lane(feed, feed->intake->lanes, is_over, ret_item);
    return is_over ? LEAT_ROW_NONE : next_of_mix(feed, demand, ret_item);
}
