/* map_run.c: the MAP job: indexes the records of a piece, parses them, and runs all MAP stages back
 * to back. Any thread.
 *
 * A job that is_unfused does one of these steps in each execution, and keeps the state of the pass
 * in the job and its scratch memory. The result is the same.
 *
 * After each stage the rows that it rejected or dropped are squeezed out of all columns: views and
 * scalars move, data does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/block/fit.h"
#include "pipeline/work/map.h"

static uint64_t now(const struct leat_map_job *job) {
    return job->now_ns ? job->now_ns() : 0;
}

/* Does nothing if it has begun, as the source begins with finding its records. */
static void begin(const struct leat_map_job *job, struct leat_stage_count *count) {
    if (!count->begun_ns)
        count->begun_ns = now(job);
    if (!count->start_ns)
        count->start_ns = count->begun_ns;
}

static void end(const struct leat_map_job *job, struct leat_stage_count *count) {
    count->busy_ns += now(job) - count->begun_ns;
    count->begun_ns = 0;
    count->is_done = true;
}

void leat_map_set_place(struct leat_block *block, const struct leat_piece *piece) {
    block->file = piece->span.file;
    block->file_offset = piece->span.offset;
    block->first_line = piece->span.line;
    block->first_record = piece->record;
    block->n_source_bytes = (size_t)piece->span.n_bytes;
}

/* Goes on as if the piece had the wanted records alone. finish() gives rows their numbers. */
static uint32_t pick_wanted(const struct leat_map_job *job, uint32_t *starts, uint32_t *ends) {
    for (size_t i = 0; i < job->n_wanted; i++) {
        starts[i] = starts[job->wanted[i]];
        ends[i] = ends[job->wanted[i]];
    }
    return (uint32_t)job->n_wanted;
}

static int index_records(struct leat_map_job *job, struct leat_block *block,
                         struct leat_error *err) {
    const struct leat_piece *piece = &job->piece;
    size_t n_records = piece->span.n_records, n;
    uint32_t *starts = leat_arena_alloc(job->scratch, n_records * sizeof(*starts));
    uint32_t *ends = leat_arena_alloc(job->scratch, n_records * sizeof(*ends));

    block->records = leat_arena_alloc(job->scratch, n_records * sizeof(*block->records));
    block->n_columns = job->plan->n_columns;
    block->columns = leat_arena_alloc(&block->kept, block->n_columns * sizeof(*block->columns));
    if (!starts || !ends || !block->records || !block->columns)
        return leat_error_oom(err);
    memset(block->columns, 0, block->n_columns * sizeof(*block->columns));
    n = leat_cutter_index(&leat_plan_source_of(job->plan, piece->span.file)->cutter,
                          piece->buffer->data, (size_t)piece->span.n_bytes, starts, ends,
                          n_records);
    if (n != n_records)
        return leat_error_set(
            err, -EIO,
            "the source counted %zu records in a block but found %zu: please report this bug",
            n_records, n);
    block->n_rows = block->n_records = job->wanted ? pick_wanted(job, starts, ends) : (uint32_t)n;
    for (uint32_t i = 0; i < block->n_rows; i++)
        block->records[i] = i;
    block->record_starts = starts;
    block->record_ends = ends;
    block->source = piece->buffer->data;
    leat_map_set_place(block, piece);
    return 0;
}

static void squeeze_u32(uint32_t *values, const bool *is_dropped, uint32_t n_rows) {
    uint32_t to = 0;

    for (uint32_t row = 0; values && row < n_rows; row++)
        if (!is_dropped[row])
            values[to++] = values[row];
}

static void squeeze_scalar(char *values, size_t size, const bool *is_dropped, uint32_t n_rows) {
    uint32_t to = 0;

    for (uint32_t row = 0; values && row < n_rows; row++)
        if (!is_dropped[row])
            memmove(values + size * to++, values + size * row, size);
}

static void squeeze(struct leat_map *map) {
    struct leat_block *block = map->block;
    uint32_t n_rows = block->n_rows;

    if (map->n_dropped == 0)
        return;
    for (uint32_t i = 0; i < block->n_columns; i++) {
        struct leat_column *column = &block->columns[i];

        squeeze_u32(column->starts, map->is_dropped, n_rows);
        squeeze_u32(column->lengths, map->is_dropped, n_rows);
        if (!column->starts)
            squeeze_scalar(column->values, leat_dtype_size(map->fields[i].dtype), map->is_dropped,
                           n_rows);
    }
    squeeze_u32(block->records, map->is_dropped, n_rows);
    block->n_rows -= map->n_dropped;
    map->n_dropped = 0;
    memset(map->is_dropped, 0, n_rows * sizeof(*map->is_dropped));
}

/* A filter behind an ORDER stage marks rows instead of dropping them. */
static int set_marks(const struct leat_plan_stage *stage, struct leat_map *map,
                     struct leat_error *err) {
    struct leat_column *column;

    map->marks = NULL;
    if (stage->filter_column < 0)
        return 0;
    column = leat_map_column(map, (uint32_t)stage->filter_column);
    if (leat_map_make_scalar(map, (uint32_t)stage->filter_column, sizeof(bool)) < 0)
        return leat_error_oom(err);
    memset(column->values, 1, map->block->n_rows);
    map->marks = column->values;
    return 0;
}

static int parse(struct leat_map_job *job, struct leat_map *map, struct leat_error *err) {
    const struct leat_plan_source *source = leat_plan_source_of(job->plan, map->block->file);

    return source->ops->parse(&source->config->base, map, err);
}

/* Moves the columns of this source to the common ones of all sources. */
static void join_columns(struct leat_map_job *job, struct leat_map *map) {
    const struct leat_plan_source *source = leat_plan_source_of(job->plan, map->block->file);
    struct leat_column *columns = map->block->columns;

    map->is_kept = job->plan->is_kept;
    for (size_t i = 0; i < source->n_moves; i++) {
        columns[source->moves[i].to] = columns[source->moves[i].from];
        columns[source->moves[i].from] = (struct leat_column){.values = NULL};
    }
}

/* False for a stage of another source. */
static bool is_for_block(const struct leat_map_job *job, const struct leat_plan_stage *stage) {
    return stage->source == 0 || leat_plan_source_of(job->plan, job->block->file) ==
                                     &job->plan->sources[stage->source - 1];
}

static int step(struct leat_map_job *job, struct leat_map *map, size_t count_index,
                const struct leat_plan_stage *stage, struct leat_error *err) {
    struct leat_stage_count *count = &job->counts[count_index];
    uint32_t n_bad = map->block->n_bad, n_rows = map->block->n_rows;
    int r = 0;

    begin(job, count);
    map->n_bytes_out = 0;
    map->stage = stage ? stage->ops->name : NULL;
    if (!stage)
        r = parse(job, map, err);
    else if (set_marks(stage, map, err) < 0)
        r = -ENOMEM;
    else
        r = leat_workspace_get(job->workspace, job->plan, count_index - LEAT_COUNT_STAGES,
                               &map->workspace, err);
    if (r == 0 && stage)
        r = stage->ops->map(stage->config, map, err);
    map->marks = NULL;
    squeeze(map);
    if (r == 0 && map->is_out_of_memory)
        r = leat_error_oom(err);
    count->n_records += n_rows;
    count->n_bytes += stage ? map->n_bytes_out : job->piece.span.n_bytes;
    count->n_errors += map->block->n_bad - n_bad;
    end(job, count);
    return r;
}

static int by_record(const void *a, const void *b) {
    const struct leat_bad_record *x = a, *y = b;

    return (x->record > y->record) - (x->record < y->record);
}

static void number_wanted(const struct leat_map_job *job, struct leat_block *block) {
    for (uint32_t i = 0; i < block->n_rows; i++)
        block->records[i] = job->wanted[block->records[i]];
    for (uint32_t i = 0; i < block->n_bad; i++)
        block->bad[i].record = job->wanted[block->bad[i].record];
    block->n_records = job->piece.span.n_records;
}

/* Keeps the records of the rows if some are missing, and drops what ends with the job. */
static int finish(const struct leat_map_job *job, struct leat_error *err) {
    struct leat_block *block = job->block;
    uint32_t *records = NULL;

    if (block->n_bad > 0)
        qsort(block->bad, block->n_bad, sizeof(*block->bad), by_record);
    if (job->wanted)
        number_wanted(job, block);
    if (block->n_rows < block->n_records) {
        records = leat_arena_alloc(&block->kept, block->n_rows * sizeof(*records));
        if (!records)
            return leat_error_oom(err);
        memcpy(records, block->records, block->n_rows * sizeof(*records));
    }
    block->records = records;
    block->record_starts = block->record_ends = NULL;
    block->source = NULL;
    return 0;
}

/* Makes the one bad record that stands for the rest of a damaged file. */
static int make_damaged(struct leat_map_job *job, struct leat_error *err) {
    struct leat_block *block = job->block;
    const struct leat_piece *piece = &job->piece;
    size_t n_bytes = (size_t)piece->span.n_bytes, n_message = strlen(piece->damage) + 1;
    uint8_t *copy = leat_arena_alloc(&block->kept, n_bytes + n_message);

    block->n_columns = job->plan->n_columns;
    block->columns = leat_arena_alloc(&block->kept, block->n_columns * sizeof(*block->columns));
    block->bad = leat_arena_alloc(&block->kept, sizeof(*block->bad));
    block->records = leat_arena_alloc(&block->kept, sizeof(*block->records));
    if (!copy || !block->columns || !block->bad || !block->records)
        return leat_error_oom(err);
    memset(block->columns, 0, block->n_columns * sizeof(*block->columns));
    memcpy(copy, piece->buffer->data, n_bytes);
    memcpy(copy + n_bytes, piece->damage, n_message);
    *block->bad = (struct leat_bad_record){
        .line = piece->span.line,
        .offset = piece->span.offset,
        .n_bytes = (uint32_t)n_bytes,
        .bytes = copy,
        .message = (const char *)copy + n_bytes,
    };
    block->n_bad = block->n_records = 1;
    block->n_rows = 0;
    leat_map_set_place(block, piece);
    job->counts[LEAT_COUNT_SOURCE].n_errors++;
    return 0;
}

static int begin_pass(struct leat_map_job *job, struct leat_error *err) {
    const struct leat_plan *plan = job->plan;
    const struct leat_plan_source *source = leat_plan_source_of(plan, job->piece.span.file);
    struct leat_map *map = &job->map;

    *map = (struct leat_map){
        .block = job->block,
        .fields = plan->fields,
        .is_needed = plan->is_needed,
        .is_kept = source->is_kept ? source->is_kept : plan->is_kept,
        .scratch = job->scratch,
        .cutter = &source->cutter,
        .source = &source->config->base,
        .wanted = job->wanted,
        .seed = job->seed,
        .epoch = job->epoch,
        .file = plan->source->files.names[job->piece.span.file],
        .max_fields = (uint64_t)plan->options.max_fields,
        .max_tokens = (uint64_t)plan->options.max_tokens,
        .n_marks = plan->n_marks,
        .keeps_bad_bytes = plan->options.on_error == LEAT_ON_ERROR_QUARANTINE || plan->cache_path ||
                           job->index_schema,
        .n_at_once = job->n_at_once,
        .notes = &job->notes,
    };
    if (index_records(job, job->block, err) < 0)
        return err->code;
    map->is_dropped = leat_arena_alloc(job->scratch, job->block->n_rows * sizeof(bool));
    if (!map->is_dropped)
        return leat_error_oom(err);
    memset(map->is_dropped, 0, job->block->n_rows * sizeof(bool));
    return 0;
}

/* Runs all stages, or the next one. */
static int make(struct leat_map_job *job, bool is_unfused, struct leat_error *err) {
    const struct leat_plan *plan = job->plan;
    size_t n_steps = 1 + plan->n_map;
    int r = 0;

    if (job->n_done == 0)
        begin(job, &job->counts[LEAT_COUNT_SOURCE]);
    if (job->piece.damage) {
        r = make_damaged(job, err);
        end(job, &job->counts[LEAT_COUNT_SOURCE]);
        return r;
    }
    if (job->stop_after < (int)plan->n_map)
        n_steps = (size_t)(job->stop_after + 2);
    if (job->n_done == 0)
        r = begin_pass(job, err);
    do {
        size_t i = job->n_done++;
        const struct leat_plan_stage *stage = i == 0 ? NULL : plan->map[i - 1];

        if (r == 0 && (!stage || is_for_block(job, stage)))
            r = step(job, &job->map, LEAT_COUNT_SOURCE + i, stage, err);
        if (r == 0 && i == plan->n_source_map)
            join_columns(job, &job->map);
    } while (r == 0 && !is_unfused && job->n_done < n_steps);
    job->is_partial = r == 0 && job->n_done < n_steps;
    if (r == 0 && !job->is_partial && job->stop_after >= (int)plan->n_map)
        r = finish(job, err);
    return r;
}

static int load(struct leat_map_job *job, struct leat_error *err) {
    struct leat_stage_count *count = &job->counts[LEAT_COUNT_LOAD];
    int r;

    begin(job, count);
    r = leat_load_execute(job, err);
    leat_map_set_place(job->block, &job->piece);
    count->n_records += r == 0 ? job->block->n_rows : 0;
    count->n_bytes += job->load.frame.n_stored;
    count->n_errors += r < 0;
    end(job, count);
    return r;
}

static void store(struct leat_map_job *job) {
    struct leat_stage_count *count = &job->counts[LEAT_COUNT_STORE];

    begin(job, count);
    if (leat_load_make(job, &job->item_error) == 0) {
        count->n_records += job->block->n_rows;
        count->n_bytes += job->item->frame.n_stored;
    }
    end(job, count);
}

static int make_again(struct leat_map_job *job, struct leat_error *err) {
    struct leat_buffer own = {.data = NULL};
    int r;

    job->piece.buffer = job->lent ? job->lent : &own;
    r = leat_scan_read(job->plan, job->opener, job->epoch, &job->workspace->kept, &job->piece, err);
    leat_arena_reset(&job->block->kept);
    job->block->bad = NULL;
    job->block->n_bad = 0;
    if (r == 0)
        r = make(job, false, err);
    if (r == 0 && job->load.frame.n_bytes > 0)
        leat_load_repair(job);
    job->piece.buffer = NULL;
    free(own.data);
    return r;
}

/* A block of a prepared set has to be what was sealed. */
static int make_sealed_again(struct leat_map_job *job, struct leat_error *err) {
    const struct leat_plan *plan = job->plan;
    uint32_t file = job->piece.span.file;
    struct leat_error own = LEAT_ERROR_INIT;
    int r =
        leat_set_check_file(plan->set, file, plan->source->files.paths[file], job->opener, &own);

    if (r == 0)
        r = make_again(job, &own);
    if (r == 0 && !job->load.is_same)
        r = leat_error_set(&own, -ESTALE, "the source now gives other rows");
    if (r == 0 || r == -ENOMEM)
        return r == 0 ? 0 : leat_error_oom(err);
    return leat_error_set(err, r,
                          "%s; leat cannot make the block again from the source: %.200s: remove "
                          "the damaged file, and make it again with `leatctl prepare`",
                          job->load.damage.message, own.message);
}

void leat_map_fit(struct leat_map_job *job) {
    if (job->spare)
        leat_block_fit(job->block, job->plan->fields, job->plan->is_kept, job->scratch, job->spare);
}

int leat_map_make_again(struct leat_map_job *job, struct leat_error *err) {
    return job->plan->set ? make_sealed_again(job, err) : make_again(job, err);
}

int leat_map_fail_changed(const struct leat_map_job *job, const struct leat_error *fault,
                          struct leat_error *err) {
    const struct leat_cache_span *span = &job->piece.span;
    bool has_cause = fault && fault->code;

    return leat_error_set(err, -ESTALE,
                          "%s: %u records from line %llu on have changed since leat first read "
                          "them%s%.300s: restore the file, or open the stream without a position",
                          job->plan->source->files.paths[span->file], span->n_records,
                          (unsigned long long)span->line, has_cause ? ": " : "",
                          has_cause ? fault->message : "");
}

int leat_map_execute(struct leat_map_job *job, struct leat_error *err) {
    int r;

    if (job->load.is_there) {
        r = load(job, &job->load.damage);
        if (r == 0)
            return 0;
        if (r == -ENOMEM)
            return leat_error_oom(err);
        return leat_map_make_again(job, err);
    }
    if (!job->piece.buffer)
        return leat_map_make_again(job, err);
    r = make(job, job->is_unfused, err);
    if (r == 0 && !job->is_partial && job->item)
        store(job);
    return r;
}

/* ---- workspaces ---- */

struct leat_workspace *leat_workspace_new(const struct leat_plan *plan) {
    struct leat_workspace *workspace = NULL;

    return calloc(1, sizeof(*workspace) + plan->n_map * sizeof(workspace->of_stage[0]));
}

struct leat_workspace *leat_workspace_free(struct leat_workspace *workspace,
                                           const struct leat_plan *plan) {
    if (workspace)
        leat_scan_close_kept(&workspace->kept);
    for (size_t i = 0; workspace && i < plan->n_map; i++)
        if (workspace->of_stage[i])
            plan->map[i]->ops->workspace_free(workspace->of_stage[i]);
    free(workspace);
    return NULL;
}

int leat_workspace_get(struct leat_workspace *workspace, const struct leat_plan *plan, size_t index,
                       void **ret_memory, struct leat_error *err) {
    const struct leat_plan_stage *stage = plan->map[index];
    int r = 0;

    if (stage->ops->workspace_new && !workspace->of_stage[index])
        r = stage->ops->workspace_new(stage->config, &workspace->of_stage[index], err);
    *ret_memory = workspace->of_stage[index];
    return r;
}

void leat_workspace_idle(struct leat_workspace *first, const struct leat_plan *plan,
                         bool is_final) {
    for (struct leat_workspace *workspace = first; workspace; workspace = workspace->next)
        for (size_t i = 0; i < plan->n_map; i++)
            if (plan->map[i]->ops->workspace_idle && workspace->of_stage[i])
                plan->map[i]->ops->workspace_idle(workspace->of_stage[i], is_final);
}
