/* decode_ahead.h: which places of compressed files, and row groups of columnar ones, are decoded
 * ahead of the scanner, and when.
 *
 * These are the next ranges of the scanner's file, then the beginnings of the files behind it.
 * Their number and bytes are bounded. A place that holds nothing of use only costs time. The
 * scanner decodes a place itself if it is not there, but waits for one that is being decoded.
 * Decoding ahead changes speed and memory, never the data. Owner: the run's thread.
 */
#pragma once

#include "pipeline/work/decode.h"
#include "pipeline/work/scan.h"

struct leat_decode_ahead {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    struct leat_account *account;
    size_t max_bytes, max_units; /* decoded or being decoded at once */

    uint64_t pass;                            /* Units of an older pass are dropped. */
    struct leat_unit *units;                  /* decoded, not with the scanner yet */
    struct leat_unit_key out[LEAT_UNITS_MAX]; /* being decoded in this pass */
    size_t n_out, n_busy;                     /* n_busy: jobs of all passes */
    size_t n_held;                            /* units that the scanner has */
    bool has_ranges;                          /* of the file of the scanner can be decoded */
    size_t file;                              /* of the scanner, after its last job */
    uint64_t range, n_ranges;                 /* of the scanner, and of that file */
    uint64_t next_range;                      /* of that file, to be decoded next */
    size_t next_file, end_file;               /* to be decoded next; end of this pass */
    uint32_t n_useless; /* ranges of that file in a row in which no frame begins */
    bool is_wanted;     /* The scanner waits for `wanted`. */
    struct leat_unit_key wanted;
    uint64_t busy_bytes, scanner_bytes; /* of the jobs, and of the scanner's units */
    uint64_t counted_bytes;             /* in the account */
};

/* n_shares: number of mixed sources that share the bound. */
void leat_decode_ahead_init(struct leat_decode_ahead *ahead, const struct leat_plan *plan,
                            const struct leat_opener *opener, struct leat_account *account,
                            size_t max_map_jobs, size_t n_shares);
/* Drops all units. Begins a new pass, or deinitializes. */
void leat_decode_ahead_reset(struct leat_decode_ahead *ahead);

/* Fills a job with the next place; false: no place is left, or enough are decoded. */
bool leat_decode_ahead_start_job(struct leat_decode_ahead *ahead, struct leat_decode_job *ret_job);
/* Takes the job's unit. */
void leat_decode_ahead_end_job(struct leat_decode_ahead *ahead, struct leat_decode_job *job);
/* Gives the scanner the decoded units. False: it waits for a place that is being decoded. */
bool leat_decode_ahead_hand_over(struct leat_decode_ahead *ahead, struct leat_scan *scan);
/* Follows the scanner, which is back from a SCAN job. */
void leat_decode_ahead_follow(struct leat_decode_ahead *ahead, const struct leat_scan_job *job);
