/* job.h: a job of any kind, as the run and the workers know it. It has all it needs, and nothing
 * else touches that while it is out. Each kind has a header of its own. */
#pragma once

#include "pipeline/work/cache_job.h"
#include "pipeline/work/collate.h"
#include "pipeline/work/decode.h"
#include "pipeline/work/job_kind.h"
#include "pipeline/work/map.h"
#include "pipeline/work/quarantine.h"

/* The IDLE job: workspaces give up what is costly to hold. */
struct leat_idle_job {
    const struct leat_plan *plan;
    struct leat_workspace *workspaces; /* a list */
    bool is_final;                     /* The run has ended. */
};

struct leat_job {
    enum leat_job_kind kind;
    struct leat_job *next;          /* in the pool */
    struct leat_job_pool *pool;     /* the run's */
    uint32_t lane;                  /* of the run */
    struct leat_queue_entry *entry; /* MAP: of the block queue */
    struct leat_error error;
    uint64_t n_bytes, start_ns, busy_ns;
    struct leat_job_usage usage; /* 0 if the driver does not measure */
    uint32_t thread;             /* that executed it, for a trace */
    uint64_t (*now_ns)(void);
    union {
        struct leat_scan_job scan;
        struct leat_decode_job decode;
        struct leat_map_job map;
        struct leat_collate_job collate;
        struct leat_quarantine_job quarantine;
        struct leat_cache_job cache;
        struct leat_idle_job idle;
    };
};
