/* job_kind.h: the kinds of jobs, and what the driver measures of one. */
#pragma once

#include <stdint.h>

enum leat_job_kind {
    LEAT_JOB_SCAN,
    LEAT_JOB_DECODE,
    LEAT_JOB_MAP,
    LEAT_JOB_COLLATE,
    LEAT_JOB_QUARANTINE,
    LEAT_JOB_CACHE,
    LEAT_JOB_IDLE,
    LEAT_N_JOB_KINDS
};

struct leat_job_usage {
    uint64_t cpu_ns, delay_ns, queue_ns;
};
