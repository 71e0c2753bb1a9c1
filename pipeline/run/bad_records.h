/* bad_records.h: what becomes of bad records: `on_error` and `max_errors`, and the quarantine,
 * which QUARANTINE jobs write to its file one after the other. Owner: the run's thread. */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/work/job.h"
#include "proto/base/text.h"

struct leat_bad_records {
    const struct leat_plan *plan;
    uint64_t n_all, n_epoch; /* that were met by the order: in all, and in the current epoch */
    struct leat_error last;  /* the latest; code 0: none */
    struct leat_text text;   /* to be written */
    int fd;                  /* of the quarantine; -1: not open yet */
    uint64_t offset;         /* in the quarantine, where the text goes */
    bool is_out;             /* A job is writing. */
    bool has_failed_to_write;
};

void leat_bad_records_init(struct leat_bad_records *bad, const struct leat_plan *plan);
void leat_bad_records_deinit(struct leat_bad_records *bad);

/* What is wrong with a record of that file, and where. */
void leat_bad_record_error(const struct leat_plan *plan, uint32_t file,
                           const struct leat_bad_record *record, struct leat_error *err);

/* Counts the record; with `is_written` it goes to the quarantine, if the stream has one. 0;
 * -EBADMSG: the stream fails by it. */
int leat_bad_records_meet(struct leat_bad_records *bad, uint32_t file,
                          const struct leat_bad_record *record, bool is_written,
                          struct leat_error *err);
void leat_bad_records_start_epoch(struct leat_bad_records *bad);

/* True if a QUARANTINE job has something to write. */
bool leat_bad_records_are_due(const struct leat_bad_records *bad);
/* True if so much waits for the disk that no more records may come. */
bool leat_bad_records_are_full(const struct leat_bad_records *bad);
/* True if all were written. */
bool leat_bad_records_are_written(const struct leat_bad_records *bad);
/* True if some can never be written. */
bool leat_bad_records_are_lost(const struct leat_bad_records *bad);
uint64_t leat_bad_records_bytes(const struct leat_bad_records *bad);

/* Fills a job with what is due; takes it back. */
void leat_bad_records_start_job(struct leat_bad_records *bad, struct leat_quarantine_job *ret_job);
void leat_bad_records_end_job(struct leat_bad_records *bad, struct leat_quarantine_job *job,
                              bool has_failed);
