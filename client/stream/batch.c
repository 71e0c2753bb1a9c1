/* batch.c: see batch.h and leat.h. */
#include "client/stream/batch.h"

#include <errno.h>
#include <stdlib.h>

struct leat_batch *leat_batch_new(struct leat_stream *stream,
                                  const struct leat_connection *connection) {
    struct leat_batch *batch = calloc(1, sizeof(*batch));

    if (!batch)
        return NULL;
    batch->stream = stream;
    batch->connection = connection;
    return batch;
}

struct leat_batch *leat_batch_free(struct leat_batch *batch) {
    if (!batch)
        return NULL;
    leat_content_deinit(&batch->content);
    free(batch);
    return NULL;
}

void leat_batch_end(struct leat_batch *batch) {
    batch->is_held = false;
    if (batch->error.code)
        batch->error = LEAT_ERROR_INIT;
    leat_content_drop(&batch->content);
}

/* ---- leat.h ---- */

const struct leat_error *leat_batch_error(const struct leat_batch *batch) {
    return &batch->error;
}

const struct leat_ring *leat_batch_ring(const struct leat_batch *batch) {
    return batch->content.mapping ? &batch->content.mapping->ring : NULL;
}

int leat_batch_let_write(struct leat_batch *batch) {
    if (!leat_connection_is_own(batch->connection))
        return -EPERM;
    return leat_content_let_write(&batch->content);
}

uint64_t leat_batch_epoch(const struct leat_batch *batch) {
    return batch->content.view.header.epoch;
}

uint64_t leat_batch_step(const struct leat_batch *batch) {
    return batch->content.view.header.step;
}

uint32_t leat_batch_n_rows(const struct leat_batch *batch) {
    return batch->content.view.header.n_rows;
}

size_t leat_batch_n_tensors(const struct leat_batch *batch) {
    return batch->content.view.header.n_tensors;
}

const struct leat_tensor *leat_batch_tensor(const struct leat_batch *batch, size_t index) {
    const struct leat_view *view = &batch->content.view;

    return index < view->header.n_tensors ? &view->tensors[index] : NULL;
}

const struct leat_tensor *leat_batch_find(const struct leat_batch *batch, const char *name) {
    return leat_view_find(&batch->content.view, name);
}
