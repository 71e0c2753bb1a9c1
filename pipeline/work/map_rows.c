/* map_rows.c: the MAP job that makes a block of wanted rows of several blocks in a cache; see
 * map.h. Any thread.
 *
 * All blocks are read, and then their wanted rows are copied; the values of other rows stay as they
 * are stored. A damaged block is made again from the source, and gives the bytes that were stored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/sealed.h"
#include "pipeline/work/map.h"
#include "pipeline/work/quarantine.h"

static uint64_t now(const struct leat_map_job *job) {
    return job->now_ns ? job->now_ns() : 0;
}

static bool has_lengths(const struct leat_plan *plan, const struct leat_block *block,
                        const struct leat_block *known) {
    for (uint32_t i = 0; block->n_rows > 0 && i < plan->n_columns; i++)
        if (plan->is_kept[i] && plan->fields[i].is_list &&
            memcmp(block->columns[i].lengths, known->columns[i].lengths,
                   block->n_rows * sizeof(uint32_t)) != 0)
            return false;
    return true;
}

static int open_block(const struct leat_map_job *job, const struct leat_rows_piece *piece,
                      const uint8_t *data, size_t n_bytes, struct leat_block *opened,
                      struct leat_error *err) {
    struct leat_cache_schema schema = leat_map_schema(job->plan);
    int r;

    *opened = (struct leat_block){.n_refs = 1};
    r = leat_cache_block_decode(&schema, data, n_bytes, piece->load.frame.span.n_records,
                                LEAT_CACHE_PACK_ALL, job->scratch, opened, err);

    if (r == 0 && opened->n_rows != piece->n_block_rows)
        r = leat_error_set(err, -EBADMSG, "the block has %u rows, but its header says %u",
                           opened->n_rows, piece->n_block_rows);
    if (r == 0 && piece->known && !has_lengths(job->plan, opened, piece->known))
        r = leat_error_set(err, -EBADMSG,
                           "the lengths of rows in the block have changed since leat first read "
                           "it");
    return r;
}

static int read_block(struct leat_map_job *job, const struct leat_rows_piece *piece,
                      struct leat_block *opened, struct leat_error *err) {
    struct leat_stage_count *count = &job->counts[LEAT_COUNT_LOAD];
    const uint8_t *data = NULL;
    int r = leat_load_read(job->plan, &piece->load, job->scratch, job->scratch, &data, err);

    if (r == 0)
        r = open_block(job, piece, data, (size_t)piece->load.frame.n_bytes, opened, err);
    count->n_records += r == 0 ? piece->n_wanted : 0;
    count->n_bytes += piece->load.frame.n_stored;
    count->n_errors += r < 0;
    return r;
}

/* The bytes that the block has as it was made again. */
static int store_again(struct leat_map_job *job, const struct leat_rows_piece *piece,
                       struct leat_block *opened, struct leat_error *err) {
    struct leat_cache_bytes bytes = {.data = NULL};
    uint8_t *data = NULL;
    int r = leat_load_encode(job, &bytes, err);

    if (r == 0) {
        data = leat_arena_alloc(job->scratch, bytes.n_bytes);
        r = data ? 0 : leat_error_oom(err);
    }
    if (r == 0) {
        memcpy(data, bytes.data, bytes.n_bytes);
        r = open_block(job, piece, data, bytes.n_bytes, opened, err);
    }
    leat_cache_bytes_deinit(&bytes);
    return r;
}

/* job->load tells of the damage. */
static int make_again(struct leat_map_job *job, const struct leat_rows_piece *piece,
                      struct leat_block *opened, struct leat_error *err) {
    const struct leat_cache_frame *frame = &piece->load.frame;
    struct leat_error fault = LEAT_ERROR_INIT;
    int r;

    job->piece = (struct leat_piece){.span = frame->span, .record = frame->record};
    job->n_done = 0;
    r = leat_map_make_again(job, &fault);
    if (r == 0)
        r = store_again(job, piece, opened, &fault);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    return r < 0 ? leat_map_fail_changed(job, &fault, err) : 0;
}

static int open_piece(struct leat_map_job *job, const struct leat_rows_piece *piece,
                      struct leat_block *opened, struct leat_error *err) {
    struct leat_error damage = LEAT_ERROR_INIT;
    int r = read_block(job, piece, opened, &damage);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == 0)
        return 0;
    job->load = piece->load;
    job->load.damage = damage;
    if (job->plan->set)
        leat_sealed_name_shard(job->plan, piece->load.frame.record, &job->load.damage);
    return make_again(job, piece, opened, err);
}

/* The order has not met the bad records of a block whose rows it only counted. */
static int note_bad(const struct leat_map_job *job, struct leat_rows_piece *piece,
                    const struct leat_block *opened, struct leat_error *err) {
    if (piece->known || opened->n_bad == 0)
        return 0;
    piece->error = malloc(sizeof(*piece->error));
    if (!piece->error)
        return leat_error_oom(err);
    leat_bad_record_error(job->plan, piece->load.frame.span.file, &opened->bad[0], piece->error);
    return 0;
}

/* Elements that the wanted rows of all blocks have in the column. */
static uint64_t count_elements(const struct leat_rows *rows, const struct leat_block *opened,
                               uint32_t column) {
    uint64_t n = 0;

    for (size_t p = 0; p < rows->n_pieces; p++)
        for (size_t i = 0; i < rows->pieces[p].n_wanted; i++)
            n += opened[p].columns[column].lengths[rows->pieces[p].wanted[i]];
    return n;
}

static void copy_list(const struct leat_map_job *job, const struct leat_block *opened,
                      uint32_t index, struct leat_column *to) {
    enum leat_dtype dtype = job->plan->fields[index].dtype;
    size_t size = leat_dtype_size(dtype), row = 0;
    uint32_t at = 0;

    for (size_t p = 0; p < job->rows->n_pieces; p++) {
        const struct leat_rows_piece *piece = &job->rows->pieces[p];
        const struct leat_column *from = &opened[p].columns[index];

        for (size_t i = 0; i < piece->n_wanted; i++, row++) {
            uint32_t wanted = piece->wanted[i];

            to->starts[row] = at;
            to->lengths[row] = from->lengths[wanted];
            leat_cache_copy(from, dtype, from->starts[wanted], from->lengths[wanted],
                            (uint8_t *)to->values + at * size);
            at += from->lengths[wanted];
        }
    }
}

static void copy_scalars(const struct leat_map_job *job, const struct leat_block *opened,
                         uint32_t index, struct leat_column *to) {
    enum leat_dtype dtype = job->plan->fields[index].dtype;
    size_t size = leat_dtype_size(dtype), row = 0;

    for (size_t p = 0; p < job->rows->n_pieces; p++) {
        const struct leat_rows_piece *piece = &job->rows->pieces[p];

        for (size_t i = 0; i < piece->n_wanted; i++, row++)
            leat_cache_copy(&opened[p].columns[index], dtype, piece->wanted[i], 1,
                            (uint8_t *)to->values + row * size);
    }
}

static int make_column(const struct leat_map_job *job, const struct leat_block *opened,
                       uint32_t index, struct leat_error *err) {
    const struct leat_field *field = &job->plan->fields[index];
    struct leat_column *to = &job->block->columns[index];
    struct leat_arena *kept = &job->block->kept;
    size_t n_rows = job->rows->n_rows;
    uint64_t n = field->is_list ? count_elements(job->rows, opened, index) : n_rows;

    if (n > UINT32_MAX)
        return leat_error_set(err, -EOVERFLOW,
                              "the field \"%s\" has %llu elements in one block, which is too many",
                              field->name, (unsigned long long)n);
    to->values = leat_arena_alloc(kept, n * leat_dtype_size(field->dtype));
    if (field->is_list) {
        to->starts = leat_arena_alloc(kept, n_rows * sizeof(*to->starts));
        to->lengths = leat_arena_alloc(kept, n_rows * sizeof(*to->lengths));
    }
    if (!to->values || (field->is_list && (!to->starts || !to->lengths)))
        return leat_error_oom(err);
    if (field->is_list)
        copy_list(job, opened, index, to);
    else
        copy_scalars(job, opened, index, to);
    return 0;
}

/* The numbers of records count from that of the block, which is the first of the first piece. */
static int make_records(const struct leat_map_job *job, const struct leat_block *opened,
                        struct leat_error *err) {
    struct leat_block *block = job->block;
    uint32_t *records = leat_arena_alloc(&block->kept, block->n_rows * sizeof(*records));
    size_t row = 0;

    if (!records)
        return leat_error_oom(err);
    for (size_t p = 0; p < job->rows->n_pieces; p++) {
        const struct leat_rows_piece *piece = &job->rows->pieces[p];
        const uint32_t *own = opened[p].records;
        uint32_t first = (uint32_t)(piece->load.frame.record - block->first_record);

        for (size_t i = 0; i < piece->n_wanted; i++)
            records[row++] = first + (own ? own[piece->wanted[i]] : piece->wanted[i]);
    }
    block->records = records;
    return 0;
}

static int make_block(const struct leat_map_job *job, const struct leat_block *opened,
                      struct leat_error *err) {
    const struct leat_plan *plan = job->plan;
    struct leat_block *block = job->block;
    const struct leat_cache_frame *first = &job->rows->pieces[0].load.frame;
    int r = 0;

    leat_arena_reset(&block->kept);
    block->n_rows = block->n_records = (uint32_t)job->rows->n_rows;
    block->n_columns = plan->n_columns;
    block->columns = leat_arena_alloc(&block->kept, plan->n_columns * sizeof(*block->columns));
    block->bad = NULL;
    block->n_bad = 0;
    if (!block->columns)
        return leat_error_oom(err);
    memset(block->columns, 0, plan->n_columns * sizeof(*block->columns));
    leat_map_set_place(block, &(struct leat_piece){.span = first->span, .record = first->record});
    for (uint32_t i = 0; r == 0 && i < plan->n_columns; i++)
        if (plan->is_kept[i])
            r = make_column(job, opened, i, err);
    return r == 0 ? make_records(job, opened, err) : r;
}

int leat_rows_execute(struct leat_map_job *job, struct leat_error *err) {
    struct leat_stage_count *count = &job->counts[LEAT_COUNT_LOAD];
    struct leat_block *opened =
        leat_arena_alloc(job->scratch, job->rows->n_pieces * sizeof(*opened));
    int r = opened ? 0 : leat_error_oom(err);

    count->start_ns = now(job);
    for (size_t i = 0; r == 0 && i < job->rows->n_pieces; i++) {
        r = open_piece(job, &job->rows->pieces[i], &opened[i], err);
        if (r == 0)
            r = note_bad(job, &job->rows->pieces[i], &opened[i], err);
    }
    if (r == 0)
        r = make_block(job, opened, err);
    count->busy_ns = now(job) - count->start_ns;
    count->is_done = true;
    return r;
}
