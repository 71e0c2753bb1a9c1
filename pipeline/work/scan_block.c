/* scan_block.c: pieces that end with blocks. See scan.h.
 *
 * Where blocks are read in random order, a cache has frames of these, so that no other block is
 * loaded with one: no piece goes on behind the end of a block. About as much is read as it has.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/work/scan.h"

#define MIN_BYTES   4096U /* of text that is read at a time */
#define MIN_RECORDS 64U   /* of a frame */

static const struct leat_cutter *cutter_of(const struct leat_scan *scan) {
    return &leat_plan_source_of(scan->plan, scan->file)->cutter;
}

/* Frames of small blocks have several of them, unless these are of other lanes, or the frames are
 * of an index, which has nothing to load. */
uint64_t leat_scan_room_in_block(const struct leat_scan *scan) {
    const struct leat_block_order *blocks = &scan->plan->blocks;
    uint64_t n = blocks->block_size;

    if (n == 0 || scan->counts || scan->route.table)
        return UINT64_MAX;
    if (blocks->n_lanes == 0 && scan->plan->cache_path && n < MIN_RECORDS)
        n *= (MIN_RECORDS + n - 1) / n;
    return n - scan->n_file_records % n;
}

size_t leat_scan_bytes_to_read(const struct leat_scan *scan, size_t limit) {
    uint64_t n_records = scan->n_file_records, n_bytes = MIN_BYTES;

    if (leat_scan_room_in_block(scan) == UINT64_MAX)
        return limit;
    if (n_records > 0)
        n_bytes =
            scan->piece_offset / n_records * leat_scan_room_in_block(scan) / 4 * 5 + MIN_BYTES;
    return n_bytes < limit ? (size_t)n_bytes : limit;
}

int leat_scan_end_at_block(const struct leat_scan *scan, const struct leat_buffer *buffer,
                           struct leat_cut *cut, bool *at_end, struct leat_error *err) {
    uint64_t room = leat_scan_room_in_block(scan);
    uint32_t *starts;

    if (cut->n_records <= room)
        return 0;
    starts = reallocarray(NULL, cut->n_records, 2 * sizeof(*starts));
    if (!starts)
        return leat_error_oom(err);
    (void)leat_cutter_index(cutter_of(scan), buffer->data, cut->n_bytes, starts,
                            starts + cut->n_records, cut->n_records);
    *cut = (struct leat_cut){.n_bytes = starts[room], .n_records = room};
    cut->n_lines = leat_cutter_lines(cutter_of(scan), buffer->data, cut->n_bytes, room);
    *at_end = false;
    free(starts);
    return 0;
}

/* ---- pieces that are read again ---- */

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
