/* decode.c: see decode.h. */
#include "pipeline/work/decode.h"

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err) {
    const char *path = job->plan->source->files.paths[job->unit->key.file];
    int r;

    if (leat_plan_source_of(job->plan, job->unit->key.file)->ops->open_records)
        return 0; /* Its input gives other bytes than the decoder. */
    r = leat_input_open_ahead(job->opener, path, &job->plan->limits, job->unit->key.range,
                              job->max_bytes, &job->unit->input);

    return r < 0 ? leat_error_oom(err) : 0;
}
