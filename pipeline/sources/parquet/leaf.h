/* leaf.h: a column of a row group that has values: its pages one by one, and its rows some at a
 * time with their levels.
 *
 * Pages before the wanted rows are passed by their headers, unless the column is in a list: then a
 * header does not say how many rows its page has. Owner: the reader.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/parquet/codec.h"
#include "pipeline/sources/parquet/encoding.h"

/* State that all columns of a file share. */
struct leat_parquet_source {
    struct leat_input *file;
    struct leat_input_limits limits;
    /* Pages and values have memory of their own, so that what fits does not depend on what was read
     * before. So have bytes as they are in the file, and pages that were read ahead. */
    struct leat_parquet_memory memory, scratch, ahead;
    struct leat_parquet_block *stored; /* of a page that is being decompressed */
    size_t window_bytes;               /* that a column reads at once */
};

struct leat_parquet_leaf_reader {
    const struct leat_parquet_leaf *leaf;

    /* of the row group */
    struct leat_parquet_chunk chunk;
    uint64_t at;     /* in the file, of the next page */
    uint64_t n_left; /* values of the pages that are not entered yet, also null */
    struct leat_parquet_block *window;
    uint64_t window_at;
    size_t n_window;
    bool has_long_pages; /* only headers are read through the window */
    struct leat_parquet_dictionary dictionary;
    struct leat_parquet_block *ahead_pages; /* the next ones, in order */

    /* the page */
    struct leat_parquet_block *page;
    uint64_t n_page; /* values of it that are left, also null */
    struct leat_parquet_runs repetitions, definitions;
    struct leat_parquet_values values;
    uint32_t ahead[256]; /* repetition levels that were read already */
    size_t ahead_at, n_ahead;

    /* the rows that were loaded last */
    uint32_t n_rows;
    uint32_t n_entries;                   /* values, also null and lists without items */
    uint32_t n_values;                    /* that are there */
    struct leat_parquet_block *levels[2]; /* [n_entries]: repetition, definition */
    struct leat_parquet_block *out;       /* [n_values] */
    struct leat_parquet_block *kept;      /* what views refer to */
};

/* Begins a row group, in front of its first row. */
void leat_parquet_leaf_enter(struct leat_parquet_leaf_reader *reader,
                             struct leat_parquet_source *source,
                             const struct leat_parquet_chunk *chunk);
void leat_parquet_leaf_deinit(struct leat_parquet_leaf_reader *reader,
                              struct leat_parquet_source *source);

/* Reads pages ahead, until they have max_bytes or all of the row group is read. A failure ends it
 * and is met again when the page is wanted. Pages that need no decompression and lie on a local
 * disk are not read ahead: the kernel does that. */
void leat_parquet_leaf_prepare(struct leat_parquet_leaf_reader *reader,
                               struct leat_parquet_source *source, uint64_t max_bytes);
/* Passes rows. -EBADMSG: the row group has fewer. */
int leat_parquet_leaf_skip(struct leat_parquet_leaf_reader *reader,
                           struct leat_parquet_source *source, uint64_t n_rows,
                           struct leat_error *err);
/* Loads rows, at least one and at most n_rows > 0, in place of those before; with `exactly` n_rows.
 */
int leat_parquet_leaf_load(struct leat_parquet_leaf_reader *reader,
                           struct leat_parquet_source *source, uint32_t n_rows, bool exactly,
                           struct leat_error *err);
