#include "pipeline/work/decode.h"

/* Errors are ignored here: the scan that reads the file reports them. */
static void prepare(const struct leat_decode_job *job, const struct leat_plan_source *source,
                    const char *path) {
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct leat_input *input;

    if (leat_plan_open_input(job->plan, source, job->opener, path, &input, &ignored) < 0)
        return;
    if (leat_input_prepare(input, job->unit->key.range, job->max_bytes))
        job->unit->input = input;
    else
        leat_input_close(input);
}

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err) {
    const char *path = job->plan->source->files.paths[job->unit->key.file];
    const struct leat_plan_source *source = leat_plan_source_of(job->plan, job->unit->key.file);
    int r;

    if (source->ops->open_records) {
        prepare(job, source, path);
        return 0;
    }
    r = leat_input_open_ahead(job->opener, path, &job->plan->limits, job->unit->key.range,
                              job->max_bytes, &job->unit->input);

    return r < 0 ? leat_error_oom(err) : 0;
}
