/* block.h: some hundreds or thousands of records in columnar form, the unit of work.
 *
 * Every field that a pipeline ever has gets one column index at plan time, and keeps it. A column
 * is dense for scalars: values[row]. For text and lists it is a view a row: elements starts[row] ..
 * starts[row] + lengths[row] of `values`. Views may point into the source bytes, may overlap, and
 * need not be in order; so dropping rows moves only views, and copying is never needed.
 *
 * A block is made in memory that all blocks of a worker are made in, and then moves to memory that
 * fits it: rows may wait for long, behind a shuffle.
 *
 * Owner: the job while it runs; afterwards the run, which counts references (order stages refer to
 * rows) on its one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/block/field.h"
#include "pipeline/memory/arena.h"
#include "pipeline/memory/budget.h"
#include "proto/base/dtype.h"
#include "proto/slot.h"

struct leat_column {
    void *values;      /* elements of the field's dtype, TEXT: bytes */
    uint32_t *starts;  /* in elements; NULL for scalars */
    uint32_t *lengths; /* in elements; NULL for scalars */
    /* Not 0: values are packed as a cache stores them, in so many bytes each, and `base` is to be
     * added (cache/numbers.h). Only blocks out of a cache have such columns. */
    uint8_t width;
    int64_t base;
};

/* Bytes of an element in `values`. */
static inline size_t leat_column_size(const struct leat_column *column, enum leat_dtype dtype) {
    return column->width ? column->width : leat_dtype_size(dtype);
}

/* A record that cannot be used. Its texts are in the block's `kept` arena. */
struct leat_bad_record {
    uint32_t record;  /* within the block, before anything was dropped */
    uint32_t column;  /* byte within the record's first line, from 1; 0: unknown */
    uint64_t line;    /* in the file, from 1 */
    uint64_t offset;  /* in the file, of the record's first byte */
    uint32_t n_bytes; /* raw, as read, without the line end */
    const uint8_t *bytes;
    const char *field; /* "Age", or NULL */
    const char *stage; /* "cast", or NULL for the source */
    const char *message;
};

struct leat_resident;
struct leat_count_only;

struct leat_block {
    uint32_t n_rows;    /* rows that were not dropped */
    uint32_t n_records; /* records that were cut */
    uint32_t n_columns;
    struct leat_column *columns; /* [n_columns], in `kept` */
    uint32_t *records;           /* [n_rows]: which record a row came from; ascending */

    /* where it came from */
    uint32_t file;         /* index into the run's files */
    uint64_t file_offset;  /* of source[0] */
    uint64_t first_line;   /* in the file, of source[0], from 1 */
    uint64_t first_record; /* number of its first record within the pass */
    const uint8_t *source; /* the bytes; valid while the job runs */
    size_t n_source_bytes; /* known afterwards too */
    const uint32_t *record_starts,
        *record_ends; /* [n_records], into source; valid while the job runs */

    struct leat_bad_record *bad; /* [n_bad], ascending by record */
    uint32_t n_bad;

    struct leat_arena kept;
    struct leat_block *next;      /* in the pool, or in the run's queue */
    uint64_t counted_bytes;       /* of its arena, in the account */
    struct leat_block_pool *pool; /* it returns there when nothing refers to it */
    uint32_t n_refs;              /* owner: run */
    bool is_held;     /* a full shuffle holds it and has counted its bytes; owner: run */
    bool is_exact;    /* its arena fits it exactly, and so is not kept for other blocks */
    bool is_evicted;  /* its lists have lengths, but neither starts nor values (run/row_store.h) */
    bool is_gathered; /* it has copies of rows of other blocks */
    uint32_t n_pins; /* references by batches that are collated, or next to be; it is not evicted */
    bool is_shared;  /* some row may be referred to more than once */
    uint8_t *gone;   /* a bit for each row that has left (block/sparse.h); NULL: unknown */
    uint32_t n_gone, n_sparse;      /* it is sparse once at most n_sparse rows are left */
    struct leat_resident *resident; /* NULL: the block is never evicted */
    /* not NULL: the block has rows, but no columns yet (run/intake/fast_forward.h) */
    struct leat_count_only *count_only;
};

/* The number within the pass of the record that a row came from. */
static inline uint64_t leat_block_record(const struct leat_block *block, uint32_t row) {
    return block->first_record + (block->records ? block->records[row] : row);
}

/* Free blocks with their warm arenas, to be used again. Owner: run. */
struct leat_block_pool {
    struct leat_block *free;
    uint32_t n_alive;             /* handed out */
    uint32_t n_free;              /* with those alive, at most as many as were alive at once */
    uint64_t max_free_bytes;      /* of free blocks; a few may have more */
    uint32_t n_most, n_most_now;  /* alive at once, in the last stretch of takes and in this one */
    uint32_t n_taken;             /* takes in this stretch */
    uint64_t n_free_bytes;        /* bytes in the arenas of free blocks */
    uint64_t n_gathered_bytes;    /* bytes of gathered blocks */
    uint64_t n_bundle_bytes;      /* of bundles whose first row is in one of its blocks */
    struct leat_account *account; /* NULL: bytes are not counted */
    struct leat_leftovers *leftovers; /* where memory goes; NULL: back to the system at once */
    /* Called before a block is freed that is resident or count-only. */
    void (*forget)(struct leat_block *block);
};

struct leat_block *
leat_block_pool_take(struct leat_block_pool *pool); /* one reference; NULL when memory is out */
/* Counts the bytes of the block again, whose arena may have grown in a job. */
void leat_block_recount(struct leat_block *block);
/* A block with memory for exactly n_bytes and one reference; NULL when memory is out. */
struct leat_block *leat_block_pool_take_exact(struct leat_block_pool *pool, size_t n_bytes);
/* Gives the block an exact arena in place of its own, which goes to the pool. */
void leat_block_replace(struct leat_block *block, const struct leat_arena *take_arena);
/* Gives the block the arena of `made`, which is left with an empty one. */
void leat_block_take_over(struct leat_block *block, struct leat_block *made);
/* Adds references to a block that has one. */
static inline void leat_block_ref(struct leat_block *block, uint32_t n_refs) {
    block->n_refs += n_refs;
}
/* Adds a reference to a row that another reference names too. The block is never made sparse. */
static inline void leat_block_share(struct leat_block *block) {
    leat_block_ref(block, 1);
    block->is_shared = true;
}
/* Takes the last references away. */
void leat_block_unref_last(struct leat_block *block, uint32_t n_refs);
static inline void leat_block_unref(struct leat_block *block, uint32_t n_refs) {
    if (block->n_refs > n_refs)
        block->n_refs -= n_refs;
    else
        leat_block_unref_last(block, n_refs);
}
/* Gives all memory back that is not in use. */
void leat_block_pool_trim(struct leat_block_pool *pool);
void leat_block_pool_deinit(struct leat_block_pool *pool); /* all must be back */

/* References to rows, which is all that ORDER stages see of them. Owner: the run. */
/* A row on its way through the ORDER stages: a row of a block, a part of one (`length` elements
 * of its lists from `start` on), or a bundle of such parts, which becomes one row of a batch
 * (pack). */
struct leat_ref {
    union {
        struct leat_block *block;
        struct leat_bundle *bundle;
    };
    uint32_t row; /* LEAT_REF_BUNDLE: of a bundle */
    uint32_t start, length;
};
#define LEAT_REF_BUNDLE UINT32_MAX
#define LEAT_REF_WHOLE  UINT32_MAX /* in `length`: all of its lists */

struct leat_bundle {
    uint32_t n_refs, n_elements;
    struct leat_ref refs[]; /* of blocks; each has a length */
};

static inline uint64_t leat_bundle_bytes(const struct leat_bundle *bundle) {
    return sizeof(*bundle) + bundle->n_refs * sizeof(bundle->refs[0]);
}

static inline struct leat_ref leat_ref_row(struct leat_block *block, uint32_t row) {
    return (struct leat_ref){.block = block, .row = row, .length = LEAT_REF_WHOLE};
}
/* Refers to rows that follow each other. Members are stored one by one: a struct that is copied
 * from the stack waits there for its parts. */
static inline void leat_ref_fill_rows(struct leat_ref *refs, struct leat_block *block, uint32_t row,
                                      uint32_t n) {
    for (const struct leat_ref *end = refs + n; refs < end; refs++) {
        refs->block = block;
        refs->row = row++;
        refs->start = 0;
        refs->length = LEAT_REF_WHOLE;
    }
}
/* The references of a row: itself, or those of its bundle. */
static inline struct leat_ref *leat_ref_parts(struct leat_ref *row, uint32_t *ret_n) {
    *ret_n = row->row == LEAT_REF_BUNDLE ? row->bundle->n_refs : 1;
    return row->row == LEAT_REF_BUNDLE ? row->bundle->refs : row;
}
/* The number of elements that the reference takes of the row's list in that column. */
static inline uint32_t leat_ref_length(struct leat_ref ref, uint32_t column) {
    return ref.length == LEAT_REF_WHOLE ? ref.block->columns[column].lengths[ref.row] : ref.length;
}
/* The number of elements of the row in a list column of the schema. */
static inline uint32_t leat_ref_elements(struct leat_ref ref, const struct leat_field *fields,
                                         uint32_t column) {
    if (ref.row == LEAT_REF_BUNDLE)
        return ref.bundle->n_elements;
    if (fields[column].made == LEAT_MADE_OF_PARTS)
        return leat_ref_length(ref, fields[column].of);
    return ref.block->columns[column].lengths[ref.row];
}
/* A further reference to the block, for another part of the same row. */
static inline struct leat_ref leat_ref_part(struct leat_ref ref, uint32_t start, uint32_t length) {
    leat_block_share(ref.block);
    return (struct leat_ref){
        .block = ref.block, .row = ref.row, .start = ref.start + start, .length = length};
}

/* Drops a reference that goes no further. */
void leat_ref_drop(struct leat_ref ref);
