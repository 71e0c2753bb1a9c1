/* run/pools.h: what a run uses again and again (jobs, buffers, scratch memory, workspaces, blocks),
 * counted in its account, and how many blocks it may have in line.
 *
 * A run whose account is refused more has fewer blocks in line, down to those without which it
 * cannot go on, and gives back what it does not use at the moment. If not even those can be had,
 * since its order stages hold on to more than was reckoned with, it fails.
 * One thread: the run's.
 */
#pragma once

#include "pipeline/work/job.h"

struct leat_run;
struct leat_queue_entry;
struct leat_scratch;

struct leat_run_memory {
    struct leat_budget own_budget; /* without limit, for runs that were given no account */
    struct leat_account own_account;
    struct leat_account *account;
    uint64_t workspace_bytes; /* of each, as the stages say */
    uint64_t n_workspaces;
    uint64_t cache_bytes, order_bytes, carry_bytes;  /* counted */
    uint64_t free_buffer_bytes, scratch_total_bytes; /* counted, of this run */
    uint64_t scan_wants;      /* bytes of a buffer for a large record; 0: none */
    uint64_t scan_reserved;   /* counted, for the SCAN job that is out */
    uint64_t map_wants;       /* bytes for a large piece that is next to be mapped; 0: none */
    uint32_t n_starved_ticks; /* it waits for memory that it cannot go on without; 0: it does not */
    uint32_t n_idle_ticks;    /* of those, in which nobody gave back any, the latest */
    bool is_short;            /* of the whole: what it was asked last had less for want of it */
    uint64_t seen_returned;   /* of the budget, at the last of them */
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

/* A MAP job that is not done waits in its entry, without a workspace; takes it back from there;
 * and lets go of it, if it has one. */
void leat_run_park(struct leat_run *run, struct leat_job *job);
struct leat_job *leat_run_unpark(struct leat_run *run, struct leat_queue_entry *entry);
void leat_run_forget_parked(struct leat_run *run, struct leat_queue_entry *entry);
/* After a SCAN job: its buffers may have grown. */
void leat_run_count_scan(struct leat_run *run, struct leat_scan_job *scan);
/* After each job, and after rows went through the order. */
void leat_run_count_cache(struct leat_run *run);
void leat_run_count_order(struct leat_run *run);

/* ---- how much at once (run/room.c) ---- */

/* At each tick: whether it waits for memory, and is to try again. */
bool leat_run_is_starved(struct leat_run *run);
/* How many of n_wanted more blocks may come in line. */
size_t leat_run_room(struct leat_run *run, size_t n_wanted);
/* For a SCAN job: the size that a buffer may have, of which what is beyond a block is counted until
 * the job is back. */
size_t leat_run_reserve_scan(struct leat_run *run);
/* Whether a piece is larger than a block. */
bool leat_run_is_large(const struct leat_run *run, const struct leat_queue_entry *entry);
/* Whether one more MAP job may be out: there is a workspace for it. */
bool leat_run_has_workspace(const struct leat_run *whole);
/* Whether that piece may be mapped now: there is a workspace for it, and for a large one memory:
 * so many bytes more than others take. */
bool leat_run_may_map(struct leat_run *run, const struct leat_queue_entry *entry,
                      uint64_t *ret_bytes);
