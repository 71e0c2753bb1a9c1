/* exec/pool.h: the workers that one job has for itself, and how a block goes through them.
 *
 * Each is asked some records ahead. Which worker is asked, and when, shows in nothing: a record is
 * bad when two processes failed at it, which ended, hung, or passed it over and answered a later
 * one. Records behind one at which a process failed are asked again.
 *
 * Behind the last records of a block a worker is asked the canary, a record that was answered
 * before: its answer shows that an answer before it is missing, which otherwise only the deadline
 * would. Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/schema.h"

#define LEAT_EXEC_PROCESSES_MAX 64

/* Of the config; immutable. */
struct leat_exec_rules {
    struct leat_helper_how how;
    struct leat_exec_schema schema;
    uint32_t n_processes;  /* of a stream */
    uint32_t n_ahead;      /* records that one is asked, the one it is at included */
    bool drops;            /* answers may leave records out */
    uint32_t max_restarts; /* in a row without an answer */
    uint64_t deadline_ns, warm_up_ns, idle_ns;
};

struct leat_exec_pool;

int leat_exec_pool_new(const struct leat_exec_rules *rules, struct leat_exec_pool **ret_crew,
                       struct leat_error *err);
void leat_exec_pool_free(struct leat_exec_pool *pool);

/* All rows of the block. An error is of the environment, or of a helper that is no such: it cannot
 * be started, ended max_restarts times without an answer, or answers without tags. */
int leat_exec_pool_map(struct leat_exec_pool *pool, struct leat_map *map, struct leat_error *err);

/* Ends those that have been idle for too long, or all; kindly, so that it may wait a moment. */
void leat_exec_pool_rest(struct leat_exec_pool *pool, bool for_good);
