/* batch_refs.h: a batch before it is collated: references to its rows, in order. Owner: the run. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/order/output.h"
#include "pipeline/plan/skips.h"

struct leat_batch_refs {
    struct leat_batch_refs *next;
    enum leat_output_kind kind; /* EPOCH_END waits in the same queue */
    uint64_t epoch, step;
    bool is_last;
    bool is_wanted;  /* goes to the queue once its round is whole */
    bool is_planned; /* its blocks are in memory and pinned, except of: */
    uint32_t n_refs;
    uint32_t n_asked;  /* references in front, whose count-only blocks were asked for */
    uint64_t n_absent; /* rows that are being fetched */
    uint64_t n_bytes;  /* bytes of this struct, once it is closed */
    struct leat_ref refs[];
};

void leat_batch_refs_free(struct leat_batch_refs *batch);

/* Removes the rows of skipped records, and parts of packed rows, from a batch; it may have none
 * left. */
void leat_batch_refs_skip(const struct leat_skips *skips, const struct leat_plan *plan,
                          struct leat_batch_refs *batch);
