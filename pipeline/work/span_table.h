/* span_table.h: the places of the records of a source: spans of whole records, in the order of the
 * data, with their exact numbers.
 *
 * A pass that only scans makes it: the cutter finds where records end, and nothing is parsed. With
 * a block_size each span has that many records of its file, the last one of a file the rest.
 * Without, a span is a piece as it was cut. Records count as in every pass: a blank line is none, a
 * record that is cut off is one, and so is the rest of a damaged compressed file, unless bad
 * records end the stream.
 *
 * Immutable once it is complete. Owner while it is made: the SCAN job, else the run.
 */
#pragma once

#include "pipeline/cache/frame.h"
#include "pipeline/cut/cutter.h"
#include "pipeline/plan/plan.h"

#define LEAT_SPANS_MAX (UINT32_C(1) << 22)

struct leat_span {
    struct leat_cache_span place;
    uint64_t record; /* number of its first record within the pass */
};

struct leat_span_table {
    uint64_t block_size; /* records of a span; 0: as cut */
    struct leat_span *spans;
    size_t n_spans, capacity;
    uint64_t n_records;
    struct leat_file_state *files; /* [n_files]: when they were counted */
    size_t n_files;
};

void leat_span_table_init(struct leat_span_table *table, uint64_t block_size);
void leat_span_table_deinit(struct leat_span_table *table);

/* Adds the next piece with its bytes. 0; -ENOMEM; -E2BIG: there would be more than LEAT_SPANS_MAX.
 */
int leat_span_table_add(struct leat_span_table *table, const struct leat_cutter *cutter,
                        const struct leat_cache_span *piece, const uint8_t *data,
                        struct leat_error *err);

/* Adds records without places. */
int leat_span_table_add_records(struct leat_span_table *table, uint32_t file, uint64_t n_records,
                                struct leat_error *err);
/* Notes the state of a file. 0 or -ENOMEM. */
int leat_span_table_set_file(struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state, struct leat_error *err);
/* True if the file was noted with that state. */
bool leat_span_table_is_same(const struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state);

uint64_t leat_span_table_bytes(const struct leat_span_table *table);
