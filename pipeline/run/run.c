/* run.c: a run mediates between its components, none of which knows the run. See run.h.
 *
 *     intake      reads the source: SCAN, DECODE and CACHE jobs fill the block queues of the lanes
 *     mapping     makes blocks by MAP jobs
 *     ordering    pushes rows of the block queues (feed) through the order, in the order of the
 *                 data; batches of references come out of it and wait in a queue
 *     fetch       fetches rows of evicted blocks by MAP jobs; store knows the evicted blocks
 *     own         plans which rows of count-only blocks are made, where other runs have other ranks
 *     delivery    puts batches into slots by COLLATE jobs, and hands them out
 *     horizon     how far the run works ahead of its trainers
 *     jobs        the pool of jobs, their scratch memory and workspaces
 */
#include "pipeline/run/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "pipeline/memory/budget.h"
#include "pipeline/run/delivery.h"
#include "pipeline/run/profile/tracing.h"
#include "pipeline/work/memory_plan.h"

struct leat_run {
    struct leat_plan *plan;
    struct leat_run_options options;
    struct leat_knobs knobs;
    struct leat_budget own_budget; /* without limit, for a run that is given no account */
    struct leat_account own_account, *account;

    struct leat_job_pool jobs;
    struct leat_row_store store;
    struct leat_intake intake;
    struct leat_run_mapping mapping;
    struct leat_row_feed feed;
    struct leat_horizon horizon;
    struct leat_row_fetch fetch;
    struct leat_own_rows own;
    struct leat_ordering ordering;
    struct leat_run_delivery delivery;
    struct leat_profile profile;
    struct leat_run_tracing tracing;

    uint64_t order_bytes;    /* counted in the account */
    struct leat_error fault; /* where components report a failure; code 0 in between */
    struct leat_error error; /* the first failure */
    bool has_failed, is_cancelled;
    bool has_ended; /* The last output was taken. */
};

static void init_account(struct leat_run *run) {
    run->account = run->options.account;
    if (run->account)
        return;
    leat_budget_init(&run->own_budget, UINT64_MAX);
    (void)leat_account_open(&run->own_account, &run->own_budget, 0);
    run->account = &run->own_account;
}

static void init_knobs(struct leat_run *run) {
    const struct leat_stream_options *options = &run->plan->options;
    uint64_t n_jobs = (uint64_t)options->jobs_in_flight;

    run->knobs.of[LEAT_KNOB_BLOCK_BYTES] = (uint64_t)options->block_bytes;
    run->knobs.of[LEAT_KNOB_JOBS] = n_jobs ? n_jobs : run->options.max_map_jobs;
    run->knobs.of[LEAT_KNOB_COLLATED] = leat_collate_max(run->plan);
    run->knobs.of[LEAT_KNOB_AHEAD] =
        run->plan->has_prefetch ? run->horizon.n_next : leat_knob_max(LEAT_KNOB_AHEAD);
    leat_knobs_clamp(&run->knobs);
}

static int init(struct leat_run *run, struct leat_plan *plan,
                const struct leat_run_options *options, struct leat_error *err) {
    uint64_t seed = options->has_seed ? options->seed : (uint64_t)plan->options.seed;
    int r, r_ordering;

    run->plan = leat_plan_ref(plan);
    run->options = *options;
    if (options->only_builds)
        run->options.n_epochs = 1;
    init_account(run);
    leat_horizon_init(&run->horizon, plan, options);
    init_knobs(run);
    leat_job_pool_init(&run->jobs, plan, run->account, options, run->knobs.of[LEAT_KNOB_JOBS]);
    leat_run_mapping_init(&run->mapping, &run->intake, &run->jobs);
    r = leat_intake_init(&run->intake, plan, &run->options, &run->knobs, seed, run->account,
                         &run->jobs, &run->store, err);
    leat_row_feed_init(&run->feed, &run->intake, &run->mapping);
    leat_row_fetch_init(&run->fetch, &run->store, &run->ordering.pass.order.batcher, run->account);
    leat_own_rows_init(&run->own, &run->intake.forward, &run->fetch,
                       &run->ordering.pass.order.batcher, run->account);
    r_ordering = leat_ordering_init(&run->ordering, &run->options, &run->knobs, &run->horizon,
                                    &run->feed, &run->fetch, &run->own, err);
    r = r < 0 ? r : r_ordering;
    leat_run_delivery_init(&run->delivery, &run->ordering, &run->jobs);
    if (r == 0)
        r = leat_profile_init(&run->profile, plan, plan->cache_path || options->cache_folder,
                              options->now_ns, err);
    return r;
}

int leat_run_new(struct leat_plan *plan, const struct leat_run_options *options,
                 struct leat_run **ret_run, struct leat_error *err) {
    struct leat_run *run;
    int r;

    assert(plan->skips.has_records); /* leat_pipeline_open() */
    r = leat_run_options_check(options, plan, err);
    if (r < 0)
        return r;
    run = calloc(1, sizeof(*run));
    if (!run)
        return leat_error_oom(err);
    r = init(run, plan, options, err);
    if (r < 0) {
        leat_run_free(run);
        return leat_error_agree(err, r);
    }
    *ret_run = run;
    return 0;
}

struct leat_run *leat_run_free(struct leat_run *run) {
    if (!run)
        return NULL;
    assert(run->jobs.n_out == 0);
    leat_own_rows_deinit(&run->own);
    leat_row_feed_deinit(&run->feed);
    leat_ordering_deinit(&run->ordering);
    leat_row_fetch_deinit(&run->fetch);
    leat_run_mapping_deinit(&run->mapping);
    leat_intake_deinit(&run->intake);
    leat_job_pool_deinit(&run->jobs);
    leat_run_delivery_deinit(&run->delivery);
    leat_profile_deinit(&run->profile);
    leat_run_set_trace(run, NULL);
    leat_account_change(run->account, LEAT_MEMORY_ORDER, run->order_bytes, 0);
    leat_account_close(&run->own_account);
    leat_plan_unref(run->plan);
    free(run);
    return NULL;
}

void leat_run_end(struct leat_run *take_run, struct leat_leftovers *ret_leftovers) {
    *ret_leftovers = (struct leat_leftovers){.first = NULL};
    take_run->jobs.leftovers = ret_leftovers;
    for (size_t i = 0; i < take_run->intake.n_lanes; i++)
        take_run->intake.lanes[i].memory.blocks.leftovers = ret_leftovers;
    leat_run_free(take_run);
}

void leat_run_cancel(struct leat_run *run) {
    run->is_cancelled = true;
}

void leat_run_set_trace(struct leat_run *run, struct leat_trace *trace) {
    leat_run_tracing_start(&run->tracing, trace, run->plan, run->options.now_ns);
}

/* Only the first failure is kept. */
static void fail(struct leat_run *run, const struct leat_error *err) {
    if (run->has_failed)
        return;
    run->has_failed = true;
    run->error = *err;
    leat_error_prefix(&run->error, "streams.%s", run->plan->spec->name);
}

static void fail_by_fault(struct leat_run *run) {
    fail(run, &run->fault);
    run->fault = LEAT_ERROR_INIT;
}

/* Drops all batches of the queue, as the first of them cannot be handed out. */
static void abandon_queue(struct leat_run *run) {
    leat_own_rows_abandon(&run->own);
    leat_row_fetch_abandon(&run->fetch, leat_ordering_first(&run->ordering));
}

const struct leat_error *leat_run_error(const struct leat_run *run) {
    return run->has_failed && !leat_run_delivery_has_more(&run->delivery) ? &run->error : NULL;
}

static struct leat_demand demand_of(const struct leat_run *run) {
    return leat_ordering_demand(&run->ordering, run->has_failed, run->is_cancelled);
}

static void consume(struct leat_run *run) {
    uint64_t n_before = run->ordering.pass.n_rows, start_ns = leat_profile_now(&run->profile);
    uint64_t n_rows, busy_ns;

    if (!run->has_failed &&
        leat_ordering_consume(&run->ordering, run->is_cancelled, &run->fault) < 0)
        fail_by_fault(run);
    n_rows = run->ordering.pass.n_rows - n_before;
    if (n_rows == 0)
        return;
    busy_ns = leat_profile_now(&run->profile) - start_ns;
    leat_profile_add_order(&run->profile, n_rows, busy_ns);
    leat_run_tracing_add_order(&run->tracing, n_rows, start_ns, busy_ns);
}

struct leat_batch_refs *leat_run_first_waiting(struct leat_run *run) {
    consume(run);
    return leat_ordering_first(&run->ordering);
}

/* Counts the memory of references, of what is known of blocks, and of bad records. */
static void count_order(struct leat_run *run) {
    uint64_t bytes = leat_ordering_bytes(&run->ordering) + run->delivery.n_ref_bytes +
                     leat_row_store_bytes(&run->store) + leat_row_fetch_bytes(&run->fetch) +
                     leat_own_rows_bytes(&run->own) + leat_intake_order_bytes(&run->intake);

    leat_account_change(run->account, LEAT_MEMORY_ORDER, run->order_bytes, bytes);
    run->order_bytes = bytes;
}

size_t leat_run_slot_need(const struct leat_run *run) {
    return leat_run_delivery_slot_need(&run->delivery);
}

bool leat_run_lacks_slot(const struct leat_run *run) {
    return run->delivery.outputs.n_slots == 0 && leat_run_delivery_lacks_slot(&run->delivery);
}

int leat_run_give_slot(struct leat_run *run, const struct leat_slot *slot) {
    return leat_run_slot_need(run) > slot->size_bytes
               ? -EMSGSIZE
               : leat_outputs_give_slot(&run->delivery.outputs, slot);
}

bool leat_run_take_slot_back(struct leat_run *run, struct leat_slot *ret_slot) {
    return leat_outputs_take_slot(&run->delivery.outputs, ret_slot);
}

static void trace_counts(struct leat_run *run) {
    if (run->tracing.trace)
        leat_run_tracing_add_counts(&run->tracing, run->delivery.outputs.n_slots,
                                    run->account->used_bytes, leat_intake_n_blocks(&run->intake));
}

bool leat_run_take_output(struct leat_run *run, struct leat_output *ret_output) {
    struct leat_output_entry entry;

    if (!leat_outputs_take(&run->delivery.outputs, &entry))
        return false;
    *ret_output = entry.output;
    run->has_ended |= entry.output.is_last;
    if (entry.output.kind != LEAT_OUTPUT_BATCH)
        return true;
    leat_run_tracing_add_output(&run->tracing, &entry);
    trace_counts(run);
    if (!run->options.is_told)
        leat_run_reach(run, entry.output.epoch);
    return true;
}

/* ---- jobs: 1, or 0: there is none ---- */

static int fail_fetch(struct leat_run *run) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_oom(&err);
    fail(run, &err);
    leat_row_fetch_abandon_absent(&run->fetch);
    return 0;
}

static struct leat_row_fetch_room fetch_room(const struct leat_run *run) {
    return (struct leat_row_fetch_room){
        .blocks = &run->intake.lanes->memory.blocks,
        .reserve_bytes =
            leat_lane_memory_needed(&run->intake.lanes->memory, LEAT_MEMORY_MIN_BLOCKS) +
            run->jobs.scratch_estimate,
        .nothing_is_made = run->delivery.n_jobs_out == 0,
    };
}

/* Fetches rows of evicted blocks for the next batches. */
static int fetch_job(struct leat_run *run, struct leat_job **ret_job) {
    const struct leat_run_cache *cache = &run->intake.cache;
    struct leat_row_fetch_room room = fetch_room(run);
    struct leat_job *job;

    if (run->options.only_places || !leat_run_delivery_may_make_first(&run->delivery))
        return 0;
    if (leat_row_fetch_plan(&run->fetch, &room) < 0)
        return fail_fetch(run);
    if (!leat_job_pool_may_map(&run->jobs) ||
        !leat_row_fetch_is_due(&run->fetch, &room, run->knobs.of[LEAT_KNOB_JOBS]) ||
        !leat_job_pool_has_workspace(&run->jobs))
        return 0;
    job = leat_job_pool_take(&run->jobs, LEAT_JOB_MAP, 0);
    if (!job)
        return fail_fetch(run);
    if (leat_row_fetch_start_job(&run->fetch, &run->intake.lanes->memory.blocks,
                                 cache->is_index ? NULL : cache->file, &job->map) < 0) {
        leat_job_pool_give(&run->jobs, job);
        return fail_fetch(run);
    }
    leat_run_mapping_tell_job(&run->mapping, &job->map);
    leat_job_pool_count_map(&run->jobs, job);
    *ret_job = job;
    return 1;
}

/* Materializes count-only blocks. One that could not be ends the run where it is needed. */
static int materialize_job(struct leat_run *run, struct leat_job **ret_job,
                           struct leat_error *err) {
    struct leat_batch_refs *first = leat_ordering_first(&run->ordering);
    const struct leat_error *failure = leat_fast_forward_failure(&run->intake.forward, first);
    struct leat_count_only *next;
    int r;

    if (failure) {
        fail(run, failure);
        abandon_queue(run);
        return 0;
    }
    /* Those that wait for a worker have memory that others could use meanwhile. */
    if (run->jobs.n_maps_out > run->knobs.of[LEAT_KNOB_JOBS])
        return 0;
    next = leat_own_rows_next(&run->own);
    if (!next)
        next = leat_fast_forward_next(&run->intake.forward, first,
                                      leat_ordering_n_ready(&run->ordering));
    r = leat_run_mapping_materialize_job(&run->mapping, next, ret_job, err);
    if (r >= 0)
        return r;
    run->mapping.lacks_for_batch = false;
    fail_by_fault(run);
    if (!leat_fast_forward_has_batch(&run->intake.forward, first))
        abandon_queue(run);
    return 0;
}

static int quarantine_job(struct leat_run *run, struct leat_job **ret_job, struct leat_error *err) {
    struct leat_job *job;

    if (!leat_bad_records_are_due(&run->ordering.bad))
        return 0;
    job = leat_bad_records_are_lost(&run->ordering.bad)
              ? NULL
              : leat_job_pool_take(&run->jobs, LEAT_JOB_QUARANTINE, 0);
    if (!job)
        return leat_error_oom(err);
    leat_bad_records_start_job(&run->ordering.bad, &job->quarantine);
    *ret_job = job;
    return 1;
}

/* Reads and maps; begins with the lane that gives the next row. */
static int intake_job(struct leat_run *run, struct leat_job **ret_job, struct leat_error *err) {
    struct leat_demand demand = demand_of(run);
    size_t n_lanes = run->intake.n_lanes, first = leat_row_feed_next_lane(&run->feed);
    int r = leat_intake_cache_job(&run->intake, &demand, ret_job, err);

    for (size_t i = 0; r == 0 && !demand.is_over && i < n_lanes; i++) {
        struct leat_lane *lane = &run->intake.lanes[(first + i) % n_lanes];

        r = leat_intake_scan_job(&run->intake, lane, &demand, ret_job, err);
        if (r == 0)
            r = leat_intake_decode_job(&run->intake, lane, &demand, ret_job, err);
        if (r == 0)
            r = leat_run_mapping_job(&run->mapping, lane, &demand, ret_job, err);
    }
    return r;
}

/* The job that is nearest to the trainer goes first. */
static bool work_job(struct leat_run *run, struct leat_job **ret_job) {
    int r = leat_run_delivery_job(&run->delivery, ret_job, &run->fault);

    if (r < 0) {
        fail_by_fault(run);
        abandon_queue(run);
        return false;
    }
    if (r == 0)
        r = fetch_job(run, ret_job);
    if (r == 0)
        r = materialize_job(run, ret_job, &run->fault);
    if (r == 0)
        r = quarantine_job(run, ret_job, &run->fault);
    if (r == 0)
        r = intake_job(run, ret_job, &run->fault);
    if (r < 0)
        fail_by_fault(run);
    return r > 0;
}

static int idle_job(struct leat_run *run, bool is_final, struct leat_job **ret_job) {
    struct leat_job *job = leat_job_pool_wants_idle(&run->jobs, is_final)
                               ? leat_job_pool_take(&run->jobs, LEAT_JOB_IDLE, 0)
                               : NULL;

    if (!job)
        return 0;
    leat_job_pool_start_idle(&run->jobs, &job->idle, is_final);
    *ret_job = job;
    return 1;
}

/* Batches that are ordered may still wait for memory, to make their blocks. */
static bool has_ended(const struct leat_run *run) {
    return run->is_cancelled || (!run->delivery.outputs.first && !run->mapping.lacks_for_batch &&
                                 (run->has_failed || run->ordering.pass.is_complete));
}

/* Ends windows of own rows, and begins them. True: there may be more to do. */
static bool advance_window(struct leat_run *run, bool is_short) {
    int r = leat_own_rows_advance(&run->own, leat_ordering_n_ready(&run->ordering), is_short);

    if (r < 0) {
        leat_error_oom(&run->fault);
        fail_by_fault(run);
        abandon_queue(run);
    }
    return r > 0;
}

static int make_job(struct leat_run *run, struct leat_job **ret_job) {
    run->intake.is_short = false;
    run->mapping.is_short = run->mapping.lacks_for_batch = false;
    do { /* again if the turn brought a pass to its end */
        (void)leat_intake_take_end(&run->intake);
        consume(run);
        if (leat_run_delivery_move_ends(&run->delivery, &run->fault) < 0) {
            fail_by_fault(run);
            abandon_queue(run);
        }
        (void)advance_window(run, false);
        count_order(run);
        if (work_job(run, ret_job))
            return LEAT_RUN_JOB;
        /* If nothing else can be done, the next window has the batches that are there. */
    } while (leat_intake_take_end(&run->intake) ||
             (run->jobs.n_out == 0 && advance_window(run, true)));
    if (idle_job(run, false, ret_job))
        return LEAT_RUN_JOB;
    return leat_run_delivery_lacks_slot(&run->delivery) ? LEAT_RUN_NEEDS_SLOT : 0;
}

/* A cancelled run completes a cache of which all blocks are made. */
static int last_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_demand demand = demand_of(run);
    int r = run->jobs.n_out == 0
                ? leat_intake_cache_job(&run->intake, &demand, ret_job, &run->fault)
                : 0;

    if (r < 0)
        fail_by_fault(run);
    return r > 0 ? LEAT_RUN_JOB : 0;
}

static int next_job(struct leat_run *run, struct leat_job **ret_job) {
    int r;

    *ret_job = NULL;
    r = run->is_cancelled ? last_job(run, ret_job) : make_job(run, ret_job);
    if (r != 0)
        return r;
    if (run->jobs.n_out > 0 || !has_ended(run))
        return LEAT_RUN_WAITING;
    return idle_job(run, true, ret_job) ? LEAT_RUN_JOB : LEAT_RUN_ENDED;
}

int leat_run_next_job(struct leat_run *run, struct leat_job **ret_job) {
    int r = next_job(run, ret_job);
    bool is_over = run->is_cancelled || (has_ended(run) && !leat_ordering_first(&run->ordering));

    leat_profile_watch(&run->profile, is_over, leat_run_delivery_is_held(&run->delivery),
                       run->intake.is_short || run->mapping.is_short);
    return r;
}

static void end_fetch(struct leat_run *run, struct leat_job *job) {
    leat_run_mapping_take_back(&run->mapping, NULL, job);
    if (job->error.code && !run->fetch.is_abandoned) {
        fail(run, &job->error);
        leat_row_fetch_abandon_absent(&run->fetch);
    }
    leat_row_fetch_end_job(&run->fetch, &job->map);
}

/* 0, or -errno: the run fails. */
static int end_job(struct leat_run *run, struct leat_job *job, struct leat_error *err) {
    struct leat_lane *lane = &run->intake.lanes[job->lane];
    struct leat_demand demand = demand_of(run);

    switch (job->kind) {
    case LEAT_JOB_SCAN:
        return leat_intake_end_scan_job(&run->intake, lane, &demand, job, err);
    case LEAT_JOB_CACHE:
        return leat_intake_end_cache_job(&run->intake, &demand, job, err);
    case LEAT_JOB_MAP:
        if (!job->map.gather)
            return leat_run_mapping_end_job(&run->mapping, lane, &demand, job, err);
        end_fetch(run, job);
        return 0;
    case LEAT_JOB_DECODE:
        leat_decode_ahead_end_job(&lane->reader.ahead, &job->decode);
        break;
    case LEAT_JOB_COLLATE:
        leat_run_delivery_end_job(&run->delivery, job);
        break;
    case LEAT_JOB_QUARANTINE:
        leat_bad_records_end_job(&run->ordering.bad, &job->quarantine, job->error.code != 0);
        break;
    default:
        leat_job_pool_end_idle(&run->jobs, &job->idle);
        break;
    }
    if (job->error.code)
        *err = job->error;
    return err->code;
}

void leat_run_complete(struct leat_run *run, struct leat_job *take_job) {
    const struct leat_error *failure;

    leat_profile_add_job(&run->profile, take_job);
    leat_run_tracing_add_job(&run->tracing, take_job);
    trace_counts(run);
    if (take_job->kind == LEAT_JOB_MAP && take_job->map.is_partial) {
        leat_run_mapping_park(&run->mapping, take_job);
        return;
    }
    if (end_job(run, take_job, &run->fault) < 0)
        fail_by_fault(run);
    failure = leat_run_cache_failure(&run->intake.cache);
    if (failure)
        fail(run, failure);
    leat_intake_count_cache(&run->intake);
    count_order(run);
    leat_job_pool_give(&run->jobs, take_job);
}

/* 0 is without end. */
static uint64_t later(uint64_t a, uint64_t b) {
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

int leat_run_extend(struct leat_run *run, uint64_t n_epochs, uint64_t n_steps,
                    struct leat_error *err) {
    struct leat_error failure = LEAT_ERROR_INIT;
    struct leat_run_options wanted = run->options;
    int r;

    assert(!run->options.only_builds);
    if (run->has_ended || run->is_cancelled)
        return leat_error_set(err, -EPIPE, "the run has already ended");
    wanted.n_epochs = later(wanted.n_epochs, n_epochs);
    wanted.n_steps = later(wanted.n_steps, n_steps);
    r = leat_run_options_check(&wanted, run->plan, err);
    if (r < 0 || run->has_failed)
        return r;
    run->options = wanted;
    leat_intake_extend(&run->intake, wanted.n_epochs);
    if (leat_ordering_extend(&run->ordering, &run->delivery.outputs, wanted.n_epochs,
                             wanted.n_steps, &failure) < 0)
        fail(run, &failure);
    return 0;
}

void leat_run_reach(struct leat_run *run, uint64_t epoch) {
    leat_horizon_reach(&run->horizon, epoch);
}

void leat_run_set_credit(struct leat_run *run, uint64_t n_batches) {
    run->horizon.n_credit = n_batches;
}

void leat_run_set_knobs(struct leat_run *run, const struct leat_knobs *knobs) {
    uint64_t before_bytes = run->knobs.of[LEAT_KNOB_BLOCK_BYTES], after_bytes;

    run->knobs = *knobs;
    leat_knobs_clamp(&run->knobs);
    after_bytes = run->knobs.of[LEAT_KNOB_BLOCK_BYTES];
    leat_intake_scale(&run->intake, before_bytes, after_bytes);
    leat_job_pool_scale(&run->jobs, before_bytes, after_bytes);
}

void leat_run_get_knobs(const struct leat_run *run, struct leat_knobs *ret_knobs) {
    *ret_knobs = run->knobs;
}

void leat_run_trim(struct leat_run *run) {
    if (!leat_account_should_shrink(run->account))
        return;
    leat_job_pool_trim(&run->jobs);
    leat_intake_trim(&run->intake);
}

bool leat_run_tick(struct leat_run *run) {
    struct leat_demand demand = demand_of(run);

    leat_run_trim(run);
    run->jobs.idle_is_due = true;
    return leat_intake_tick(&run->intake, &demand, run->mapping.lacks_for_batch) ||
           leat_job_pool_wants_idle(&run->jobs, false);
}

char *leat_run_take_note(struct leat_run *run) {
    return leat_note_list_take(&run->mapping.notes);
}

char *leat_run_take_change(struct leat_run *run) {
    return leat_note_list_take(&run->intake.changes);
}

char *leat_run_take_replay(struct leat_run *run) {
    return leat_fast_forward_take_replay(&run->intake.forward);
}

const struct leat_cache_file *leat_run_get_cache(const struct leat_run *run) {
    bool is_index = run->intake.cache.is_index && !run->options.only_builds;

    return is_index ? NULL : run->intake.cache.file;
}

/* Each component counts for itself. */
static void add_counts(const struct leat_run *run, struct leat_stream_counts *counts) {
    leat_stream_counts_add(counts, &run->intake.counts);
    leat_stream_counts_add(counts, &run->ordering.bad.counts);
    leat_stream_counts_add(counts, &run->delivery.counts);
    counts->figures.n_jobs = run->jobs.n_out;
    counts->figures.n_blocks = leat_intake_n_blocks(&run->intake);
    leat_profile_get_times(&run->profile, &counts->figures);
}

void leat_run_get_stats(const struct leat_run *run, struct leat_run_stats *ret_stats) {
    const struct leat_run_cache *cache = &run->intake.cache;

    *ret_stats = (struct leat_run_stats){
        .n_made_blocks = run->profile.n_made_blocks,
        .n_made_bytes = run->profile.n_made_bytes,
        .n_stages = run->profile.n_lines,
        .stages = run->profile.lines,
        .n_cache_written_bytes = cache->is_index ? 0 : cache->n_written_bytes,
        .n_cache_notes = cache->n_notes,
        .cache_note = &cache->note,
        .last_bad = &run->ordering.bad.last,
    };
    add_counts(run, &ret_stats->counts);
    for (size_t i = 0; i < LEAT_N_JOB_KINDS; i++)
        ret_stats->jobs[i] = run->profile.jobs[i];
    leat_run_cache_get_progress(cache, &ret_stats->n_cache_done_bytes,
                                &ret_stats->n_cache_total_bytes);
}
