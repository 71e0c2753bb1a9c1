/* decode.h: the DECODE job: decodes the beginning of a range of a compressed file, or of a row
 * group, ahead of the scanner. Any thread.
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/work/unit.h"

struct leat_decode_job {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    struct leat_unit *unit; /* out: its input */
    size_t max_bytes;
    uint64_t pass, counted_bytes; /* the run's own */
};

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err);
