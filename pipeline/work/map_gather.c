/* map_gather.c: the MAP job that fetches rows of evicted blocks; see run/row_fetch.h. Any thread.
 *
 * The blocks are loaded one after the other into the same memory, or made again if the cache does
 * not have them. The wanted rows are copied to their targets.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/work/map.h"

static void begin_block(struct leat_block *block) {
    leat_arena_reset(&block->kept);
    block->n_rows = block->n_records = block->n_columns = 0;
    block->columns = NULL;
    block->records = NULL;
    block->bad = NULL;
    block->n_bad = 0;
}

static int fetch(struct leat_map_job *job, const struct leat_gather_piece *piece,
                 struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    int r;

    begin_block(job->block);
    job->n_done = 0;
    job->load = piece->load;
    job->piece =
        (struct leat_piece){.span = piece->load.frame.span, .record = piece->load.frame.record};
    r = job->load.is_there ? leat_map_execute(job, &fault) : leat_map_make_again(job, &fault);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r < 0 || ((!job->load.is_there || job->load.damage.code) && !job->load.is_same))
        return leat_map_fail_changed(job, &fault, err);
    return 0;
}

static bool has_row(const struct leat_map_job *job, const struct leat_block *evicted,
                    uint32_t row) {
    const struct leat_block *block = job->block;

    for (uint32_t i = 0; i < block->n_columns; i++)
        if (job->plan->is_kept[i] && job->plan->fields[i].is_list &&
            block->columns[i].lengths[row] != evicted->columns[i].lengths[row])
            return false;
    return true;
}

static void copy_row(const struct leat_map_job *job, const struct leat_gather_row *row) {
    const struct leat_block *target = job->gather->targets[row->target];

    for (uint32_t i = 0; i < job->plan->n_columns; i++) {
        size_t size = leat_dtype_size(job->plan->fields[i].dtype);
        const struct leat_column *from = &job->block->columns[i], *to = &target->columns[i];

        if (!job->plan->is_kept[i])
            continue;
        if (!job->plan->fields[i].is_list)
            memcpy((uint8_t *)to->values + row->target_row * size,
                   (const uint8_t *)from->values + row->row * size, size);
        else if (from->lengths[row->row] > 0)
            leat_cache_copy(from, job->plan->fields[i].dtype, from->starts[row->row],
                            from->lengths[row->row],
                            (uint8_t *)to->values + to->starts[row->target_row] * size);
    }
}

static int gather(struct leat_map_job *job, const struct leat_gather_piece *piece,
                  struct leat_error *err) {
    const struct leat_gather_row *rows = job->gather->rows + piece->first_row;
    int r = fetch(job, piece, err);

    if (r < 0)
        return r;
    if (job->block->n_rows != piece->block->n_rows ||
        job->block->n_columns != piece->block->n_columns)
        return leat_map_fail_changed(job, NULL, err);
    for (size_t i = 0; i < piece->n_rows; i++) {
        if (!has_row(job, piece->block, rows[i].row))
            return leat_map_fail_changed(job, NULL, err);
        copy_row(job, &rows[i]);
    }
    return 0;
}

int leat_gather_execute(struct leat_map_job *job, struct leat_error *err) {
    struct leat_cache_load damaged = {.fd = -1};
    struct leat_cache_span span = {.file = 0};
    int r = 0;

    for (size_t i = 0; r == 0 && i < job->gather->n_pieces; i++) {
        r = gather(job, &job->gather->pieces[i], err);
        if (job->load.damage.code && !damaged.damage.code) {
            damaged = job->load;
            span = job->piece.span;
        }
    }
    job->load = damaged;
    job->piece = (struct leat_piece){.span = span};
    return r;
}
