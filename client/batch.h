/* batch.h: a batch in the trainer's hands.
 *
 * Batches are recycled by their stream, so that nothing is allocated per batch. Its bytes lie
 * either in a slot of a mapping (which it keeps alive) or in memory of its own (delivery: copy).
 * Owner: the stream, and once that is closed the caller, until it is released.
 */
#pragma once

#include "client/mapping.h"
#include "client/view.h"
#include "proto/packet.h"

struct leat_batch {
    struct leat_stream *stream;
    struct leat_batch *next;      /* among the stream's spare ones */
    uint64_t session;             /* the stream's, in which it came */
    bool is_held;                 /* by the caller */
    bool may_be_written;          /* by the caller: in the mapping of his own */
    struct leat_packet packet;    /* as announced: what a release repeats */
    struct leat_mapping *mapping; /* NULL: the bytes lie in `memory` */
    void *memory;
    size_t memory_bytes;
    struct leat_view view;
    struct leat_error error; /* of leat_batch_save() */
};

struct leat_batch *leat_batch_free(struct leat_batch *batch);

/* The batch of that announcement, in a slot of the mapping / decompressed from n_bytes of LZ4.
 * 0, -EPROTO, -ENOMEM. */
int leat_batch_take_slot(struct leat_batch *batch, const struct leat_packet *packet,
                         struct leat_mapping *mapping, struct leat_error *err);
int leat_batch_take_copy(struct leat_batch *batch, const struct leat_packet *packet,
                         const void *compressed, struct leat_error *err);
/* Lets go of the slot. */
void leat_batch_drop(struct leat_batch *batch);
