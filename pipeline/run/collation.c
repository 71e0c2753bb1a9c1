/* collation.c: see collation.h. */
#include "pipeline/run/collation.h"

void leat_collation_add(struct leat_collation *collation, struct leat_collate_job *job,
                        struct leat_batch_refs *take_batch, const struct leat_slot *slot,
                        struct leat_output_entry *output) {
    leat_output_entry_place(output, slot);
    job->items[job->n_items++] =
        (struct leat_collate_item){.batch = take_batch, .slot = *slot, .output = output};
    collation->n_bytes += take_batch->n_bytes;
}

void leat_collation_start_job(struct leat_collation *collation) {
    collation->n_out++;
}

void leat_collation_end_job(struct leat_collation *collation, struct leat_job *job,
                            const struct leat_row_store *store) {
    collation->n_out--;
    for (size_t i = 0; i < job->collate.n_items; i++) {
        struct leat_collate_item *item = &job->collate.items[i];

        leat_output_entry_finish(item->output, item->used_bytes, job->thread,
                                 job->start_ns + job->busy_ns);
        collation->n_batches++;
        collation->n_rows += item->batch->n_refs;
        collation->n_batch_bytes += item->used_bytes;
        leat_spread_add(&collation->batch_bytes, &leat_spread_bytes, item->used_bytes);
        leat_spread_add(&collation->batch_rows, &leat_spread_rows, item->batch->n_refs);
        collation->n_elements += item->n_elements;
        collation->n_bytes -= item->batch->n_bytes;
        leat_row_store_release(store, item->batch);
        leat_batch_refs_free(item->batch);
    }
}
