/* reader.h: how far a source is read, which may be a pass ahead of the order: its scanner, the
 * decoding ahead of that, and the watch over its files.
 *
 * The reader of a lane, one of several sources that are mixed, reads only its own files of the
 * plan, pass after pass. Owner: the run's thread.
 */
#pragma once

#include "pipeline/plan/data_watch.h"
#include "pipeline/run/intake/decode_ahead.h"
#include "pipeline/run/options.h"

struct leat_reader {
    struct leat_plan *plan;
    const struct leat_opener *opener;
    uint32_t lane;
    bool is_lane, repeats;          /* repeats: the lane is read again as long as others go on */
    uint64_t first_epoch, n_epochs; /* n_epochs 0: without end */

    struct leat_scan scan;
    struct leat_decode_ahead ahead;
    struct leat_data_watch watch; /* lent to the job that reads the files */
    uint64_t epoch, pass;         /* being read */
    uint64_t end_record;          /* of the pass: behind the last one that was queued */
    bool is_out;                  /* A SCAN job is out. */
    bool is_stale;                /* That job reads a pass that is no longer wanted. */
    bool has_ended;               /* No further pass is wanted, or this one has failed. */
};

/* n_lanes 0: there is one source. */
void leat_reader_init(struct leat_reader *reader, struct leat_plan *plan,
                      const struct leat_run_options *options, struct leat_account *account,
                      uint32_t lane, size_t n_lanes, size_t max_map_jobs);
void leat_reader_deinit(struct leat_reader *reader);

/* True if the run reads that epoch; that pass of an epoch. */
bool leat_reader_wants_epoch(const struct leat_reader *reader, uint64_t epoch);
bool leat_reader_wants_pass(const struct leat_reader *reader, uint64_t pass);
/* Sets the number of epochs. */
void leat_reader_extend(struct leat_reader *reader, uint64_t n_epochs);

/* Goes on with the next pass, or ends. */
void leat_reader_next_pass(struct leat_reader *reader, bool epoch_is_over);
/* The order has consumed that pass and begins one of now_epoch. True: the reader is still in that
 * pass, and the caller moves it to the next one. False: it is not, or its SCAN job is out, which
 * becomes stale. */
bool leat_reader_skips(struct leat_reader *reader, uint64_t epoch, uint64_t pass,
                       uint64_t now_epoch);
/* Reads the same pass again from its start. */
void leat_reader_restart(struct leat_reader *reader);
/* Reads the pass from behind that span, with which its first n_records end, n_file_records of which
 * are of its file; span NULL: from its start. */
void leat_reader_start_behind(struct leat_reader *reader, const struct leat_cache_span *span,
                              uint64_t n_records, uint64_t n_file_records);
/* Reads the pass from that file on. */
void leat_reader_start_file(struct leat_reader *reader, size_t file);

/* Hands decoded units to the scanner. False: it waits for one that is being decoded. */
bool leat_reader_may_scan(struct leat_reader *reader);
/* Fills a SCAN job except its buffers. */
void leat_reader_start_job(struct leat_reader *reader, size_t max_bytes, size_t block_bytes,
                           size_t n_pieces, bool only_places, struct leat_scan_job *ret_job);
/* Takes back a job that was not handed out. */
void leat_reader_abort_job(struct leat_reader *reader);
/* Takes a SCAN job back. True: its pass is no longer wanted. */
bool leat_reader_end_job(struct leat_reader *reader, const struct leat_scan_job *job);
