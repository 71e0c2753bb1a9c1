/* mapping.h: MAP jobs of a run: they make blocks of the entries of the block queues, and
 * materialize count-only blocks (fast_forward.h). Owner: the run's thread. */
#pragma once

#include "pipeline/run/intake/intake.h"

struct leat_run_mapping {
    struct leat_intake *intake;
    struct leat_job_pool *jobs;
    struct leat_note_list notes; /* lines of stages */
    bool is_short;               /* In this turn less was mapped for want of memory, */
    bool lacks_for_batch;        /* and this was a block that a batch needs. */
};

void leat_run_mapping_init(struct leat_run_mapping *mapping, struct leat_intake *intake,
                           struct leat_job_pool *jobs);
void leat_run_mapping_deinit(struct leat_run_mapping *mapping);

/* The next job of the lane: 1; 0: none is due; -errno: the run fails. */
int leat_run_mapping_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err);
/* The same for a count-only block; found NULL: none is due. */
int leat_run_mapping_materialize_job(struct leat_run_mapping *mapping,
                                     struct leat_count_only *found, struct leat_job **ret_job,
                                     struct leat_error *err);
/* Sets seed, clock, cache schema and opener of any MAP job. */
void leat_run_mapping_tell_job(const struct leat_run_mapping *mapping, struct leat_map_job *job);

/* Keeps a job that has stages left in its entry. */
void leat_run_mapping_park(struct leat_run_mapping *mapping, struct leat_job *job);
/* Takes a job back. 0; -errno: the run fails. */
int leat_run_mapping_end_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err);
/* Takes back memory, notes and cache item of any MAP job; entry NULL: it has none. */
void leat_run_mapping_take_back(struct leat_run_mapping *mapping, struct leat_queue_entry *entry,
                                struct leat_job *job);
/* Drops the job that is parked in the entry, if there is one. */
void leat_run_mapping_forget(struct leat_run_mapping *mapping, struct leat_queue_entry *entry);
