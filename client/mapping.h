/* mapping.h: a ring of the daemon as this process sees it: mapped read-only, counted by use.
 *
 * Owner: the stream that received it, while it is listed there; besides, every batch whose slot
 * lies in it holds a reference, so that the memory stays until the last batch is released.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/error.h"

#define LEAT_MAPPING_MAX_SLOTS 65536

struct leat_mapping {
    uint32_t n_refs;
    uint64_t generation;
    uint64_t slot_bytes;
    uint32_t n_slots;
    pid_t pid; /* of the process that mapped it: a forked child has no such memory */
    uint8_t *memory;
    size_t size_bytes;
    struct leat_mapping *older; /* in the stream's list */
    bool is_held[];             /* [n_slots]: announced and not yet released */
};

/* Maps the memfd, after making sure that nobody can resize it under the reader. The descriptor
 * stays the caller's. 0, -EPROTO, -ENOMEM or mmap's error. */
int leat_mapping_new(int fd, uint64_t generation, uint64_t slot_bytes, uint32_t n_slots,
                     struct leat_mapping **ret_mapping, struct leat_error *err);
struct leat_mapping *leat_mapping_unref(struct leat_mapping *mapping);

static inline const void *leat_mapping_slot(const struct leat_mapping *mapping, uint32_t slot) {
    return mapping->memory + (size_t)slot * mapping->slot_bytes;
}
