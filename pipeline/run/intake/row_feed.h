/* row_feed.h: takes rows, bad records and ends of passes from the block queues, in the order of the
 * data.
 *
 * With mixed sources the mixer says which lane gives the next row, whatever lanes have rows
 * already; if that lane has none yet, the feed has none. A lane begins a pass of its own when the
 * mixer wants it again, and when a pass of the run ends. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/mixer.h"
#include "pipeline/run/intake/mapping.h"

struct leat_row_feed {
    struct leat_intake *intake;
    struct leat_run_mapping *mapping;
    struct leat_mixer mixer;
    uint64_t n_read; /* records that leat_row_feed_end_pass() has not returned yet */
};

enum leat_row_event {
    LEAT_ROW_NONE, /* for now */
    LEAT_ROW_NEXT, /* The caller takes rows, from next_row of the entry on. */
    LEAT_ROW_BAD,
    LEAT_ROW_PASS_END,
    LEAT_ROW_FAILED,
};

struct leat_row_item {
    struct leat_queue_entry *entry;    /* NEXT: has the rows */
    uint32_t n_rows;                   /* NEXT: may be taken, at least one */
    const struct leat_bad_record *bad; /* BAD: valid until the next event */
    uint32_t file;                     /* BAD: of the record */
    const struct leat_error *error;    /* FAILED: valid until the next event */
};

void leat_row_feed_init(struct leat_row_feed *feed, struct leat_intake *intake,
                        struct leat_run_mapping *mapping);
/* Drops the entries of all queues. */
void leat_row_feed_deinit(struct leat_row_feed *feed);

/* The next event. is_over: no more rows are wanted, and entries of the queues are dropped. */
enum leat_row_event leat_row_feed_next(struct leat_row_feed *feed, const struct leat_demand *demand,
                                       bool is_over, struct leat_row_item *ret_item);
/* The lane that gives the next row. */
size_t leat_row_feed_next_lane(struct leat_row_feed *feed);
/* Number of records that were read since the last call. */
uint64_t leat_row_feed_end_pass(struct leat_row_feed *feed);
/* Consumes that pass from now on. */
void leat_row_feed_start_pass(struct leat_row_feed *feed, const struct leat_demand *demand,
                              uint64_t epoch, uint64_t pass, bool epoch_is_over);
