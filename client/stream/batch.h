/* batch.h: a batch in the trainer's hands.
 *
 * Batches are recycled by their stream, so that nothing is allocated per batch. Owner: the stream,
 * and once that is closed the caller, until the batch is released.
 */
#pragma once

#include "client/connection/connection.h"
#include "client/transport/transport.h"

struct leat_batch {
    struct leat_stream *stream;
    const struct leat_connection *connection; /* the stream's */
    struct leat_batch *next;                  /* among the stream's spare ones */
    uint64_t session;                         /* in which it came */
    bool is_held;                             /* by the caller */
    struct leat_content content;
    struct leat_error error; /* of leat_batch_save() */
};

/* NULL: no memory. */
struct leat_batch *leat_batch_new(struct leat_stream *stream,
                                  const struct leat_connection *connection);
struct leat_batch *leat_batch_free(struct leat_batch *batch);

/* The caller holds the batch from now on; and the opposite, which drops its tensors. */
static inline void leat_batch_begin(struct leat_batch *batch) {
    batch->is_held = true;
    batch->session = batch->connection->session;
}
void leat_batch_end(struct leat_batch *batch);

/* The spare batches of a stream. */
static inline void leat_batch_push(struct leat_batch *batch, struct leat_batch **list) {
    batch->next = *list;
    *list = batch;
}
static inline struct leat_batch *leat_batch_pop(struct leat_batch **list) {
    struct leat_batch *batch = *list;

    if (batch)
        *list = batch->next;
    return batch;
}

static inline const struct leat_view *leat_batch_view(const struct leat_batch *batch) {
    return &batch->content.view;
}
