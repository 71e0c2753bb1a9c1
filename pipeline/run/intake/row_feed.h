/* row_feed.h: rows, bad records and ends of passes, one after the other in the order of the data,
 * from the queues of blocks.
 *
 * Of several sources that are mixed the mixer says which gives the next row: that does not depend
 * on what is there already, so if its lane has none yet, there is none. A lane's passes are its
 * laps: it begins one when it is to be read again, and when a pass of the run ends. Owner: the
 * run's thread.
 */
#pragma once

#include "pipeline/order/mixer.h"
#include "pipeline/run/intake/mapping.h"

struct leat_row_feed {
    struct leat_intake *intake;
    struct leat_run_mapping *mapping;
    struct leat_mixer mixer;
    uint64_t n_read; /* records that were taken and not told yet */
};

enum leat_row_event {
    LEAT_ROW_NONE, /* for now */
    LEAT_ROW_NEXT, /* The caller takes rows by leat_queue_entry_take_row(). */
    LEAT_ROW_BAD,
    LEAT_ROW_PASS_END,
    LEAT_ROW_FAILED, /* by the error of the item */
};

struct leat_row_item {
    struct leat_queue_entry *entry;    /* NEXT: rows are to be taken of it, */
    uint32_t n_rows;                   /* at most so many, one at least */
    const struct leat_bad_record *bad; /* BAD: until the next event, */
    uint32_t file;                     /* of that file */
    const struct leat_error *error;    /* FAILED: until the next event */
};

void leat_row_feed_init(struct leat_row_feed *feed, struct leat_intake *intake,
                        struct leat_run_mapping *mapping);
/* Drops what is queued. */
void leat_row_feed_deinit(struct leat_row_feed *feed);

/* The next event; is_over: no rows are wanted any more, and what is queued is dropped. */
enum leat_row_event leat_row_feed_next(struct leat_row_feed *feed, const struct leat_demand *demand,
                                       bool is_over, struct leat_row_item *ret_item);
/* The lane that gives the next row. */
size_t leat_row_feed_next_lane(struct leat_row_feed *feed);
/* The pass ends: how many records of the epoch were read since this was last asked. */
uint64_t leat_row_feed_end_pass(struct leat_row_feed *feed);
/* That pass is consumed from now on. */
void leat_row_feed_start_pass(struct leat_row_feed *feed, const struct leat_demand *demand,
                              uint64_t epoch, uint64_t pass, bool epoch_is_over);
