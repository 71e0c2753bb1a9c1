/* scan_count.c: the scanner counts the records of files. See scan.h. */
#include <stdlib.h>

#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

void leat_scan_count(struct leat_scan *scan, struct leat_span_table *table) {
    scan->counts = table;
}

static int count_all(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    int r = 0;

    while (r == 0 && !job->has_ended) {
        job->is_waiting = false;
        r = leat_scan_execute(job, n_bytes, err);
    }
    return r;
}

int leat_scan_count_files(const struct leat_plan *plan, const struct leat_opener *opener,
                          size_t first_file, size_t end_file, struct leat_span_table *table,
                          uint64_t *ret_n_bytes, struct leat_error *err) {
    struct leat_buffer buffer = {.data = NULL};
    struct leat_scan scan = {.plan = plan,
                             .opener = opener,
                             .line = 1,
                             .file = first_file,
                             .end_file = end_file,
                             .counts = table};
    struct leat_scan_job job = {
        .scan = &scan, .max_bytes = SIZE_MAX, .n_pieces = 1, .buffers = {&buffer}};
    int r;

    *ret_n_bytes = 0;
    r = count_all(&job, ret_n_bytes, err);
    leat_scan_stop(&scan);
    free(buffer.data);
    return r;
}
