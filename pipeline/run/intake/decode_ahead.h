/* decode_ahead.h: which places of compressed files are decoded ahead of the scanner, and when.
 *
 * They are the ranges of the file in which the scanner is, then the beginnings of the files behind
 * it. What is decoded is bounded in number and bytes; a place that turns out to hold nothing of use
 * costs its time only. The scanner goes on without what is not there, but waits for what is being
 * decoded just now: to decode it twice would be no faster. How far it got changes speed and memory,
 * never the data. Owner: the run's thread.
 */
#pragma once

#include "pipeline/work/job.h"

struct leat_decode_ahead {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    struct leat_account *account;
    size_t max_bytes, max_units; /* decoded or being decoded at once */

    uint64_t pass;                            /* Jobs of an older pass are of no use. */
    struct leat_unit *units;                  /* decoded, and not with the scanner yet */
    struct leat_unit_key out[LEAT_UNITS_MAX]; /* being decoded in this pass */
    size_t n_out, n_busy;                     /* n_busy: jobs of all passes */
    size_t n_held;                            /* units that the scanner has */
    bool is_compressed;                       /* the file in which the scanner is */
    size_t file;                              /* where the scanner was last */
    uint64_t range, n_ranges;
    uint64_t next_range;        /* of that file, to be decoded next */
    size_t next_file, end_file; /* whose first range is; behind the last of this pass */
    uint32_t n_useless;         /* ranges of that file in a row without a frame */
    bool is_wanted;             /* The scanner waits for: */
    struct leat_unit_key wanted;
    uint64_t busy_bytes, scanner_bytes; /* that jobs may take, and that the scanner has, */
    uint64_t counted_bytes;             /* and all, in the account */
};

/* n_shares: so many sources that are mixed share what may be decoded ahead. */
void leat_decode_ahead_init(struct leat_decode_ahead *ahead, const struct leat_plan *plan,
                            const struct leat_opener *opener, struct leat_account *account,
                            size_t max_map_jobs, size_t n_shares);
/* Begins a new pass, or ends all: drops what was decoded. */
void leat_decode_ahead_reset(struct leat_decode_ahead *ahead);

/* Fills a job with the next place that is worth decoding; false: there is none, or enough is. */
bool leat_decode_ahead_start_job(struct leat_decode_ahead *ahead, struct leat_decode_job *ret_job);
/* Takes the job's unit. */
void leat_decode_ahead_end_job(struct leat_decode_ahead *ahead, struct leat_decode_job *job);
/* Before a SCAN job: gives the scanner what is decoded; false: the scanner waits for a place that
 * is being decoded. */
bool leat_decode_ahead_hand_over(struct leat_decode_ahead *ahead, struct leat_scan *scan);
/* After a SCAN job: learns where the scanner is now. */
void leat_decode_ahead_follow(struct leat_decode_ahead *ahead, const struct leat_scan_job *job);
