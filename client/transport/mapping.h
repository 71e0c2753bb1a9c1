/* mapping.h: a ring of the daemon as this process has mapped it: read-only, and counted by use.
 *
 * With private_writes the same memory is mapped a second time, privately and writable, and tensors
 * lie there (private_pages.h).
 *
 * Owner: the transport that received it, while it lists the ring. Besides, each batch whose slot
 * lies in the ring holds a reference, so that the memory stays until the last batch is released.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/leat.h"
#include "client/transport/private_pages.h"
#include "proto/base/error.h"

#define LEAT_MAPPING_MAX_SLOTS 65536

struct leat_mapping_options {
    bool private_writes;
    void (*on_unmap)(void *user, const struct leat_ring *ring);
    void *on_unmap_user;
};

struct leat_mapping {
    uint32_t n_refs;
    uint64_t generation;
    uint64_t slot_bytes;
    uint32_t n_slots;
    pid_t pid; /* of the process that mapped it: a forked child does not inherit the memory */
    struct leat_ring ring;
    struct leat_mapping_options options;
    struct leat_private_pages pages;
    struct leat_mapping *older; /* in a list of rings, newest first */
    bool is_held[];             /* [n_slots]: announced and not yet released */
};

/* Maps the memfd, after making sure that nobody can resize it under the reader. The descriptor
 * stays the caller's. 0, -EPROTO, -ENOMEM or mmap's error. */
int leat_mapping_new(int fd, uint64_t generation, uint64_t slot_bytes, uint32_t n_slots,
                     const struct leat_mapping_options *options, struct leat_mapping **ret_mapping,
                     struct leat_error *err);
struct leat_mapping *leat_mapping_unref(struct leat_mapping *mapping);

/* A list of rings, which holds a reference to each. */
void leat_mapping_prepend(struct leat_mapping *take_mapping, struct leat_mapping **list);
void leat_mapping_drop_list(struct leat_mapping **list);
static inline void leat_mapping_drop_older(struct leat_mapping *mapping) {
    if (mapping->older)
        leat_mapping_drop_list(&mapping->older);
}

/* Holds a slot, and the mapping with it; and the opposite. */
static inline void leat_mapping_hold(struct leat_mapping *mapping, uint32_t slot) {
    mapping->n_refs++;
    mapping->is_held[slot] = true;
}
void leat_mapping_unhold(struct leat_mapping *mapping, uint32_t slot);

/* Drops what was written to the first n_bytes of the slot. Does nothing in a forked child. */
void leat_mapping_restore(struct leat_mapping *mapping, uint32_t slot, size_t n_bytes);

static inline bool leat_mapping_is_writable(const struct leat_mapping *mapping) {
    return mapping->ring.memory != mapping->ring.shared && !mapping->pages.has_failed;
}

/* The slot as the daemon shares it. */
static inline const void *leat_mapping_slot(const struct leat_mapping *mapping, uint32_t slot) {
    return (const uint8_t *)mapping->ring.shared + (size_t)slot * mapping->slot_bytes;
}

/* The slot where its tensors are handed out. After copies could not be dropped that is the
 * read-only mapping, since the other one would show old writes. */
static inline const void *leat_mapping_memory(const struct leat_mapping *mapping, uint32_t slot) {
    const void *memory = mapping->pages.has_failed ? mapping->ring.shared : mapping->ring.memory;

    return (const uint8_t *)memory + (size_t)slot * mapping->slot_bytes;
}
