/* exec/pool.h: the worker processes of one job, and how a block goes through them.
 *
 * Each worker has several records pending; an answer repeats the tag of its record, so that it is
 * never taken for another record's. Batches and bad records depend neither on the number of workers
 * nor on timing:
 * - A record is bad when two processes failed at it: ended, hung, or answered a later record. The
 *   records behind it are asked again.
 * - A record that is answered twice is bad. So each block ends with the canary, a record that was
 *   answered before: its answer shows that nothing more follows what was answered before it.
 * - A process that is started after a failure is asked the canary first: if it fails at that, no
 *   record is to blame.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/schema.h"

#define LEAT_EXEC_PROCESSES_MAX 64

/* From the config; immutable. */
struct leat_exec_rules {
    struct leat_helper_how how;
    struct leat_exec_schema schema;
    uint32_t n_processes;  /* of a stream */
    uint32_t n_pending;    /* records that one process is asked at most */
    bool drops;            /* answers may leave records out */
    uint32_t max_restarts; /* in a row without an answer */
    uint64_t deadline_ns, warm_up_ns, idle_ns;
};

/* The workspace of the stage. */
struct leat_exec_pool;

int leat_exec_pool_new(const struct leat_exec_rules *rules, struct leat_exec_pool **ret_pool,
                       struct leat_error *err);
void leat_exec_pool_free(void *workspace);
/* Ends the processes if they were idle for too long, or is_final. It waits for them for END_MS. */
void leat_exec_pool_idle(void *workspace, bool is_final);

/* Fills the columns of all rows of the block. It fails if a program cannot be started, fails
 * max_restarts times without an answer, or answers without tags. */
int leat_exec_pool_map(struct leat_exec_pool *pool, struct leat_map *map, struct leat_error *err);
