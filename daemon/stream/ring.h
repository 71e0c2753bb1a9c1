/* ring.h: the slots of one run: a memfd of equal slots, sealed, that trainers map read-only.
 *
 * The memory is populated once, so that its pages are charged to the daemon and never missing
 * later. After the daemon has mapped it, it is sealed against shrinking, growing, further writable
 * maps and further seals: whoever has the descriptor, root included, can only read. Who holds what
 * is known in the daemon's own memory alone.
 *
 * FREE -> GIVEN (to the run) -> READY (a batch, not yet announced) -> HELD (by trainers, counted)
 *   ^                                                                   |          |
 *   +-------------------------------------------------------------------+   QUARANTINED (a holder
 *   +---------------------------------------------------------------------- lost its connection but
 *                                                                           may still read)
 *
 * leat_slot_ring_new and leat_slot_ring_free are for any thread (they take milliseconds: the pool);
 * all else: Owner: loop.
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
    LEAT_SLOT_QUARANTINED,
    LEAT_N_SLOT_STATES,
};

struct leat_slot_ring_item {
    uint8_t state; /* enum leat_slot_state */
    uint32_t n_holds;
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
    struct leat_slot_ring_item *slots;
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

/* The slot that is given next; there must be a free one. */
uint32_t leat_slot_ring_next_free(const struct leat_slot_ring *ring);
void leat_slot_ring_give(struct leat_slot_ring *ring, uint32_t slot); /* FREE -> GIVEN */
void leat_slot_ring_take_back(struct leat_slot_ring *ring,
                              uint32_t slot);                          /* GIVEN or READY -> FREE */
void leat_slot_ring_ready(struct leat_slot_ring *ring, uint32_t slot); /* GIVEN -> READY */
void leat_slot_ring_hold(struct leat_slot_ring *ring, uint32_t slot);  /* READY, HELD -> HELD */
void leat_slot_ring_quarantine(struct leat_slot_ring *ring,
                               uint32_t slot); /* HELD, QUARANTINED -> the same */
/* One holder less; with the last the slot is FREE: true. */
bool leat_slot_ring_release(struct leat_slot_ring *ring, uint32_t slot);
/* Whether no slot is in use by anybody. */
bool leat_slot_ring_is_idle(const struct leat_slot_ring *ring);
