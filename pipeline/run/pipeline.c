#include "pipeline/run/pipeline.h"

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
