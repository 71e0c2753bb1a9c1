/* outputs.h: free slots of a run, and what it hands out in order: batches and ends of epochs.
 *
 * An output has its place in the order before its batch is made. It goes out when it is done and
 * all outputs before it are gone. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/output.h"

struct leat_output_entry {
    struct leat_output_entry *next;
    struct leat_output output;
    bool is_done;
    uint32_t thread; /* that made the batch */
    uint64_t made_ns;
};

struct leat_outputs {
    struct leat_slot *slots; /* a ring */
    size_t first_slot, n_slots, slot_capacity;
    struct leat_output_entry *first, **last;
    size_t n_batches; /* among the outputs */
};

void leat_outputs_init(struct leat_outputs *outputs);
void leat_outputs_deinit(struct leat_outputs *outputs);

/* Adds a free slot. 0; -ENOMEM: the slot stays the caller's. */
int leat_outputs_give_slot(struct leat_outputs *outputs, const struct leat_slot *slot);
/* Takes the first slot; false: there is none. */
bool leat_outputs_take_slot(struct leat_outputs *outputs, struct leat_slot *ret_slot);
/* Moves the first slot of at least n_bytes to the front, as slots of an older, smaller ring may
 * stand before it. Valid until the next slot is given or taken; NULL: there is none. */
const struct leat_slot *leat_outputs_find_slot(struct leat_outputs *outputs, size_t n_bytes);

/* Adds an output behind all others; NULL: no memory. */
struct leat_output_entry *leat_outputs_add(struct leat_outputs *outputs,
                                           const struct leat_output *output, bool is_done);
/* Marks an output as done: its batch is made. */
void leat_output_entry_finish(struct leat_output_entry *entry, uint64_t used_bytes, uint32_t thread,
                              uint64_t made_ns);
/* Takes the first output; false: there is none, or it is not done. */
bool leat_outputs_take(struct leat_outputs *outputs, struct leat_output_entry *ret_entry);

/* The last output is the end of the run. When the run is extended it becomes the end of an epoch
 * (reopen), or goes (drop). */
void leat_outputs_reopen_last(struct leat_outputs *outputs);
void leat_outputs_drop_last(struct leat_outputs *outputs);
