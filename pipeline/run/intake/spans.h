/* spans.h: a source that is read block by block, in random order (plan->blocks).
 *
 * Where its blocks are is not known before all of the source was seen once. Without a cache a pass
 * that only scans counts them (span_table.h), then the scanner is given a route through them for
 * each pass; if a file has changed since, they are counted anew. With a cache that is not complete,
 * the cache is built first, from front to back, and no row of that goes to the order; then frames
 * are queued in place of pieces, of those at the ends of a block the rows that are meant. A cache
 * that cannot be built is done without. All three give the same rows in the same order.
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/work/job.h"
#include "pipeline/work/span_table.h"

struct leat_run_spans {
    const struct leat_plan *plan;
    uint64_t seed;
    bool are_wanted;
    struct leat_span_table table; /* the SCAN job's, while one is out that counts */
    uint64_t table_bytes;         /* of the table, when no job was out */
    bool is_counted;              /* The table is complete, */
    bool is_of_cache;             /* of that generation of the run's cache, without places. */
    uint64_t generation;
    bool is_building; /* What is scanned is for the cache alone. */
    uint32_t *order;  /* [table.n_spans]: of the pass that is read; NULL: not drawn yet */
    size_t at;        /* of it: the next whose frames are queued, */
    uint32_t n_done;  /* and records of that which are */
};

/* A frame of the cache, or a part of one: records from `from` on, before `to` (UINT32_MAX: all). */
struct leat_span_part {
    const struct leat_cache_frame *frame;
    uint32_t from, to;
    bool is_whole;
};

/* What a SCAN job was for. */
enum leat_span_scan {
    LEAT_SPAN_SCAN_READ,  /* its pieces are to be queued */
    LEAT_SPAN_SCAN_COUNT, /* it only counted, and is to go on so */
    LEAT_SPAN_SCAN_AGAIN, /* the pass is to be read from its start */
};

void leat_run_spans_init(struct leat_run_spans *spans, const struct leat_plan *plan, uint64_t seed,
                         bool only_builds);
void leat_run_spans_deinit(struct leat_run_spans *spans);
uint64_t leat_run_spans_bytes(const struct leat_run_spans *spans);

/* The next pass begins. */
void leat_run_spans_next_pass(struct leat_run_spans *spans);

/* ---- without a cache ---- */

/* Before a SCAN job of that pass: tells the scanner what to do. 0 or -ENOMEM. */
int leat_run_spans_start_scan(struct leat_run_spans *spans, struct leat_scan *scan, uint64_t epoch,
                              uint64_t pass);
/* After a SCAN job. */
enum leat_span_scan leat_run_spans_end_scan(struct leat_run_spans *spans,
                                            const struct leat_scan_job *job);

/* ---- with a cache ---- */

/* The source is to be scanned for the cache alone; all of it was. */
void leat_run_spans_start_building(struct leat_run_spans *spans);
void leat_run_spans_end_building(struct leat_run_spans *spans);
/* Takes the numbers of records from a cache file that is complete, and draws the order of that
 * pass. 0 or -errno. */
int leat_run_spans_start_pass(struct leat_run_spans *spans, const struct leat_cache_file *file,
                              uint64_t generation, uint64_t epoch, uint64_t pass,
                              struct leat_error *err);
/* The next part of the pass; false: there is none. */
bool leat_run_spans_next_part(const struct leat_run_spans *spans,
                              const struct leat_cache_file *file, struct leat_span_part *ret_part);
/* The part was queued. */
void leat_run_spans_pass_part(struct leat_run_spans *spans, const struct leat_span_part *part);
