/* mapping.h: a ring of the daemon as this process sees it: mapped read-only, counted by use.
 *
 * With private_writes the same memory is mapped a second time, privately and writable, and tensors
 * lie there: a page that is written becomes this process's own. As long as it is, it does not show
 * what the daemon writes, so each slot is restored before its release is told.
 *
 * Owner: the stream that received it, while it is listed there; besides, every batch whose slot
 * lies in it holds a reference, so that the memory stays until the last batch is released.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/leat.h"
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
    pid_t pid; /* of the process that mapped it: a forked child has no such memory */
    struct leat_ring ring;
    struct leat_mapping_options options;
    int pagemap_fd;             /* which pages were written stands there; -1: not opened */
    bool is_stained;            /* what was written cannot be dropped: nothing more is written */
    struct leat_mapping *older; /* in the stream's list */
    bool is_held[];             /* [n_slots]: announced and not yet released */
};

/* Maps the memfd, after making sure that nobody can resize it under the reader. The descriptor
 * stays the caller's. 0, -EPROTO, -ENOMEM or mmap's error. */
int leat_mapping_new(int fd, uint64_t generation, uint64_t slot_bytes, uint32_t n_slots,
                     const struct leat_mapping_options *options, struct leat_mapping **ret_mapping,
                     struct leat_error *err);
struct leat_mapping *leat_mapping_unref(struct leat_mapping *mapping);

/* Drops what was written into the first n_bytes of the slot. Does nothing in a forked child. */
void leat_mapping_restore(struct leat_mapping *mapping, uint32_t slot, size_t n_bytes);

static inline bool leat_mapping_is_writable(const struct leat_mapping *mapping) {
    return mapping->ring.memory != mapping->ring.shared && !mapping->is_stained;
}

/* The slot as the daemon has it, and where its tensors are handed out. */
static inline const void *leat_mapping_slot(const struct leat_mapping *mapping, uint32_t slot) {
    return (const uint8_t *)mapping->ring.shared + (size_t)slot * mapping->slot_bytes;
}
static inline const void *leat_mapping_memory(const struct leat_mapping *mapping, uint32_t slot) {
    const void *memory = mapping->is_stained ? mapping->ring.shared : mapping->ring.memory;

    return (const uint8_t *)memory + (size_t)slot * mapping->slot_bytes;
}
