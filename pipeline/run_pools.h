/* run_pools.h: what a run uses again and again (jobs, buffers, scratch memory, workspaces, blocks),
 * counted in its account, and how many blocks it may have in line.
 *
 * A run whose account is refused more has fewer blocks in line, down to those without which it
 * cannot go on, and gives back what it does not use at the moment. If not even those can be had,
 * since its order stages hold on to more than was reckoned with, it fails.
 * One thread: the run's.
 */
#pragma once

#include "pipeline/job.h"

struct leat_run;
struct leat_scratch;

struct leat_run_memory {
    struct leat_budget own_budget; /* without limit, for runs that were given no account */
    struct leat_account own_account;
    struct leat_account *account;
    uint64_t workspace_bytes; /* of each, as the stages say */
    uint64_t n_workspaces;
    uint64_t cache_bytes, carry_bytes;               /* counted */
    uint64_t free_buffer_bytes, scratch_total_bytes; /* counted, of this run */
    uint32_t n_starved_ticks; /* it waits for memory that it cannot go on without; 0: it does not */
    uint64_t block_estimate, buffer_estimate, scratch_estimate; /* of the next, from the latest */
};

void leat_run_pools_init(struct leat_run *run);
void leat_run_pools_deinit(struct leat_run *run);

struct leat_job *leat_run_take_job(struct leat_run *run, enum leat_job_kind kind);
void leat_run_give_job(struct leat_run *run, struct leat_job *job);
struct leat_buffer *leat_run_take_buffer(struct leat_run *run);
void leat_run_give_buffer(struct leat_run *run, struct leat_buffer *buffer);

/* Right before and after a MAP job: its workspace and scratch memory. */
void leat_run_start_map(struct leat_run *run, struct leat_job *job);
void leat_run_end_map(struct leat_run *run, struct leat_job *job);
/* After a SCAN job: its buffers may have grown. */
void leat_run_count_scan(struct leat_run *run, struct leat_scan_job *scan);
/* After each job. */
void leat_run_count_cache(struct leat_run *run);

/* At each tick: whether it waits for memory, and is to try again. */
bool leat_run_is_starved(struct leat_run *run);
/* How many of n_wanted more blocks may come in line. */
size_t leat_run_room(struct leat_run *run, size_t n_wanted);
/* Whether one more MAP job may have a workspace. */
bool leat_run_may_map(const struct leat_run *run);
