/* view.h: the tensors of a batch, read from its slot.
 *
 * Header and descriptors are copied first and checked then, and only the copy is used. So a slot
 * that changes later cannot lead a reader outside it. Owner: the struct that has the view; its
 * memory is kept from batch to batch.
 */
#pragma once

#include "client/leat.h"
#include "proto/base/error.h"
#include "proto/slot.h"

struct leat_view {
    struct leat_slot_header header;
    struct leat_slot_tensor *descriptors; /* [n_tensors] */
    struct leat_tensor *tensors;          /* [n_tensors]; their names lie in the descriptors */
    size_t capacity;                      /* of both arrays */
};

/* Reads the batch in the size_bytes at `slot`; its tensors point there. 0, -EPROTO, -ENOMEM. */
int leat_view_read(struct leat_view *view, const void *slot, size_t size_bytes,
                   struct leat_error *err);
/* Makes the tensors point to `to`, a copy of the slot at `from`. */
void leat_view_move(struct leat_view *view, const void *from, const void *to);
/* NULL if no tensor has that name. */
const struct leat_tensor *leat_view_find(const struct leat_view *view, const char *name);
void leat_view_deinit(struct leat_view *view);
