/* quarantine.h: bad records as errors, and the QUARANTINE job, which writes them to their file. Any
 * thread. */
#pragma once

#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

struct leat_quarantine_job {
    const char *path;
    char *text;
    size_t n_bytes;
    int fd;          /* in, out: -1: not open yet */
    uint64_t offset; /* in the file */
};

/* Makes an error of a bad record of that file. */
void leat_bad_record_error(const struct leat_plan *plan, uint32_t file,
                           const struct leat_bad_record *record, struct leat_error *err);

void leat_quarantine_add(struct leat_text *text, const struct leat_plan *plan, uint32_t file,
                         const struct leat_bad_record *bad);
int leat_quarantine_execute(struct leat_quarantine_job *job, struct leat_error *err);
