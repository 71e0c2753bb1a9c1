/* encoding.h: the values of a page, some at a time (Encodings.md).
 *
 * Values of BYTES are views of the page, of the dictionary, or of blocks that the caller keeps.
 * Booleans are a byte each. All others have leaf->n_bytes each. Owner: the reader.
 */
#pragma once

#include "pipeline/sources/parquet/bits.h"
#include "pipeline/sources/parquet/memory.h"
#include "pipeline/sources/parquet/page.h"
#include "pipeline/sources/parquet/schema.h"

/* The values that indices stand for. */
struct leat_parquet_dictionary {
    struct leat_parquet_block *page;
    struct leat_parquet_block *views; /* of BYTES: struct leat_arrow_view */
    uint32_t n_values;
};

struct leat_parquet_values {
    const struct leat_parquet_leaf *leaf;
    const struct leat_parquet_dictionary *dictionary;
    int64_t encoding;
    const uint8_t *at, *end;
    uint64_t n_passed;               /* booleans, and values that are split */
    struct leat_parquet_runs runs;   /* indices, or booleans */
    struct leat_parquet_delta delta; /* numbers, or lengths of texts */
    struct leat_parquet_delta prefixes;
    struct leat_parquet_block *last; /* of DELTA_BYTE_ARRAY: the value before */
    uint64_t n_last;
    uint64_t n_bytes_each; /* of a value of BYTES, once decoded, on average */
};

/* Makes a dictionary of its page, which has n_values in PLAIN. Takes the page, also when it fails.
 */
int leat_parquet_dictionary_init(struct leat_parquet_dictionary *dictionary,
                                 const struct leat_parquet_leaf *leaf, uint32_t n_values,
                                 struct leat_parquet_block *take_page,
                                 struct leat_parquet_memory *memory, struct leat_error *err);
void leat_parquet_dictionary_deinit(struct leat_parquet_dictionary *dictionary,
                                    struct leat_parquet_memory *memory);

/* Begins with the values in [at, end), of which there are at most n_max. values->leaf and
 * dictionary are set. -EBADMSG; -EINVAL: leat does not know the encoding. */
int leat_parquet_values_begin(struct leat_parquet_values *values, int64_t encoding,
                              const uint8_t *at, const uint8_t *end, uint64_t n_max,
                              struct leat_error *err);
void leat_parquet_values_deinit(struct leat_parquet_values *values,
                                struct leat_parquet_memory *memory);

/* Reads n values to `out`: views for BYTES. *blocks gets what views need besides the page. */
int leat_parquet_values_read(struct leat_parquet_values *values, uint8_t *out, size_t n,
                             struct leat_parquet_memory *memory, struct leat_parquet_block **blocks,
                             struct leat_error *err);
/* Bytes of a value in `out`. */
static inline size_t leat_parquet_value_size(const struct leat_parquet_leaf *leaf) {
    return leaf->type == LEAT_PARQUET_BYTES     ? sizeof(struct leat_arrow_view)
           : leaf->type == LEAT_PARQUET_BOOLEAN ? 1
                                                : leaf->n_bytes;
}
