/* exec/crew.h: the helpers that one job has for itself, and how a block goes through them.
 *
 * Each is asked some records ahead; an answer repeats the tag of its record, so that nothing else
 * is ever taken for it. Which helper is asked, and when, shows in nothing:
 * - A record is bad when two helpers in a row failed at it (ended, hung, or passed it over and
 *   answered a later one). Records that were asked beyond one at which a helper failed are asked
 *   again.
 * - An answer counts when nothing more can come of its record: the helper answered a later one, or
 *   ended. So each block ends with a probe: a record that was answered before is asked once more,
 *   for the place of its answer only. One that is answered twice is bad.
 * - A helper that is started after a failure is first asked the probe: if it fails at that, it is
 *   no record's fault.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/helper.h"
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

struct leat_exec_crew;

int leat_exec_crew_new(const struct leat_exec_rules *rules, struct leat_exec_crew **ret_crew,
                       struct leat_error *err);
void leat_exec_crew_free(struct leat_exec_crew *crew);

/* All rows of the block. An error is of the environment, or of a helper that is no such: it cannot
 * be started, ended max_restarts times without an answer, or answers without tags. */
int leat_exec_crew_map(struct leat_exec_crew *crew, struct leat_map *map, struct leat_error *err);

/* Ends those that have been idle for too long, or all; kindly, so that it may wait a moment. */
void leat_exec_crew_rest(struct leat_exec_crew *crew, bool for_good);
