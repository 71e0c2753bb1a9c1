/* spans.h: a source that is read block by block, in random order (plan->blocks).
 *
 * The places of its blocks are known once all of the source was seen. Without a cache a first pass
 * only counts them (span_table.h); then the scanner gets a route through them for each pass. If a
 * file has changed since, they are counted again. With a cache that is not complete, the cache is
 * built first, from front to back, and none of those rows goes to the order. Then frames are queued
 * instead of pieces; of frames at the ends of a block only the rows of the block count. If the
 * cache cannot be built, the run goes on without. All three give the same rows in the same order.
 * A source whose blocks are dealt to lanes needs a complete cache, and fails without; or a complete
 * index, by which they are dealt, and then made from the source. Without lanes an index spares the
 * first pass, if its frames are blocks. Of lanes whose batches other runs
 * make, only the numbers of rows are queued (idle_lanes.h).
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/run/options.h"
#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

struct leat_run_spans {
    const struct leat_plan *plan;
    const struct leat_run_options *options;
    uint64_t seed;
    bool are_wanted;
    struct leat_span_table table; /* owned by the SCAN job while one is out that counts */
    uint64_t table_bytes;         /* of the table when no job was out */
    bool is_counted;              /* The table is complete. */
    bool are_rows;                /* Each of its records is a row. */
    bool is_of_cache;             /* It is of the cache of that generation, and has no places. */
    uint64_t generation;          /* of the run's cache */
    bool is_building;             /* The scanner reads for the cache alone. */
    uint32_t *order; /* [table.n_spans]: of the pass that is read; NULL: not drawn yet */
    uint16_t *lanes; /* [table.n_spans]: of the order, of the spans in `order`; NULL: all go to 0 */
    bool *is_idle;   /* [n_lanes]: see idle_lanes.h; NULL: no lane is */
    uint64_t *n_idle_rows; /* [n_lanes]: of idle lanes; NULL: none, or they were taken */
    size_t at;             /* in order: the next span whose frames are queued */
    uint32_t n_done;       /* records of that span that are queued */
};

/* The records from..to-1 of a frame of the cache; to UINT32_MAX: up to its end. */
struct leat_span_part {
    const struct leat_cache_frame *frame;
    uint32_t from, to;
    uint32_t lane; /* of the order */
    bool is_whole;
};

/* The step after a SCAN job. */
enum leat_span_scan {
    LEAT_SPAN_SCAN_READ,  /* Its pieces are queued. */
    LEAT_SPAN_SCAN_COUNT, /* It counted, and the next job goes on counting. */
    LEAT_SPAN_SCAN_AGAIN, /* The pass is read from its start. */
};

/* The spans refer to plan and options, which must outlive them. */
void leat_run_spans_init(struct leat_run_spans *spans, const struct leat_plan *plan, uint64_t seed,
                         const struct leat_run_options *options);
void leat_run_spans_deinit(struct leat_run_spans *spans);
uint64_t leat_run_spans_bytes(const struct leat_run_spans *spans);

/* Begins the next pass. */
void leat_run_spans_next_pass(struct leat_run_spans *spans);

/* Sets what the next SCAN job of that pass does. 0 or -ENOMEM. */
int leat_run_spans_start_scan(struct leat_run_spans *spans, struct leat_scan *scan, uint64_t epoch,
                              uint64_t pass);
/* Says what follows a SCAN job. */
enum leat_span_scan leat_run_spans_end_scan(struct leat_run_spans *spans,
                                            const struct leat_scan_job *job);

/* True if the table has the place of each span that is read. */
static inline bool leat_run_spans_have_places(const struct leat_run_spans *spans) {
    return spans->is_counted && !spans->is_of_cache && !spans->is_building;
}

/* Takes the numbers of records from a complete cache file, and draws the order of that pass. 0 or
 * -errno. -EINVAL: there are fewer blocks than lanes. */
int leat_run_spans_start_pass(struct leat_run_spans *spans, const struct leat_cache_file *file,
                              uint64_t generation, uint64_t epoch, uint64_t pass,
                              struct leat_error *err);
/* True if each frame lies in one block, so that no block is made for the sake of another. */
bool leat_run_spans_have_frames(const struct leat_run_spans *spans,
                                const struct leat_cache_file *file);
/* The next part of the pass that is not of an idle lane; false: none is left. */
bool leat_run_spans_next_part(struct leat_run_spans *spans, const struct leat_cache_file *file,
                              struct leat_span_part *ret_part);
/* The numbers of rows of idle lanes, which go with the first part of the pass; the caller frees
 * them. NULL: there are none, or they were taken. */
uint64_t *leat_run_spans_take_idle_rows(struct leat_run_spans *spans);
/* Counts a part that is queued. */
void leat_run_spans_end_part(struct leat_run_spans *spans, const struct leat_span_part *part);
