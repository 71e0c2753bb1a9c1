/* shared_exec_crew.h: the helpers that one job has for itself, and how a block goes through them.
 *
 * Each is given some records ahead; its answers come in the order of its records, which tells them
 * apart. So which of them takes a record, and when, shows in nothing. When one ends, hangs or talks
 * rubbish, the record that it was at is bad; those that it was given beyond that one are given
 * again.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/shared_exec_schema.h"
#include "pipeline/stages/shared_helper.h"

#define LEAT_EXEC_PROCESSES_MAX 64

/* Of the config; immutable. */
struct leat_exec_rules {
    struct leat_helper_how how;
    struct leat_exec_schema schema;
    uint32_t n_processes;  /* of a stream */
    uint32_t n_ahead;      /* records that one is given before it answers */
    uint32_t max_restarts; /* in a row without an answer */
    uint64_t deadline_ns, idle_ns;
};

struct leat_exec_crew;

int leat_exec_crew_new(const struct leat_exec_rules *rules, struct leat_exec_crew **ret_crew,
                       struct leat_error *err);
void leat_exec_crew_free(struct leat_exec_crew *crew);

/* All rows of the block. An error is of the environment: a program that cannot be started, or that
 * ended max_restarts times without an answer. */
int leat_exec_crew_map(struct leat_exec_crew *crew, struct leat_map *map, struct leat_error *err);

/* Ends those that have been idle for too long, or all; kindly, so that it may wait a moment. */
void leat_exec_crew_rest(struct leat_exec_crew *crew, bool for_good);
