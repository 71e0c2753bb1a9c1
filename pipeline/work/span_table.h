/* span_table.h: where the records of a source are: spans of whole records, in the order of the
 * data, with exact numbers of records.
 *
 * It comes of a pass that only scans: the cutter finds where records end, nothing is parsed. With a
 * block_size each span has just so many records of its file, the last of a file those that are
 * left; without, a span is what was cut at once, about a block. Which records there are, and what
 * they count as, is what every pass finds: blank lines are none, one that is cut off is one, and so
 * is what is left of a compressed file that is damaged, where bad records do not end the stream.
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
    uint64_t block_size; /* records of a span; 0: as they were cut */
    struct leat_span *spans;
    size_t n_spans, capacity;
    uint64_t n_records;            /* of all of them */
    struct leat_file_state *files; /* [n_files]: as they were when they were counted */
    size_t n_files;
};

void leat_span_table_init(struct leat_span_table *table, uint64_t block_size);
void leat_span_table_deinit(struct leat_span_table *table);

/* Adds a piece that comes behind all that were added, with its bytes. 0, -ENOMEM, or -E2BIG: there
 * would be more than LEAT_SPANS_MAX. */
int leat_span_table_add(struct leat_span_table *table, const struct leat_cutter *cutter,
                        const struct leat_cache_span *piece, const uint8_t *data,
                        struct leat_error *err);

/* The same without bytes: the places of spans are not known, only how many records they have. */
int leat_span_table_add_records(struct leat_span_table *table, uint32_t file, uint64_t n_records,
                                struct leat_error *err);
/* Notes how that file was. 0 or -ENOMEM. */
int leat_span_table_set_file(struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state, struct leat_error *err);
/* Whether it is still so; of a file that was not noted: false. */
bool leat_span_table_is_same(const struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state);

/* The span with that record, or NULL. */
const struct leat_span *leat_span_table_find(const struct leat_span_table *table, uint64_t record);
uint64_t leat_span_table_bytes(const struct leat_span_table *table);

/* Counts the files of the plan from first_file up to end_file into an empty table, here and now: it
 * blocks. *ret_n_bytes: of text that were read. -ESPIPE: one is a FIFO, which can be read but once.
 * A run does the same by jobs (leat_scan.counts). */
int leat_span_table_count(struct leat_span_table *table, const struct leat_plan *plan,
                          const struct leat_opener *opener, size_t first_file, size_t end_file,
                          uint64_t *ret_n_bytes, struct leat_error *err);
