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

#include "pipeline/memory/arena.h"
#include "pipeline/memory/budget.h"
#include "proto/base/dtype.h"
#include "proto/slot.h"

struct leat_column {
    void *values;      /* elements of the field's dtype, TEXT: bytes */
    uint32_t *starts;  /* in elements; NULL for scalars */
    uint32_t *lengths; /* in elements; NULL for scalars */
};

/* A record that could not be used. Texts live in the block's `kept` arena. */
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
    uint32_t n_rows;    /* rows that are left */
    uint32_t n_records; /* records that were cut */
    uint32_t n_columns;
    struct leat_column *columns; /* [n_columns], in `kept` */
    uint32_t *records;           /* [n_rows]: which record a row came from; ascending */

    /* where it came from */
    uint64_t sequence;     /* of blocks, within the pass */
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
    struct leat_block_pool *pool; /* where it goes when nothing refers to it */
    uint32_t n_refs;              /* owner: run */
    bool is_held;                 /* by a full shuffle, which has counted its bytes; owner: run */
    bool is_exact;    /* its arena has what it takes and no more: it is not kept for others */
    bool is_evicted;  /* its lists have lengths, but neither starts nor values (run/row_store.h) */
    bool is_gathered; /* of rows of others, whose values it has */
    uint32_t n_pins;  /* references by batches that are made, or next to be: it is not evicted */
    bool is_shared;   /* some row may be referred to more than once */
    uint8_t *gone;    /* a bit for each row that has left (block/sparse.h); NULL: unknown */
    uint32_t n_gone, n_sparse;      /* it is sparse with no more rows than n_sparse */
    struct leat_resident *resident; /* NULL: it is never evicted */
    /* not NULL: the block has rows, but no columns yet (run/fast_forward.h) */
    struct leat_count_only *count_only;
};

/* The number, within the pass, of the record that a row is of. */
static inline uint64_t leat_block_record(const struct leat_block *block, uint32_t row) {
    return block->first_record + (block->records ? block->records[row] : row);
}

/* Blocks that wait to be used again, with their warm arenas. Owner: run. */
struct leat_block_pool {
    struct leat_block *free;
    uint32_t n_alive;             /* handed out */
    uint32_t n_free;              /* not many more than the next jobs take */
    bool keeps_most;              /* a stage lets go of many at once: those are kept */
    uint32_t n_most, n_most_now;  /* alive at once, in the last stretch of takes and in this one, */
    uint32_t n_taken;             /* which has so many */
    uint64_t n_free_bytes;        /* in the arenas of those that are not */
    uint64_t n_gathered_bytes;    /* of gathered blocks */
    uint64_t n_bundle_bytes;      /* of bundles whose first row is in one of its blocks */
    struct leat_account *account; /* NULL: nobody counts */
    void (*forget)(struct leat_block *block); /* told before a block goes that is a
                                                 resident, or count-only */
};

struct leat_block *
leat_block_pool_take(struct leat_block_pool *pool); /* one reference; NULL when memory is out */
/* After its job: its arena may have grown. */
void leat_block_recount(struct leat_block *block);
/* A block with memory for just so much, and one reference; NULL when memory is out. */
struct leat_block *leat_block_pool_take_exact(struct leat_block_pool *pool, size_t n_bytes);
/* In place of its arena it has this one, an exact one; the pool has the old one. */
void leat_block_replace(struct leat_block *block, const struct leat_arena *take_arena);
/* In place of its arena it has that of the other, which is left with an empty one. */
void leat_block_take_over(struct leat_block *block, struct leat_block *made);
void leat_block_unref(struct leat_block *block, uint32_t n_refs);
/* Gives all memory back that is not in use. */
void leat_block_pool_trim(struct leat_block_pool *pool);
void leat_block_pool_deinit(struct leat_block_pool *pool); /* all must be back */
