/* collation.h: batches that COLLATE jobs put into slots: those that are out, and what came of them.
 * Owner: the run's thread. */
#pragma once

#include "pipeline/memory/spread.h"
#include "pipeline/run/outputs.h"
#include "pipeline/run/row_store.h"
#include "pipeline/work/job.h"

struct leat_collation {
    uint32_t n_out;                                        /* jobs */
    uint64_t n_bytes;                                      /* of references of batches in those */
    uint64_t n_batches, n_rows, n_elements, n_batch_bytes; /* that were made */
    struct leat_spread batch_bytes, batch_rows;
};

/* Adds a batch to the job, which is made in the slot and goes out as the output. */
void leat_collation_add(struct leat_collation *collation, struct leat_collate_job *job,
                        struct leat_batch_refs *take_batch, const struct leat_slot *slot,
                        struct leat_output_entry *output);
/* The job is handed out. */
void leat_collation_start_job(struct leat_collation *collation);
/* Takes a job back: its batches may go out, and their blocks may go. */
void leat_collation_end_job(struct leat_collation *collation, struct leat_job *job,
                            const struct leat_row_store *store);
