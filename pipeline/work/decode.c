#include "pipeline/work/decode.h"

#include <stdlib.h>

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

/* ---- units ---- */

int leat_unit_compare(struct leat_unit_key a, struct leat_unit_key b) {
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    return (a.range > b.range) - (a.range < b.range);
}

void leat_unit_insert(struct leat_unit **list, struct leat_unit *unit) {
    while (*list && leat_unit_compare((*list)->key, unit->key) < 0)
        list = &(*list)->next;
    unit->next = *list;
    *list = unit;
}

struct leat_unit *leat_unit_free(struct leat_unit *unit) {
    if (unit)
        leat_input_close(unit->input);
    free(unit);
    return NULL;
}

void leat_unit_free_all(struct leat_unit **list) {
    while (*list) {
        struct leat_unit *unit = *list;

        *list = unit->next;
        leat_unit_free(unit);
    }
}
