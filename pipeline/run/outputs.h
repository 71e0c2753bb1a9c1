/* outputs.h: the slots that a run has got, and what goes out of it in order: batches and ends of
 * epochs.
 *
 * An output gets its place in the order before its batch is made, and goes out once it is made and
 * all before it have gone. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/output.h"

struct leat_output_entry {
    struct leat_output_entry *next;
    struct leat_output output;
    bool is_done;
    uint32_t thread;  /* which made the batch, */
    uint64_t made_ns; /* and when */
};

struct leat_outputs {
    struct leat_slot *slots; /* a ring */
    size_t first_slot, n_slots, slot_capacity;
    struct leat_output_entry *first, **last;
    size_t n_batches; /* among the outputs */
};

void leat_outputs_init(struct leat_outputs *outputs);
void leat_outputs_deinit(struct leat_outputs *outputs);

/* -ENOMEM: the slot is not taken. */
int leat_outputs_give_slot(struct leat_outputs *outputs, const struct leat_slot *slot);
/* Takes the first slot; false: there is none. */
bool leat_outputs_take_slot(struct leat_outputs *outputs, struct leat_slot *ret_slot);
/* Brings the first slot of at least so many bytes to the front, as slots of an older, smaller ring
 * may stand before it; false: there is none. */
bool leat_outputs_find_slot(struct leat_outputs *outputs, size_t n_bytes);

/* Adds an output behind all others; NULL: no memory. */
struct leat_output_entry *leat_outputs_add(struct leat_outputs *outputs,
                                           const struct leat_output *output, bool is_done);
/* The slot in which the batch of that output is made. */
void leat_output_entry_place(struct leat_output_entry *entry, const struct leat_slot *slot);
/* The batch is made: the output may go. */
void leat_output_entry_finish(struct leat_output_entry *entry, uint64_t used_bytes, uint32_t thread,
                              uint64_t made_ns);
/* Takes the first output; false: there is none, or it is not done. */
bool leat_outputs_take(struct leat_outputs *outputs, struct leat_output_entry *ret_entry);

/* For a run that is extended: the last output, which is an end of an epoch, becomes one among
 * others, or is dropped. There must be one. */
void leat_outputs_reopen_last(struct leat_outputs *outputs);
void leat_outputs_drop_last(struct leat_outputs *outputs);
