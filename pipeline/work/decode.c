/* decode.c: the DECODE job, and lists of what such jobs made. See input.h. */
#include <stdlib.h>

#include "pipeline/work/job.h"

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err) {
    const char *path = job->plan->source->files.paths[job->unit->key.file];
    int r;

    if (leat_plan_source_of(job->plan, job->unit->key.file)->ops->look_into)
        return 0; /* what is seen of it is not the bytes that it holds */
    r = leat_input_open_ahead(job->opener, path, &job->plan->limits, job->unit->key.range,
                              job->max_bytes, &job->unit->input);

    return r < 0 ? leat_error_oom(err) : 0;
}

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
