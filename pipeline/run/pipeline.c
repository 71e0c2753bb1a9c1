#include "pipeline/run/pipeline.h"

#include "pipeline/run/intake/fast_forward.h"
#include "pipeline/run/job_pool.h"
#include "pipeline/run/run.h"
#include "pipeline/work/job.h"
#include "pipeline/work/skip_records.h"

static int load_skips(struct leat_plan **plan, const struct leat_opener *opener,
                      struct leat_error *err) {
    int r = leat_error_agree(err, leat_skip_records_load(*plan, opener, err));

    if (r < 0) {
        leat_error_prefix(err, "streams.%s", (*plan)->spec->name);
        *plan = leat_plan_unref(*plan);
    }
    return r;
}

int leat_pipeline_open(const struct leat_spec *spec, const struct leat_opener *opener,
                       struct leat_plan **ret_plan, struct leat_error *err) {
    int r = leat_plan_new(spec, opener, true, ret_plan, err);

    return r < 0 ? r : load_skips(ret_plan, opener, err);
}

int leat_pipeline_open_rows(const struct leat_spec *spec, const struct leat_opener *opener,
                            struct leat_plan **ret_plan, struct leat_error *err) {
    int r = leat_plan_new(spec, opener, false, ret_plan, err);

    return r < 0 ? r : load_skips(ret_plan, opener, err);
}

int leat_pipeline_step(struct leat_run *run) {
    struct leat_job *job;
    int r = leat_run_next_job(run, &job);

    if (r == LEAT_RUN_JOB) {
        leat_job_start(job);
        leat_job_execute(job);
        leat_run_complete(run, job);
    }
    return r;
}

void leat_pipeline_stop(struct leat_run *run) {
    leat_run_cancel(run);
    while (leat_pipeline_step(run) == LEAT_RUN_JOB) {
    }
}

/* ---- executing jobs ---- */

enum leat_job_kind leat_job_kind(const struct leat_job *job) {
    return job->kind;
}

void leat_job_set_thread(struct leat_job *job, uint32_t thread) {
    job->thread = thread;
}

void leat_job_set_usage(struct leat_job *job, const struct leat_job_usage *usage) {
    job->usage = *usage;
}

void leat_job_start(struct leat_job *job) {
    if (job->kind == LEAT_JOB_MAP)
        leat_job_pool_start_map(job->pool, job);
}

static int execute_map(struct leat_map_job *job, struct leat_error *err) {
    int r;

    if (!job->workspace)
        return leat_error_oom(err);
    if (job->n_parts > 0)
        return leat_count_only_execute(job, err);
    if (job->gather)
        r = leat_gather_execute(job, err);
    else
        r = leat_map_execute(job, err);
    if (r == 0 && !job->is_partial)
        leat_map_fit(job);
    return r;
}

void leat_job_execute(struct leat_job *job) {
    int r = 0;

    job->start_ns = job->now_ns ? job->now_ns() : 0;
    switch (job->kind) {
    case LEAT_JOB_SCAN:
        r = leat_scan_execute(&job->scan, &job->n_bytes, &job->error);
        break;
    case LEAT_JOB_DECODE:
        r = leat_decode_execute(&job->decode, &job->error);
        break;
    case LEAT_JOB_MAP:
        r = execute_map(&job->map, &job->error);
        break;
    case LEAT_JOB_COLLATE:
        leat_collate_execute(&job->collate);
        break;
    case LEAT_JOB_QUARANTINE:
        r = leat_quarantine_execute(&job->quarantine, &job->error);
        break;
    case LEAT_JOB_CACHE:
        r = leat_cache_execute(&job->cache, &job->error);
        break;
    case LEAT_JOB_IDLE:
        leat_workspace_idle(job->idle.workspaces, job->idle.plan, job->idle.is_final);
        break;
    default:
        break;
    }
    (void)leat_error_agree(&job->error, r);
    job->busy_ns = job->now_ns ? job->now_ns() - job->start_ns : 0;
}
