/* reader.h: how far a source is read, which may be a pass ahead of the order: the scanner, what is
 * decoded ahead of it, and the watch over its files.
 *
 * A source that is one of several which are mixed (a lane) reads its own files of the plan, pass
 * after pass. Owner: the run's thread.
 */
#pragma once

#include "pipeline/plan/data_watch.h"
#include "pipeline/run/intake/decode_ahead.h"
#include "pipeline/run/options.h"

struct leat_reader {
    struct leat_plan *plan;
    const struct leat_opener *opener;
    uint32_t lane;
    bool is_lane, repeats;          /* repeats: a lane that is read as often as it is wanted */
    uint64_t first_epoch, n_epochs; /* n_epochs 0: without end */

    struct leat_scan scan;
    struct leat_decode_ahead ahead;
    struct leat_data_watch watch; /* lent to the job that reads the files */
    uint64_t epoch, pass;         /* that is read */
    uint64_t end_record;          /* of the pass: behind the last that was queued */
    bool is_out;                  /* A SCAN job is out. */
    bool is_stale;                /* It reads a pass that nobody wants any more. */
    bool has_ended;               /* No further pass is wanted. */
};

/* n_lanes 0: the source is the only one. */
void leat_reader_init(struct leat_reader *reader, struct leat_plan *plan,
                      const struct leat_run_options *options, struct leat_account *account,
                      uint32_t lane, size_t n_lanes, size_t max_map_jobs);
void leat_reader_deinit(struct leat_reader *reader);

/* True if the run has that epoch; that pass of an epoch. */
bool leat_reader_wants_epoch(const struct leat_reader *reader, uint64_t epoch);
bool leat_reader_wants_pass(const struct leat_reader *reader, uint64_t pass);
/* So many epochs are wanted. */
void leat_reader_extend(struct leat_reader *reader, uint64_t n_epochs);
/* Reading has failed, or the source is read by other means: no further pass is wanted. */
void leat_reader_end(struct leat_reader *reader);

/* Goes on with the pass behind the one that is read, or ends. */
void leat_reader_next_pass(struct leat_reader *reader, bool epoch_is_over);
/* The pass that was being consumed is over, and that of now_epoch is next. True: the caller goes on
 * with the next pass, as the reader is still in that one; false: it is not, or it learns so from
 * the SCAN job that is out. */
bool leat_reader_skips(struct leat_reader *reader, uint64_t epoch, uint64_t pass,
                       uint64_t now_epoch);
/* Reads the same pass once more from its start. */
void leat_reader_restart(struct leat_reader *reader);
/* Reads the pass on behind that span, whose records were the last of the first n_records; span
 * NULL: from its start. */
void leat_reader_start_behind(struct leat_reader *reader, const struct leat_cache_span *span,
                              uint64_t n_records);
/* Reads the pass from that file on. */
void leat_reader_start_file(struct leat_reader *reader, size_t file);

/* False: the scanner waits for what is being decoded. */
bool leat_reader_may_scan(struct leat_reader *reader);
/* Fills a SCAN job, but for its buffers. */
void leat_reader_start_job(struct leat_reader *reader, size_t max_bytes, size_t block_bytes,
                           size_t n_pieces, struct leat_scan_job *ret_job);
/* The job was not handed out after all. */
void leat_reader_abort_job(struct leat_reader *reader);
/* Takes a SCAN job back; true: its pass is not wanted any more. */
bool leat_reader_end_job(struct leat_reader *reader, const struct leat_scan_job *job);
/* A piece was queued. */
void leat_reader_count_piece(struct leat_reader *reader, const struct leat_piece *piece);
