/* ring.h: the slots of one run: a sealed memfd of equal slots, which trainers map read-only.
 *
 * The memory is populated once, so that its pages are charged to the daemon and are never missing
 * later. Once the daemon has mapped it, it is sealed against shrinking, growing, further writable
 * maps and further seals: no other process can do more than read, root's included. Only the
 * daemon's own memory says which slot is held.
 *
 * FREE -> GIVEN (to the run) -> READY (a batch, not yet announced) -> HELD (by trainers)
 *   ^           |                          |                             |
 *   +-----------+--------------------------+-----------------------------+
 *
 * The broadcast counts who holds a slot. A holder that lost its connection, but may still read,
 * counts as one.
 *
 * Owner: loop; but leat_slot_ring_new() and leat_slot_ring_free() take milliseconds and are for any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_RING_MAX_SLOTS 4096

enum leat_slot_state {
    LEAT_SLOT_FREE,
    LEAT_SLOT_GIVEN,
    LEAT_SLOT_READY,
    LEAT_SLOT_HELD,
    LEAT_N_SLOT_STATES,
};

struct leat_slot_ring {
    struct leat_slot_ring *next; /* of its feed's */
    uint64_t generation;         /* never the same twice in a process */
    int fd;
    uint8_t *memory;
    size_t slot_bytes; /* a multiple of the page size */
    size_t size_bytes;
    uint32_t n_slots;
    uint32_t n_in_state[LEAT_N_SLOT_STATES];
    uint32_t *free_slots; /* [n_in_state[FREE]], last in first out: the warmest slot first */
    uint8_t *states;      /* [n_slots], enum leat_slot_state */
};

/* The size of a ring with slots of at least min_slot_bytes: 0, or -EOVERFLOW. */
int leat_slot_ring_size(size_t min_slot_bytes, uint32_t n_slots, size_t *ret_slot_bytes,
                        size_t *ret_size_bytes);

int leat_slot_ring_new(uint64_t generation, size_t min_slot_bytes, uint32_t n_slots,
                       struct leat_slot_ring **ret_ring, struct leat_error *err);
struct leat_slot_ring *leat_slot_ring_free(struct leat_slot_ring *ring);

static inline void *leat_slot_ring_memory(const struct leat_slot_ring *ring, uint32_t slot) {
    return ring->memory + (size_t)slot * ring->slot_bytes;
}

/* The free slot that is to be given next; there must be one. */
uint32_t leat_slot_ring_next_free(const struct leat_slot_ring *ring);
/* FREE -> GIVEN; GIVEN -> READY; READY or HELD -> HELD; GIVEN, READY or HELD -> FREE. */
void leat_slot_ring_give(struct leat_slot_ring *ring, uint32_t slot);
void leat_slot_ring_ready(struct leat_slot_ring *ring, uint32_t slot);
void leat_slot_ring_hold(struct leat_slot_ring *ring, uint32_t slot);
void leat_slot_ring_take_back(struct leat_slot_ring *ring, uint32_t slot);
/* True if all slots are free. */
bool leat_slot_ring_is_idle(const struct leat_slot_ring *ring);
