/* count_only.c: count-only blocks and their jobs. See fast_forward.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/bad_records.h"
#include "pipeline/run/intake/fast_forward.h"
#include "proto/base/array.h"

/* Few blocks fail, so they have no room for an error. */
static void fail_block(struct leat_count_only *count_only, const struct leat_error *error) {
    count_only->error = malloc(sizeof(*count_only->error));
    if (count_only->error)
        *count_only->error = *error;
    else
        count_only->error = &count_only->owner->no_memory;
}

void leat_count_only_forget(struct leat_block *block) {
    struct leat_count_only *count_only = block->count_only;

    count_only->owner->n_blocks--;
    count_only->owner->n_parted -= leat_count_only_is_parted(count_only);
    if (count_only->made)
        leat_block_unref(count_only->made, 1);
    if (count_only->error != &count_only->owner->no_memory)
        free(count_only->error);
    free(count_only->wanted);
    if (count_only->piece.buffer)
        count_only->owner->n_kept_bytes -= count_only->piece.buffer->counted_bytes;
    leat_lane_memory_give_buffer(count_only->memory, count_only->piece.buffer);
    leat_cache_file_unref(count_only->file);
    free(count_only);
    block->count_only = NULL;
}

/* ---- wanted rows ---- */

/* By which a job finds the row: its row in a cache, or its record in the source. */
static uint32_t number_of(const struct leat_count_only *count_only, uint32_t row) {
    const uint32_t *records = count_only->file ? NULL : count_only->block->records;

    return records ? records[row] : row;
}

int leat_count_only_want_row(struct leat_count_only *count_only, uint32_t row) {

    if (!leat_array_reserve(&count_only->wanted, count_only->n_wanted + 1,
                            &count_only->wanted_capacity))
        return -ENOMEM;
    count_only->wanted[count_only->n_wanted++] = number_of(count_only, row);
    return 0;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* A row that fills up the last round may be wanted twice. */
static void sort_wanted(struct leat_count_only *count_only) {
    uint32_t *wanted = count_only->wanted;
    size_t n = 0;

    qsort(wanted, count_only->n_wanted, sizeof(*wanted), by_number);
    for (size_t i = 0; i < count_only->n_wanted; i++)
        if (n == 0 || wanted[n - 1] != wanted[i])
            wanted[n++] = wanted[i];
    count_only->n_wanted = n;
}

void leat_count_only_turn(struct leat_ref *ref) {
    struct leat_block *block = ref->block;
    const struct leat_count_only *count_only = block->count_only;
    const uint32_t *found;
    uint32_t number;

    if (!count_only || !count_only->made)
        return;
    number = number_of(count_only, ref->row);
    found = bsearch(&number, count_only->wanted, count_only->n_wanted, sizeof(number), by_number);
    if (!found)
        return;
    ref->block = count_only->made;
    ref->row = count_only->made_at + (uint32_t)(found - count_only->wanted);
    if (block->is_shared)
        leat_block_share(ref->block);
    else
        leat_block_ref(ref->block, 1);
    leat_block_unref(block, 1);
}

void leat_count_only_end_window(struct leat_count_only *count_only) {
    if (count_only->is_out)
        return;
    if (count_only->made)
        leat_block_unref(count_only->made, 1);
    free(count_only->wanted);
    count_only->made = NULL;
    count_only->wanted = NULL;
    count_only->n_wanted = count_only->wanted_capacity = 0;
}

/* ---- several blocks in a job ---- */

void leat_count_only_begin_list(struct leat_count_only *first, struct leat_count_only_list *ret) {
    first->next_of_job = NULL;
    *ret = (struct leat_count_only_list){
        .first = first,
        .last = first,
        .n = 1,
        .n_bytes = first->file ? first->frame.n_bytes : first->piece.span.n_bytes,
        .is_full = !leat_count_only_is_parted(first) || first->piece.buffer,
    };
}

bool leat_count_only_join(struct leat_count_only_list *list, struct leat_count_only *next) {
    const struct leat_count_only *last = list->last;
    uint64_t n_bytes = next->file ? next->frame.n_bytes : next->piece.span.n_bytes;

    if (list->is_full || list->n == LEAT_PARTS_MAX || next->piece.buffer ||
        next->lane != last->lane || next->epoch != last->epoch || !next->file != !last->file ||
        list->n_bytes + n_bytes > (uint64_t)next->owner->plan->options.block_bytes)
        return false;
    next->next_of_job = NULL;
    list->last->next_of_job = next;
    list->last = next;
    list->n++;
    list->n_bytes += n_bytes;
    return true;
}

/* ---- jobs ---- */

static void free_parts(struct leat_map_job *job) {
    for (size_t i = 0; i < job->n_parts; i++)
        leat_block_unref(job->parts[i].block, 1);
    for (size_t i = 0; job->rows && i < job->rows->n_pieces; i++)
        free(job->rows->pieces[i].error);
    free(job->parts);
    free(job->rows);
    job->parts = NULL;
    job->rows = NULL;
    job->n_parts = 0;
}

static bool add_part(struct leat_map_job *job, struct leat_count_only *count_only) {
    struct leat_block *block = leat_block_pool_take(&count_only->memory->blocks);

    if (!block)
        return false;
    job->parts[job->n_parts++] =
        (struct leat_map_part){.count_only = count_only, .block = block, .error = LEAT_ERROR_INIT};
    return true;
}

/* The rows of several blocks of a cache come into one block. */
static bool add_rows(struct leat_map_job *job, struct leat_count_only *first, size_t n) {
    struct leat_rows *rows = malloc(sizeof(*rows) + n * sizeof(rows->pieces[0]));

    job->rows = rows;
    if (!rows)
        return false;
    rows->n_pieces = rows->n_rows = 0;
    for (const struct leat_count_only *at = first; at; at = at->next_of_job) {
        rows->pieces[rows->n_pieces++] =
            (struct leat_rows_piece){.load = leat_cache_load(at->file, &at->frame),
                                     .n_block_rows = at->block->n_rows,
                                     .known = at->is_known ? at->block : NULL,
                                     .wanted = at->wanted,
                                     .n_wanted = at->n_wanted};
        rows->n_rows += at->n_wanted;
    }
    return add_part(job, first);
}

static bool add_parts(struct leat_map_job *job, struct leat_count_only *first) {
    size_t n = 0;

    for (const struct leat_count_only *at = first; at; at = at->next_of_job)
        n++;
    job->parts = reallocarray(NULL, n, sizeof(*job->parts));
    if (!job->parts)
        return false;
    if (first->wanted && first->file)
        return add_rows(job, first, n);
    for (struct leat_count_only *at = first; at; at = at->next_of_job)
        if (!add_part(job, at))
            return false;
    return true;
}

int leat_count_only_start_job(struct leat_count_only *first, struct leat_map_job *ret_job) {
    *ret_job = (struct leat_map_job){
        .plan = first->owner->plan,
        .load = {.is_there = false},
        .epoch = first->epoch,
        .stop_after = (int)first->owner->plan->n_map,
    };
    for (struct leat_count_only *at = first; at; at = at->next_of_job)
        if (at->wanted)
            sort_wanted(at);
    if (!add_parts(ret_job, first)) {
        free_parts(ret_job);
        first->error = &first->owner->no_memory;
        return -ENOMEM;
    }
    ret_job->block = ret_job->parts[0].block;
    /* Without a buffer to lend, the job finds memory itself. */
    if (first->wanted && !first->file && !first->piece.buffer)
        ret_job->lent = leat_lane_memory_take_buffer(first->memory);
    for (struct leat_count_only *at = first; at; at = at->next_of_job) {
        at->is_out = true;
        leat_block_ref(at->block, 1);
    }
    return 0;
}

/* True if the rows are those of the index. */
static bool are_known(const struct leat_map_job *job, const struct leat_block *known) {
    return job->wanted ? leat_index_rows_are_of(job->index_schema, known, job->block)
                       : leat_index_block_is_of(job->index_schema, known, job->block);
}

static size_t n_expected(const struct leat_count_only *count_only) {
    return count_only->wanted ? count_only->n_wanted : count_only->block->n_rows;
}

static int make_part(struct leat_map_job *job, const struct leat_count_only *count_only,
                     struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    bool has_all;
    bool is_there = job->load.is_there || job->piece.buffer;
    int r = is_there ? leat_map_execute(job, &fault) : leat_map_make_again(job, &fault);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    has_all = r == 0 && job->block->n_rows == n_expected(count_only);
    if (r == 0 && !count_only->is_known && job->block->n_bad > 0)
        return 0; /* leat_count_only_end_job() reports the bad record. */
    if (!has_all || (count_only->is_known && !are_known(job, count_only->block)))
        return leat_map_fail_changed(job, &fault, err);
    return 0;
}

/* Lends the block the warm memory that the one before has left. */
static void lend_memory(struct leat_map_job *job) {
    struct leat_arena had = job->block->kept;

    if (!job->spare)
        return;
    leat_arena_reset(job->spare);
    job->block->kept = *job->spare;
    *job->spare = had;
}

static void start_part(struct leat_map_job *job, const struct leat_map_part *part) {
    const struct leat_count_only *count_only = part->count_only;

    job->piece = count_only->piece;
    job->wanted = count_only->wanted;
    job->n_wanted = count_only->n_wanted;
    job->load = leat_cache_load(count_only->file, &count_only->frame);
    job->n_done = 0;
    if (job->block == part->block)
        return;
    job->block = part->block;
    lend_memory(job);
}

int leat_count_only_execute(struct leat_map_job *job, struct leat_error *err) {
    int r;

    if (job->rows) {
        r = leat_rows_execute(job, err);
        if (r == 0)
            leat_map_fit(job);
        return r;
    }
    for (size_t i = 0; i < job->n_parts; i++) {
        struct leat_map_part *part = &job->parts[i];

        start_part(job, part);
        r = make_part(job, part->count_only, &part->error);
        if (r == 0) /* A part that failed may have no columns. */
            leat_map_fit(job);
    }
    return 0;
}

/* Moves the values to the block. */
static void materialize(struct leat_block *block, struct leat_block *made) {
    block->columns = made->columns;
    block->n_columns = made->n_columns;
    block->records = made->records;
    if (block->count_only->is_known)
        block->bad = made->bad;
    leat_block_take_over(block, made);
    leat_count_only_forget(block);
}

static void end_part(const struct leat_map_job *job, struct leat_map_part *part) {
    struct leat_count_only *count_only = part->count_only;
    struct leat_block *block = count_only->block, *made = part->block;

    count_only->is_out = false;
    leat_lane_memory_count_block(count_only->memory, made, job->large_bytes > 0);
    if (part->error.code) {
        fail_block(count_only, &part->error);
    } else if (!count_only->is_known && made->n_bad > 0) {
        leat_bad_record_error(job->plan, made->file, &made->bad[0], &part->error);
        fail_block(count_only, &part->error);
    } else if (count_only->wanted) {
        leat_block_ref(made, 1);
        count_only->made = made;
        count_only->made_at = 0;
    } else {
        materialize(block, made);
    }
    leat_block_unref(block, 1);
}

static void end_rows(struct leat_count_only *first, const struct leat_map_job *job,
                     const struct leat_error *error) {
    const struct leat_rows_piece *piece = job->rows->pieces;
    struct leat_count_only *next;
    uint32_t n = 0;

    for (struct leat_count_only *at = first; at; at = next, piece++) {
        next = at->next_of_job;
        at->is_out = false;
        if (error->code || piece->error) {
            fail_block(at, error->code ? error : piece->error);
        } else {
            leat_block_ref(job->block, 1);
            at->made = job->block;
            at->made_at = n;
        }
        n += (uint32_t)at->n_wanted;
        leat_block_unref(at->block, 1);
    }
}

void leat_count_only_end_job(struct leat_map_job *job, const struct leat_error *error) {
    struct leat_count_only *first = job->parts[0].count_only;

    leat_lane_memory_end_read(first->memory, job->lent);
    if (job->rows)
        end_rows(first, job, error);
    for (size_t i = 0; !job->rows && i < job->n_parts; i++) {
        if (error->code)
            job->parts[i].error = *error;
        end_part(job, &job->parts[i]);
    }
    free_parts(job);
}
