#include "pipeline/run/bad_records.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define WAITING_BYTES (4U << 20) /* Beyond it a slow disk stops the order. */

void leat_bad_records_init(struct leat_bad_records *bad, const struct leat_plan *plan) {
    *bad = (struct leat_bad_records){.plan = plan, .fd = -1, .last = LEAT_ERROR_INIT};
}

void leat_bad_records_deinit(struct leat_bad_records *bad) {
    free(bad->text.data);
    if (bad->fd >= 0)
        (void)close(bad->fd);
}

int leat_bad_records_meet(struct leat_bad_records *bad, uint32_t file,
                          const struct leat_bad_record *record, bool is_written,
                          struct leat_error *err) {
    const struct leat_stream_options *options = &bad->plan->options;
    char text[LEAT_ERROR_PRINT_MAX];

    bad->counts.figures.n_bad_records++;
    bad->n_epoch++;
    leat_bad_record_error(bad->plan, file, record, &bad->last);
    if (options->on_error == LEAT_ON_ERROR_FAIL) {
        *err = bad->last;
        return -EBADMSG;
    }
    if (options->max_errors > 0 && bad->n_epoch > (uint64_t)options->max_errors) {
        (void)leat_error_print(&bad->last, text, sizeof(text));
        return leat_error_set(
            err, -EBADMSG,
            "more than max_errors (%lld) records are bad; the last bad record is %.300s",
            (long long)options->max_errors, text);
    }
    if (is_written && options->on_error == LEAT_ON_ERROR_QUARANTINE)
        leat_quarantine_add(&bad->text, bad->plan, file, record);
    return 0;
}

bool leat_bad_records_are_due(const struct leat_bad_records *bad) {
    return !bad->is_out && (bad->text.n_bytes > 0 || bad->text.failed);
}

bool leat_bad_records_are_full(const struct leat_bad_records *bad) {
    return bad->text.n_bytes >= WAITING_BYTES;
}

bool leat_bad_records_are_written(const struct leat_bad_records *bad) {
    return !bad->is_out && !leat_bad_records_are_lost(bad) && bad->text.n_bytes == 0;
}

bool leat_bad_records_are_lost(const struct leat_bad_records *bad) {
    return bad->has_failed_to_write || bad->text.failed;
}

uint64_t leat_bad_records_bytes(const struct leat_bad_records *bad) {
    return bad->text.capacity;
}

void leat_bad_records_start_job(struct leat_bad_records *bad, struct leat_quarantine_job *ret_job) {
    *ret_job = (struct leat_quarantine_job){
        .path = bad->plan->quarantine_path,
        .text = bad->text.data,
        .n_bytes = bad->text.n_bytes,
        .fd = bad->fd,
        .offset = bad->offset,
    };
    bad->text = (struct leat_text){.data = NULL};
    bad->is_out = true;
}

void leat_bad_records_end_job(struct leat_bad_records *bad, struct leat_quarantine_job *job,
                              bool has_failed) {
    bad->is_out = false;
    bad->has_failed_to_write |= has_failed;
    bad->fd = job->fd;
    bad->offset += job->n_bytes;
    free(job->text);
}
