/* batcher_internal.h: what the files of the batcher share. */
#pragma once

#include "pipeline/order/batcher.h"

/* Takes a closed batch. 0 or -errno. */
typedef int (*leat_batch_closer)(struct leat_batch_refs *take_batch, void *user,
                                 struct leat_error *err);

/* Adds a row, which is taken. Closes the open batch before if the row does not fit, and after if no
 * other would. 0 or -errno. */
int leat_open_batch_add(const struct leat_plan *plan, struct leat_open_batch *open,
                        struct leat_ref ref, leat_batch_closer on_close, void *user,
                        struct leat_error *err);
/* Takes a closed batch of the lane. When it is its turn, it gets its number, and is kept if it is
 * of the run's ranks. 0 or -errno. */
int leat_batch_lane_close(struct leat_batch_lane *lane, struct leat_batch_refs *take_batch,
                          struct leat_error *err);
/* Numbers all batches that wait for their turn, as the epoch ends. 0 or -errno. */
int leat_batcher_end_turns(struct leat_batcher *batcher, struct leat_error *err);
void leat_batcher_start_rounds(struct leat_batcher *batcher);
void leat_batcher_init_lists(struct leat_batcher *batcher);
void leat_batcher_deinit_lists(struct leat_batcher *batcher);

int leat_batch_lane_gather(struct leat_batch_lane *lane, struct leat_ref ref,
                           struct leat_error *err);
/* Makes batches of all rows that are still gathered at the end. */
int leat_batch_lane_flush_window(struct leat_batch_lane *lane, struct leat_error *err);
