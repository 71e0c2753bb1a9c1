#include "pipeline/run/outputs.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

void leat_outputs_init(struct leat_outputs *outputs) {
    *outputs = (struct leat_outputs){.last = &outputs->first};
}

void leat_outputs_deinit(struct leat_outputs *outputs) {
    while (outputs->first) {
        struct leat_output_entry *entry = outputs->first;

        outputs->first = entry->next;
        free(entry);
    }
    free(outputs->slots);
}

static int slots_grow(struct leat_outputs *outputs) {
    size_t capacity = outputs->slot_capacity ? outputs->slot_capacity * 2 : FIRST_CAPACITY;
    struct leat_slot *slots = calloc(capacity, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < outputs->n_slots; i++)
        slots[i] = outputs->slots[(outputs->first_slot + i) % outputs->slot_capacity];
    free(outputs->slots);
    outputs->slots = slots;
    outputs->first_slot = 0;
    outputs->slot_capacity = capacity;
    return 0;
}

int leat_outputs_give_slot(struct leat_outputs *outputs, const struct leat_slot *slot) {
    if (outputs->n_slots == outputs->slot_capacity && slots_grow(outputs) < 0)
        return -ENOMEM;
    outputs->slots[(outputs->first_slot + outputs->n_slots++) % outputs->slot_capacity] = *slot;
    return 0;
}

bool leat_outputs_take_slot(struct leat_outputs *outputs, struct leat_slot *ret_slot) {
    if (outputs->n_slots == 0)
        return false;
    *ret_slot = outputs->slots[outputs->first_slot];
    outputs->first_slot = (outputs->first_slot + 1) % outputs->slot_capacity;
    outputs->n_slots--;
    return true;
}

const struct leat_slot *leat_outputs_find_slot(struct leat_outputs *outputs, size_t n_bytes) {
    for (size_t i = 0; i < outputs->n_slots; i++) {
        struct leat_slot slot = outputs->slots[outputs->first_slot];

        if (slot.size_bytes >= n_bytes)
            return &outputs->slots[outputs->first_slot];
        outputs->first_slot = (outputs->first_slot + 1) % outputs->slot_capacity;
        outputs->slots[(outputs->first_slot + outputs->n_slots - 1) % outputs->slot_capacity] =
            slot;
    }
    return NULL;
}

struct leat_output_entry *leat_outputs_add(struct leat_outputs *outputs,
                                           const struct leat_output *output, bool is_done) {
    struct leat_output_entry *entry = malloc(sizeof(*entry));

    if (!entry)
        return NULL;
    *entry = (struct leat_output_entry){.output = *output, .is_done = is_done};
    *outputs->last = entry;
    outputs->last = &entry->next;
    outputs->n_batches += output->kind == LEAT_OUTPUT_BATCH;
    return entry;
}

void leat_output_entry_finish(struct leat_output_entry *entry, uint64_t used_bytes, uint32_t thread,
                              uint64_t made_ns) {
    entry->output.used_bytes = used_bytes;
    entry->thread = thread;
    entry->made_ns = made_ns;
    entry->is_done = true;
}

bool leat_outputs_take(struct leat_outputs *outputs, struct leat_output_entry *ret_entry) {
    struct leat_output_entry *entry = outputs->first;

    if (!entry || !entry->is_done)
        return false;
    *ret_entry = *entry;
    outputs->n_batches -= entry->output.kind == LEAT_OUTPUT_BATCH;
    outputs->first = entry->next;
    if (!outputs->first)
        outputs->last = &outputs->first;
    free(entry);
    return true;
}

static struct leat_output_entry **link_of_last(struct leat_outputs *outputs) {
    struct leat_output_entry **link = &outputs->first;

    while ((*link)->next)
        link = &(*link)->next;
    return link;
}

void leat_outputs_reopen_last(struct leat_outputs *outputs) {
    (*link_of_last(outputs))->output.is_last = false;
}

void leat_outputs_drop_last(struct leat_outputs *outputs) {
    struct leat_output_entry **link = link_of_last(outputs);

    outputs->n_batches -= (*link)->output.kind == LEAT_OUTPUT_BATCH;
    free(*link);
    *link = NULL;
    outputs->last = link;
}
