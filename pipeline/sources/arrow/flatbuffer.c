#include "pipeline/sources/arrow/flatbuffer.h"

#include <string.h>

#define VTABLE_HEAD 4 /* its size, and that of the table */

static bool fault(struct leat_flatbuffer *buffer) {
    buffer->is_bad = true;
    return false;
}

static bool is_inside(const struct leat_flatbuffer *buffer, uint64_t at, uint64_t n_bytes) {
    return at <= buffer->n_bytes && n_bytes <= buffer->n_bytes - at;
}

static uint16_t u16(const struct leat_flatbuffer *buffer, uint32_t at) {
    uint16_t value;

    memcpy(&value, buffer->data + at, sizeof(value));
    return value;
}

static uint32_t u32(const struct leat_flatbuffer *buffer, uint32_t at) {
    uint32_t value;

    memcpy(&value, buffer->data + at, sizeof(value));
    return value;
}

static bool open_table(struct leat_flatbuffer *buffer, uint64_t at,
                       struct leat_flat_table *ret_table) {
    int64_t vtable;
    uint32_t n_vtable, n_bytes;

    *ret_table = (struct leat_flat_table){.buffer = buffer};
    if (!is_inside(buffer, at, sizeof(int32_t)))
        return fault(buffer);
    vtable = (int64_t)at - (int32_t)u32(buffer, (uint32_t)at);
    if (vtable < 0 || !is_inside(buffer, (uint64_t)vtable, VTABLE_HEAD))
        return fault(buffer);
    n_vtable = u16(buffer, (uint32_t)vtable);
    n_bytes = u16(buffer, (uint32_t)vtable + 2);
    if (n_vtable < VTABLE_HEAD || n_bytes < sizeof(int32_t) ||
        !is_inside(buffer, (uint64_t)vtable, n_vtable) || !is_inside(buffer, at, n_bytes))
        return fault(buffer);
    ret_table->at = (uint32_t)at;
    ret_table->n_bytes = n_bytes;
    ret_table->vtable = (uint32_t)vtable;
    ret_table->n_fields = (n_vtable - VTABLE_HEAD) / 2;
    return true;
}

bool leat_flat_root(struct leat_flatbuffer *buffer, const void *data, size_t n_bytes,
                    struct leat_flat_table *ret_table) {
    *buffer = (struct leat_flatbuffer){.data = data, .n_bytes = (uint32_t)n_bytes};
    if (n_bytes < sizeof(uint32_t) || n_bytes > LEAT_FLATBUFFER_MAX)
        return fault(buffer);
    return open_table(buffer, u32(buffer, 0), ret_table);
}

/* Returns the offset of the field; 0: there is none. */
static uint32_t find(const struct leat_flat_table *table, uint32_t field, uint32_t size) {
    uint32_t offset;

    if (table->n_bytes == 0 || field >= table->n_fields)
        return 0;
    offset = u16(table->buffer, table->vtable + VTABLE_HEAD + 2 * field);
    if (offset == 0)
        return 0;
    if (offset > table->n_bytes || size > table->n_bytes - offset) {
        (void)fault(table->buffer);
        return 0;
    }
    return table->at + offset;
}

uint64_t leat_flat_uint(const struct leat_flat_table *table, uint32_t field, uint32_t size,
                        uint64_t fallback) {
    uint32_t at = find(table, field, size);
    uint64_t value = 0;

    if (at == 0)
        return fallback;
    memcpy(&value, table->buffer->data + at, size); /* little-endian, as is this machine */
    return value;
}

int64_t leat_flat_int(const struct leat_flat_table *table, uint32_t field, uint32_t size,
                      int64_t fallback) {
    uint64_t value = leat_flat_uint(table, field, size, (uint64_t)fallback);
    unsigned unused = 64 - 8 * size;

    return (int64_t)(value << unused) >> unused;
}

/* Returns the offset that the field refers to; 0: there is none. */
static uint64_t follow(const struct leat_flat_table *table, uint32_t field) {
    uint32_t at = find(table, field, sizeof(uint32_t));

    return at == 0 ? 0 : (uint64_t)at + u32(table->buffer, at);
}

bool leat_flat_child(const struct leat_flat_table *table, uint32_t field,
                     struct leat_flat_table *ret_child) {
    uint64_t at = follow(table, field);

    *ret_child = (struct leat_flat_table){.buffer = table->buffer};
    return at != 0 && open_table(table->buffer, at, ret_child);
}

bool leat_flat_vector(const struct leat_flat_table *table, uint32_t field, uint32_t item_bytes,
                      struct leat_flat_vector *ret_vector) {
    struct leat_flatbuffer *buffer = table->buffer;
    uint64_t at = follow(table, field);
    uint32_t n_items;

    *ret_vector = (struct leat_flat_vector){.buffer = buffer};
    if (at == 0)
        return false;
    if (!is_inside(buffer, at, sizeof(uint32_t)))
        return fault(buffer);
    n_items = u32(buffer, (uint32_t)at);
    at += sizeof(uint32_t);
    if (!is_inside(buffer, at, (uint64_t)n_items * item_bytes))
        return fault(buffer);
    ret_vector->at = (uint32_t)at;
    ret_vector->n_items = n_items;
    return true;
}

bool leat_flat_text(const struct leat_flat_table *table, uint32_t field, const char **ret_text,
                    uint32_t *ret_n_bytes) {
    struct leat_flat_vector bytes;
    bool is_there = leat_flat_vector(table, field, 1, &bytes);

    *ret_text = is_there ? (const char *)table->buffer->data + bytes.at : "";
    *ret_n_bytes = bytes.n_items;
    return is_there;
}

bool leat_flat_item(const struct leat_flat_vector *vector, uint32_t index,
                    struct leat_flat_table *ret_table) {
    uint32_t at = vector->at + index * (uint32_t)sizeof(uint32_t);

    *ret_table = (struct leat_flat_table){.buffer = vector->buffer};
    if (index >= vector->n_items)
        return fault(vector->buffer);
    return open_table(vector->buffer, (uint64_t)at + u32(vector->buffer, at), ret_table);
}
