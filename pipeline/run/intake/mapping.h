/* mapping.h: MAP jobs of a run: they make blocks of what the queues hold, and materialize blocks
 * that were passed over on the way to the first step. Owner: the run's thread. */
#pragma once

#include "pipeline/run/intake/intake.h"

struct leat_run_mapping {
    struct leat_intake *intake;
    struct leat_job_pool *jobs;
    struct leat_note_list notes; /* of stages */
    bool is_short;               /* In this turn less was mapped for want of memory. */
};

void leat_run_mapping_init(struct leat_run_mapping *mapping, struct leat_intake *intake,
                           struct leat_job_pool *jobs);
void leat_run_mapping_deinit(struct leat_run_mapping *mapping);
/* A turn begins, in which jobs are asked for until there are no more. */
void leat_run_mapping_start_turn(struct leat_run_mapping *mapping);

/* The next job: 1; 0: there is none now; -errno: the run fails. */
int leat_run_mapping_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err);
/* The same for rows of a count-only block that are wanted for the first batches of the queue. */
int leat_run_mapping_materialize_job(struct leat_run_mapping *mapping,
                                     struct leat_batch_refs *first, struct leat_job **ret_job,
                                     struct leat_error *err);
/* Tells any MAP job of the run: seed and clock, cache and opener. */
void leat_run_mapping_tell_job(const struct leat_run_mapping *mapping, struct leat_map_job *job);

/* A job has stages left: it waits in its entry. */
void leat_run_mapping_park(struct leat_run_mapping *mapping, struct leat_job *job);
/* Takes a job back. 0, or -errno: the run fails. */
int leat_run_mapping_end_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err);
/* Takes back the memory of any MAP job, its notes, and what it says of the cache; entry NULL: none.
 */
void leat_run_mapping_take_back(struct leat_run_mapping *mapping, struct leat_queue_entry *entry,
                                struct leat_job *job);
/* Gives up the job that is parked in the entry, if there is one. */
void leat_run_mapping_forget(struct leat_run_mapping *mapping, struct leat_queue_entry *entry);
