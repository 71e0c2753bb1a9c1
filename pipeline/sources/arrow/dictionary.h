/* dictionary.h: the dictionaries of a file: values that columns refer to by index
 * ("Dictionary-encoded Layout"; "Dictionary Messages").
 *
 * A dictionary is one batch of values, and those that deltas have put behind it. All of it is in
 * memory, once for all columns.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/array.h"

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
    uint64_t n_values;
    uint64_t n_bytes;
    /* which of the file's dictionary batches it is of: n_chunks from this one on, that are its own
     */
    uint32_t base, last;
};

struct leat_arrow_dictionaries {
    struct leat_arrow_dictionary **items;
    uint32_t n_items;
};

/* The dictionary of that field, added if no other field has the same. 0, -ENOMEM, or -EINVAL: one
 * has, with values of another type. */
int leat_arrow_dictionaries_add(struct leat_arrow_dictionaries *dictionaries,
                                const struct leat_arrow_field *field,
                                struct leat_arrow_dictionary **ret_dictionary);
/* NULL: no column that is wanted has it. */
struct leat_arrow_dictionary *
leat_arrow_dictionaries_find(const struct leat_arrow_dictionaries *dictionaries, int64_t id);
void leat_arrow_dictionaries_deinit(struct leat_arrow_dictionaries *dictionaries);

void leat_arrow_dictionary_clear(struct leat_arrow_dictionary *dictionary);
/* Puts the values of a batch behind those that it has. Takes the body, which is in memory, also
 * when it fails; then the dictionary is as it was. */
int leat_arrow_dictionary_put(struct leat_arrow_dictionary *dictionary,
                              const struct leat_arrow_batch *batch, uint8_t *take_body,
                              uint64_t n_bytes, uint64_t max_memory, struct leat_error *err);

/* Where the value of a row stands: in the array itself, or in its dictionary, whose indices load()
 * has checked. The row is not null. */
const struct leat_arrow_array *leat_arrow_look_up(const struct leat_arrow_dictionary *dictionary,
                                                  uint64_t index, uint64_t *ret_row);

static inline const struct leat_arrow_array *
leat_arrow_resolve(const struct leat_arrow_array *array, uint64_t *row) {
    return array->dictionary
               ? leat_arrow_look_up(array->dictionary, leat_arrow_index(array, *row), row)
               : array;
}
