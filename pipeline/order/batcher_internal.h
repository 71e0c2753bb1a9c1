/* batcher_internal.h: what batcher.c and batcher_window.c share. */
#pragma once

#include "pipeline/order/batcher.h"

/* Takes a batch that is closed. 0 or -errno. */
typedef int (*leat_batch_closer)(struct leat_batch_refs *take_batch, void *user,
                                 struct leat_error *err);

/* Adds a row, which is taken; closes the batch before, if the row does not fit, and behind, if no
 * other would. 0 or -errno. */
int leat_open_batch_add(const struct leat_plan *plan, struct leat_open_batch *open,
                        struct leat_ref ref, leat_batch_closer on_close, void *user,
                        struct leat_error *err);
/* Numbers a batch that is whole: it is one of the run's ranks', or it is let go. 0 or -errno. */
int leat_batcher_close(struct leat_batcher *batcher, struct leat_batch_refs *take_batch,
                       struct leat_error *err);
void leat_batcher_start_rounds(struct leat_batcher *batcher);
void leat_batcher_init_line(struct leat_batcher *batcher);
void leat_batcher_deinit_line(struct leat_batcher *batcher);

int leat_batcher_gather(struct leat_batcher *batcher, struct leat_ref ref, struct leat_error *err);
/* The rows that are still gathered, at the end: batches of all of them. */
int leat_batcher_flush_window(struct leat_batcher *batcher, struct leat_error *err);
