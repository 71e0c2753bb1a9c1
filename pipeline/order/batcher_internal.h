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
/* Numbers a closed batch and keeps it if it is of the run's ranks. 0 or -errno. */
int leat_batcher_close(struct leat_batcher *batcher, struct leat_batch_refs *take_batch,
                       struct leat_error *err);
void leat_batcher_start_rounds(struct leat_batcher *batcher);
void leat_batcher_init_lists(struct leat_batcher *batcher);
void leat_batcher_deinit_lists(struct leat_batcher *batcher);

int leat_batcher_gather(struct leat_batcher *batcher, struct leat_ref ref, struct leat_error *err);
/* Makes batches of all rows that are still gathered at the end. */
int leat_batcher_flush_window(struct leat_batcher *batcher, struct leat_error *err);
