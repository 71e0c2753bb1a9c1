/* slot.h: how a batch lies in its slot of the ring.
 *
 * A slot is self-describing: a header, one descriptor a tensor, then the tensors' bytes, row-major,
 * each at a multiple of 64 bytes from the start of the slot. Only the daemon can write it; a client
 * maps it read-only. Copy delivery sends the first `used_bytes` of the very same bytes. All numbers
 * are little endian.
 *
 *     +-------------------------+----------------------------+-----+----------+-----+----------+--
 *     | leat_slot_header (64 B) | n x leat_slot_tensor       | pad | tensor 0 | pad | tensor 1 | ..
 *     |                         | (128 B each)               |     |          |     |          |
 *     +-------------------------+----------------------------+-----+----------+-----+----------+--
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_SLOT_MAGIC       UINT32_C(0x3154414c) /* "LAT1" */
#define LEAT_SLOT_VERSION     1
#define LEAT_SLOT_ALIGN       64
#define LEAT_NAME_MAX         63 /* bytes of a field's, tensor's or stream's name */
#define LEAT_TENSOR_MAX_NDIM  4
#define LEAT_SLOT_MAX_TENSORS 256

struct leat_slot_header {
    uint32_t magic;
    uint16_t version;
    uint16_t n_tensors;
    uint64_t used_bytes; /* header, descriptors and tensors */
    uint64_t epoch;
    uint64_t step;
    uint32_t n_rows;
    uint32_t reserved[7];
};

struct leat_slot_tensor {
    char name[LEAT_NAME_MAX + 1]; /* terminated */
    uint32_t dtype;               /* enum leat_dtype */
    uint32_t ndim;
    uint64_t shape[LEAT_TENSOR_MAX_NDIM];
    uint64_t offset; /* from the start of the slot */
    uint64_t size_bytes;
    uint64_t reserved;
};

_Static_assert(sizeof(struct leat_slot_header) == 64, "slot header");
_Static_assert(offsetof(struct leat_slot_header, used_bytes) == 8, "slot header");
_Static_assert(offsetof(struct leat_slot_header, step) == 24, "slot header");
_Static_assert(offsetof(struct leat_slot_header, n_rows) == 32, "slot header");
_Static_assert(sizeof(struct leat_slot_tensor) == 128, "slot tensor");
_Static_assert(offsetof(struct leat_slot_tensor, shape) == 72, "slot tensor");
_Static_assert(offsetof(struct leat_slot_tensor, offset) == 104, "slot tensor");

/* Bytes before the first tensor, a multiple of LEAT_SLOT_ALIGN. */
static inline size_t leat_slot_head_bytes(size_t n_tensors) {
    return sizeof(struct leat_slot_header) + n_tensors * sizeof(struct leat_slot_tensor);
}

static inline size_t leat_slot_align(size_t bytes) {
    return (bytes + LEAT_SLOT_ALIGN - 1) & ~(size_t)(LEAT_SLOT_ALIGN - 1);
}

/* Checks that the first size_bytes at `slot` are a well-formed batch: magic, version, every
 * descriptor's name, dtype, shape and extent. For readers of foreign bytes (client, copy delivery).
 * 0 or -EPROTO. */
int leat_slot_check(const void *slot, size_t size_bytes, struct leat_error *err);
