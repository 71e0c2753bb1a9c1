#include "pipeline/work/piece_index.h"

#include <errno.h>
#include <stdlib.h>

int leat_piece_index_read(struct leat_piece_index *index, const struct leat_plan *plan,
                          const struct leat_opener *opener, const struct leat_cache_span *span,
                          struct leat_error *err) {
    const struct leat_cutter *cutter = &leat_plan_source_of(plan, span->file)->cutter;
    struct leat_piece piece = {.buffer = &index->buffer, .span = *span};
    size_t n = span->n_records;
    int r;

    *index = (struct leat_piece_index){.starts = calloc(n, sizeof(uint32_t)),
                                       .ends = calloc(n, sizeof(uint32_t))};
    if (!index->starts || !index->ends)
        return leat_error_oom(err);
    r = leat_scan_read(plan, opener, 0, NULL, &piece, err);
    if (r == 0 && leat_cutter_index(cutter, index->buffer.data, (size_t)span->n_bytes,
                                    index->starts, index->ends, n) != n)
        r = leat_error_set(err, -ESTALE, "%s: the file has changed since it was opened",
                           plan->source->files.paths[span->file]);
    return r;
}

void leat_piece_index_deinit(struct leat_piece_index *index) {
    free(index->buffer.data);
    free(index->starts);
    free(index->ends);
}
