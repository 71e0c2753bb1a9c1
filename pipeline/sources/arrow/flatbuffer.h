/* flatbuffer.h: tables of foreign flatbuffers, with every offset checked.
 *
 * A buffer begins with the offset of its root table. A table begins with the distance back to its
 * vtable, which has the sizes of both and the offset of each field, 0 for one that is missing.
 * Vectors, strings and tables are referred to by distances forward (FlatBuffers, "Binary format").
 * A value outside of the buffer or its table reads as missing and marks the buffer as bad, so a
 * reader checks once, at the end. Tables may share what they refer to, so a reader must bound depth
 * and number.
 *
 * Pure; any thread. The bytes belong to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_flatbuffer {
    const uint8_t *data;
    uint32_t n_bytes;
    bool is_bad;
};

struct leat_flat_table {
    struct leat_flatbuffer *buffer;
    uint32_t at, n_bytes; /* n_bytes 0: there is no such table */
    uint32_t vtable, n_fields;
};

struct leat_flat_vector {
    struct leat_flatbuffer *buffer;
    uint32_t at, n_items; /* of the first item */
};

#define LEAT_FLATBUFFER_MAX (UINT32_C(1) << 30)

/* False: the buffer is too short or too long. */
bool leat_flat_root(struct leat_flatbuffer *buffer, const void *data, size_t n_bytes,
                    struct leat_flat_table *ret_table);

/* Reads an integer field of 1, 2, 4 or 8 bytes. The unsigned form does not extend the sign. */
uint64_t leat_flat_uint(const struct leat_flat_table *table, uint32_t field, uint32_t size,
                        uint64_t fallback);
int64_t leat_flat_int(const struct leat_flat_table *table, uint32_t field, uint32_t size,
                      int64_t fallback);
/* These return false if there is no such field. */
bool leat_flat_child(const struct leat_flat_table *table, uint32_t field,
                     struct leat_flat_table *ret_child);
bool leat_flat_vector(const struct leat_flat_table *table, uint32_t field, uint32_t item_bytes,
                      struct leat_flat_vector *ret_vector);
bool leat_flat_text(const struct leat_flat_table *table, uint32_t field, const char **ret_text,
                    uint32_t *ret_n_bytes);
/* Gets a table of a vector whose items have 4 bytes. */
bool leat_flat_item(const struct leat_flat_vector *vector, uint32_t index,
                    struct leat_flat_table *ret_table);
/* Bytes of a vector of structs; index < n_items. */
static inline const uint8_t *leat_flat_struct(const struct leat_flat_vector *vector, uint32_t index,
                                              uint32_t item_bytes) {
    return vector->buffer->data + vector->at + (size_t)index * item_bytes;
}
