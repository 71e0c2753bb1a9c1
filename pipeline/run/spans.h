/* run/spans.h: a source that is read block by block, in random order (plan->blocks).
 *
 * Where its blocks are is not known before all of it was seen once. Without a cache a pass that
 * only scans counts them (span_table.h), then the scanner is given a route through them for each
 * pass; if a file has changed since, they are counted anew. With a cache that is not complete, it
 * is built first, from front to back, and no row of that goes to the order; then frames are put in
 * line in place of pieces, of those at the ends of a block the rows that are meant. A cache that
 * cannot be built is done without. All three give the same rows in the same order.
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/work/job.h"
#include "pipeline/work/span_table.h"

struct leat_run;

struct leat_run_spans {
    struct leat_span_table table; /* the SCAN job's, while one is out that counts */
    uint64_t table_bytes;         /* of it, when no job was out */
    bool is_counted;              /* the table is complete, */
    bool is_of_cache;             /* of that generation of the run's cache, without places */
    uint64_t generation;
    bool is_building; /* what is scanned is for the cache alone */
    uint32_t *order;  /* [table.n_spans]: of the pass that is read; NULL: not drawn yet */
    size_t at;        /* of it: the next whose frames are put in line, */
    uint32_t n_done;  /* records of that which are */
};

static inline bool leat_run_spans_are_wanted(const struct leat_plan *plan, bool only_builds) {
    return plan->blocks.block_size > 0 && !only_builds;
}

void leat_run_spans_deinit(struct leat_run *run);
uint64_t leat_run_spans_bytes(const struct leat_run *run);

/* The next pass begins. */
void leat_run_spans_next_pass(struct leat_run *run);
/* The cache was looked for: puts its frames in line while there is room; true: the scanner is to
 * read. */
bool leat_run_spans_let_scan(struct leat_run *run, size_t max_entries);
/* Before a SCAN job, and after one: true: that was all that it was for. */
void leat_run_spans_start_scan(struct leat_run *run);
bool leat_run_spans_end_scan(struct leat_run *run, const struct leat_scan_job *scan);
/* All of the source was scanned for the cache. */
void leat_run_spans_end_building(struct leat_run *run);
