/* run/output.c: slots in, and batches and ends of epochs out, in order. */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/run_internal.h"

int leat_run_give_slot(struct leat_run *run, const struct leat_slot *slot) {
    struct leat_slot_queue *queue = &run->slots;
    size_t need = leat_run_slot_need(run);

    if (need > slot->size_bytes)
        return -EMSGSIZE;
    if (queue->n_slots == queue->capacity) {
        size_t capacity = queue->capacity ? queue->capacity * 2 : 64;
        struct leat_slot *slots = calloc(capacity, sizeof(*slots));

        if (!slots)
            return -ENOMEM;
        for (size_t i = 0; i < queue->n_slots; i++)
            slots[i] = queue->slots[(queue->first + i) % queue->capacity];
        free(queue->slots);
        *queue = (struct leat_slot_queue){
            .slots = slots, .n_slots = queue->n_slots, .capacity = capacity};
    }
    queue->slots[(queue->first + queue->n_slots++) % queue->capacity] = *slot;
    return 0;
}

bool leat_run_take_slot_back(struct leat_run *run, struct leat_slot *ret_slot) {
    struct leat_slot_queue *queue = &run->slots;

    if (queue->n_slots == 0)
        return false;
    *ret_slot = queue->slots[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->n_slots--;
    return true;
}

struct leat_output_entry *leat_run_add_output(struct leat_run *run,
                                              const struct leat_output *output, bool is_done) {
    struct leat_output_entry *entry = malloc(sizeof(*entry));

    if (!entry)
        return NULL;
    *entry = (struct leat_output_entry){.output = *output, .is_done = is_done};
    *run->last_output = entry;
    run->last_output = &entry->next;
    run->n_ahead += output->kind == LEAT_OUTPUT_BATCH;
    return entry;
}

/* Who is told of an epoch's end finds all of its bad records in their file, or is told why not: an
 * end waits for them, and if they cannot be written nothing comes behind them. */
static bool may_end(const struct leat_run *run) {
    return !run->quarantine_is_out && !run->quarantine_has_failed && !run->quarantine.failed &&
           run->quarantine.n_bytes == 0;
}

bool leat_run_has_line(const struct leat_run *run) {
    const struct leat_batch_refs *first = run->order.batcher.first;

    bool has_failed = run->quarantine_has_failed || run->quarantine.failed;

    return first && !(has_failed && first->kind == LEAT_OUTPUT_EPOCH_END);
}

/* Ends of epochs that are next in line go straight to the outputs. */
void leat_run_move_ends(struct leat_run *run) {
    struct leat_batcher *batcher = &run->order.batcher;

    while (may_end(run) && batcher->first && batcher->first->kind == LEAT_OUTPUT_EPOCH_END) {
        struct leat_batch_refs *end = leat_residents_pop(run);
        struct leat_output output = {.kind = LEAT_OUTPUT_EPOCH_END,
                                     .epoch = end->epoch,
                                     .step = end->step,
                                     .is_last = end->is_last};

        leat_batch_refs_free(end);
        if (!leat_run_add_output(run, &output, true)) {
            leat_run_out_of_memory(run);
            leat_residents_abandon(run, batcher->first);
        }
    }
}

size_t leat_run_slot_need(const struct leat_run *run) {
    const struct leat_batch_refs *batch = run->order.batcher.first;

    if (!batch || batch->kind != LEAT_OUTPUT_BATCH || !leat_bares_have_first(run))
        return 0;
    return (size_t)leat_collate_need(run->plan, batch);
}

bool leat_run_has_pending(const struct leat_run *run) {
    return leat_run_slot_need(run) > 0 && run->n_collate_out == 0 &&
           run->n_ahead < leat_run_max_ahead(run) && leat_residents_have_first(run) &&
           leat_run_may_make_first(run);
}

bool leat_run_lacks_slot(const struct leat_run *run) {
    return run->slots.n_slots == 0 && leat_run_has_pending(run);
}

size_t leat_run_n_waiting(const struct leat_run *run) {
    return run->order.batcher.n_ready;
}

bool leat_run_take_output(struct leat_run *run, struct leat_output *ret_output) {
    struct leat_output_entry *entry = run->first_output;

    if (!entry || !entry->is_done)
        return false;
    *ret_output = entry->output;
    if (run->tracing.trace && entry->output.kind == LEAT_OUTPUT_BATCH)
        leat_run_trace_output(run, entry);
    run->n_ahead -= entry->output.kind == LEAT_OUTPUT_BATCH;
    if (!run->options.is_told && entry->output.kind == LEAT_OUTPUT_BATCH)
        leat_run_reach(run, entry->output.epoch);
    run->has_ended |= entry->output.is_last;
    run->first_output = entry->next;
    if (!run->first_output)
        run->last_output = &run->first_output;
    free(entry);
    return true;
}
