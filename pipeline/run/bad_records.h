/* bad_records.h: handles bad records by `on_error` and `max_errors`, and fills the quarantine,
 * whose file is written by one QUARANTINE job at a time. Owner: the run's thread. */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/run/profile/figures.h"
#include "pipeline/work/quarantine.h"
#include "proto/base/text.h"

struct leat_bad_records {
    const struct leat_plan *plan;
    struct leat_stream_counts counts; /* of those that the order met */
    uint64_t n_epoch;                 /* those in the current epoch */
    struct leat_error last;           /* the latest; code 0: none */
    struct leat_text text;            /* to be written */
    int fd;                           /* of the quarantine; -1: not open yet */
    uint64_t offset;                  /* in the quarantine, where the text goes */
    bool is_out;                      /* A job is writing. */
    bool has_failed_to_write;
};

void leat_bad_records_init(struct leat_bad_records *bad, const struct leat_plan *plan);
void leat_bad_records_deinit(struct leat_bad_records *bad);

/* Counts the record; is_written: it goes to the quarantine, if the stream has one. 0; -EBADMSG: the
 * stream fails. */
int leat_bad_records_meet(struct leat_bad_records *bad, uint32_t file,
                          const struct leat_bad_record *record, bool is_written,
                          struct leat_error *err);

/* True if a QUARANTINE job is due. */
bool leat_bad_records_are_due(const struct leat_bad_records *bad);
/* True if so much waits for the disk that the order should stop. */
bool leat_bad_records_are_full(const struct leat_bad_records *bad);
/* True if all were written. */
bool leat_bad_records_are_written(const struct leat_bad_records *bad);
/* True if some can never be written. */
bool leat_bad_records_are_lost(const struct leat_bad_records *bad);
uint64_t leat_bad_records_bytes(const struct leat_bad_records *bad);

/* Fills a job; takes it back. */
void leat_bad_records_start_job(struct leat_bad_records *bad, struct leat_quarantine_job *ret_job);
void leat_bad_records_end_job(struct leat_bad_records *bad, struct leat_quarantine_job *job,
                              bool has_failed);
