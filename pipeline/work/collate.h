/* collate.h: the COLLATE job: puts batches into slots. Any thread. */
#pragma once

#include "pipeline/order/batch_refs.h"
#include "pipeline/order/output.h"
#include "pipeline/plan/plan.h"
#include "pipeline/work/knobs.h"

struct leat_collate_item {
    struct leat_batch_refs *batch;
    struct leat_slot slot;
    uint64_t used_bytes; /* out */
    uint64_t n_elements; /* out: of lists other than masks and annotations */
    struct leat_output_entry *output;
};

#define LEAT_READY_JOBS 2 /* Batches for so many jobs may wait for slots. */

struct leat_collate_job {
    const struct leat_plan *plan;
    size_t n_items;
    struct leat_collate_item items[LEAT_KNOB_COLLATED_MAX];
};

/* Most batches that one job makes. */
size_t leat_collate_max(const struct leat_plan *plan);
void leat_collate_execute(struct leat_collate_job *job);
/* Bytes of the batch in a slot. */
uint64_t leat_collate_need(const struct leat_plan *plan, const struct leat_batch_refs *batch);
