/* array.h: a column of a record batch or a part of one (children), a range of rows at a time
 * ("Physical Memory Layout"), and the dictionaries whose values columns refer to by index
 * ("Dictionary-encoded Layout").
 *
 * bind() finds its buffers in a batch and checks their lengths; load() makes a range of rows
 * readable and checks the offsets in it. So whatever is read of loaded rows lies within the
 * buffers. Values of rows that are null may be anything. A dictionary is one batch of values and
 * those that deltas append; all of it is in memory, once for all columns.
 *
 * Owner: the reader.
 */
#pragma once

#include <assert.h>
#include <string.h>

#include "pipeline/sources/arrow/body.h"
#include "pipeline/sources/arrow/schema.h"

struct leat_arrow_dictionary;

/* A text that stands elsewhere. */
struct leat_arrow_view {
    const uint8_t *bytes;
    uint64_t n_bytes;
};

enum leat_arrow_part {
    LEAT_ARROW_WHOLE,
    LEAT_ARROW_VALIDITY, /* of a struct, without its children */
    LEAT_ARROW_VALUES,   /* of the field's dictionary */
};

struct leat_arrow_array {
    const struct leat_arrow_field *field;
    struct leat_arrow_dictionary *dictionary; /* not NULL: its rows are indices of it */
    enum leat_arrow_part part;
    struct leat_arrow_array *children;
    uint32_t n_children;

    /* of the batch */
    uint64_t n_rows;
    bool has_nulls;
    struct leat_arrow_bytes validity, offsets, values;

    /* of the range: pointers to what belongs to the row `from`, and below */
    uint64_t from, n_loaded;
    const uint8_t *bits; /* bit from % 8 of the first byte is of `from`; NULL: no nulls */
    const uint8_t *ends; /* offsets: n_loaded + 1 of them */
    const uint8_t *data; /* values, text, or the bits of booleans as above */
    uint64_t data_from;  /* of text: which of its bytes data[0] is */
    const struct leat_arrow_view *views; /* not NULL: the texts, in place of ends and data */
};

#define LEAT_ARROW_CHUNKS_MAX 65536 /* batches of one dictionary */

struct leat_arrow_chunk {
    uint64_t first; /* index of its first value */
    struct leat_arrow_array values;
    uint8_t *body;
};

struct leat_arrow_dictionary {
    const struct leat_arrow_field *field;
    struct leat_arrow_chunk *chunks;
    uint32_t n_chunks;
    size_t capacity;
    uint64_t n_values, n_bytes;
    uint32_t base, last; /* of the index: the dictionary batches [base, last) make it up */
};

struct leat_arrow_dictionaries {
    struct leat_arrow_dictionary **items;
    uint32_t n_items;
    size_t capacity;
};

/* For a field of the schema that can be read. Adds the dictionaries that it needs. 0, -ENOMEM, or
 * -EINVAL: two dictionaries have the same number and different types. */
int leat_arrow_array_init(struct leat_arrow_array *array, const struct leat_arrow_field *field,
                          enum leat_arrow_part part, struct leat_arrow_dictionaries *dictionaries);
void leat_arrow_array_deinit(struct leat_arrow_array *array);

/* Where the nodes and buffers of a field begin in a batch. */
struct leat_arrow_place {
    uint32_t node, buffer, view;
};
/* Moves the place behind n_fields fields. False: the batch has fewer. */
bool leat_arrow_place_pass(struct leat_arrow_place *place, const struct leat_arrow_batch *batch,
                           const struct leat_arrow_field *fields, uint32_t n_fields);

struct leat_arrow_binding {
    const struct leat_arrow_batch *batch;
    struct leat_arrow_body *body;
};
/* It fails if the array has fewer rows than n_rows. */
int leat_arrow_array_bind(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                          struct leat_arrow_place *place, uint64_t n_rows, struct leat_error *err);

/* Adds the bytes that load() would read of those rows. */
int leat_arrow_array_extent(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                            uint64_t from, uint64_t n, uint64_t *n_bytes, struct leat_error *err);
int leat_arrow_array_load(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                          uint64_t from, uint64_t n, struct leat_error *err);

/* Returns NULL if no selected column has that dictionary. */
struct leat_arrow_dictionary *
leat_arrow_dictionaries_find(const struct leat_arrow_dictionaries *dictionaries, int64_t id);
void leat_arrow_dictionaries_deinit(struct leat_arrow_dictionaries *dictionaries);
void leat_arrow_dictionary_clear(struct leat_arrow_dictionary *dictionary);
/* Appends the values of a batch. Takes the body, which is in memory, also when it fails; then the
 * dictionary is as it was. */
int leat_arrow_dictionary_put(struct leat_arrow_dictionary *dictionary,
                              const struct leat_arrow_batch *batch, uint8_t *take_body,
                              uint64_t n_bytes, uint64_t max_memory, struct leat_error *err);
/* The array with the value of that index, which load() has checked. */
const struct leat_arrow_array *leat_arrow_look_up(const struct leat_arrow_dictionary *dictionary,
                                                  uint64_t index, uint64_t *ret_row);

/* ---- of loaded rows; row: of the batch ---- */

/* load() has checked all that is read here; builds with sanitizers check that the row is loaded. */
#ifdef LEAT_SANITIZED
#define LEAT_ARROW_EXPECT(condition) assert(condition)
#else
#define LEAT_ARROW_EXPECT(condition) ((void)0)
#endif

static inline bool leat_arrow_bit(const uint8_t *bits, uint64_t from, uint64_t row) {
    uint64_t i = row - (from & ~UINT64_C(7));

    return bits[i / 8] >> (i % 8) & 1;
}

static inline bool leat_arrow_is_null(const struct leat_arrow_array *array, uint64_t row) {
    LEAT_ARROW_EXPECT(row >= array->from && row - array->from < array->n_loaded);
    return array->field->kind == LEAT_ARROW_NULL ||
           (array->bits && !leat_arrow_bit(array->bits, array->from, row));
}

/* Where the row begins in its text or child; row may be the one behind the last. */
static inline uint64_t leat_arrow_offset(const struct leat_arrow_array *array, uint64_t row) {
    uint64_t i = row - array->from, wide;
    uint32_t narrow;

    LEAT_ARROW_EXPECT(i <= array->n_loaded && array->n_loaded > 0);
    if (array->field->offset_bytes == sizeof(narrow)) {
        memcpy(&narrow, array->ends + i * sizeof(narrow), sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, array->ends + i * sizeof(wide), sizeof(wide));
    return wide;
}

/* Returns the number of items of a list or bytes of a text; they begin at *ret_first. */
static inline uint64_t leat_arrow_items(const struct leat_arrow_array *array, uint64_t row,
                                        uint64_t *ret_first) {
    if (array->field->kind == LEAT_ARROW_FIXED_LIST) {
        *ret_first = row * array->field->n_items;
        return array->field->n_items;
    }
    *ret_first = leat_arrow_offset(array, row);
    return leat_arrow_offset(array, row + 1) - *ret_first;
}

static inline const uint8_t *leat_arrow_text(const struct leat_arrow_array *array, uint64_t row,
                                             uint64_t *ret_n_bytes) {
    uint64_t first;

    if (array->views) {
        LEAT_ARROW_EXPECT(row >= array->from && row - array->from < array->n_loaded);
        *ret_n_bytes = array->views[row - array->from].n_bytes;
        return array->views[row - array->from].bytes;
    }
    *ret_n_bytes = leat_arrow_items(array, row, &first);
    return array->data + (first - array->data_from);
}

static inline uint64_t leat_arrow_index(const struct leat_arrow_array *array, uint64_t row) {
    size_t size = leat_arrow_number_size(array->field->index);
    uint64_t index = 0;

    LEAT_ARROW_EXPECT(row >= array->from && row - array->from < array->n_loaded);
    memcpy(&index, array->data + (row - array->from) * size, size);
    return index;
}

static inline const uint8_t *leat_arrow_number_at(const struct leat_arrow_array *array,
                                                  uint64_t row) {
    LEAT_ARROW_EXPECT(row >= array->from && row - array->from < array->n_loaded);
    return array->data + (row - array->from) * leat_arrow_number_size(array->field->number);
}

/* The array in which the value of a row that is not null stands, and *row there: the array itself,
 * or a part of its dictionary. */
static inline const struct leat_arrow_array *
leat_arrow_resolve(const struct leat_arrow_array *array, uint64_t *row) {
    return array->dictionary
               ? leat_arrow_look_up(array->dictionary, leat_arrow_index(array, *row), row)
               : array;
}
