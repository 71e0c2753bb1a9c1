/* view.h: a batch's tensors, read from its slot.
 *
 * The header and the descriptors are copied out first and then checked, and only the copy is
 * believed. So nothing that changes in the slot later can lead a reader outside it. Owner: whoever
 * embeds it; memory is kept from batch to batch.
 */
#pragma once

#include "client/leat.h"
#include "proto/base/error.h"
#include "proto/slot.h"

struct leat_view {
    struct leat_slot_header header;
    struct leat_slot_tensor *descriptors; /* [n_tensors] */
    struct leat_tensor *tensors;          /* [n_tensors]; names lie in the descriptors */
    size_t capacity;                      /* of both */
};

/* Reads the batch in the size_bytes at `slot`; tensors point into it. 0, -EPROTO, -ENOMEM. */
int leat_view_read(struct leat_view *view, const void *slot, size_t size_bytes,
                   struct leat_error *err);
/* Tensors point into `to`, where the same bytes are as at the slot `from`. */
void leat_view_move(struct leat_view *view, const void *from, const void *to);
const struct leat_tensor *leat_view_find(const struct leat_view *view, const char *name);
void leat_view_deinit(struct leat_view *view);
