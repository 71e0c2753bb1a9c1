/* run/bare.c: see run/bare.h. */
#include "pipeline/run/bare.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/plan/passing.h"
#include "pipeline/run/run_internal.h"

/* ---- life ---- */

/* Blocks that may be evicted have lengths, which are known only once they were made. */
void leat_bares_init(struct leat_run *run) {
    const struct leat_run_options *options = &run->options;
    struct leat_passing passing;

    leat_plan_passing(run->plan, &passing);
    if (options->first_step == 0 || options->only_builds || run->residents.max_bytes > 0)
        return;
    run->bares.may_count = passing.are_counted && !run->plan->is_one_pass;
    run->bares.may_skip = passing.is_blind;
}

void leat_bares_note(struct leat_run *run) {
    const struct leat_run_cache *cache = &run->cache;
    struct leat_text text = {.data = NULL};
    struct leat_passing passing;

    if (run->options.first_step == 0 || run->options.only_builds || run->bares.may_count ||
        run->bares.replay || (cache->file && cache->file->n_frames > 0))
        return;
    leat_plan_passing(run->plan, &passing);
    leat_text_add(&text, "a start at step %llu makes all before it again, because of `%s`",
                  (unsigned long long)run->options.first_step,
                  passing.looks   ? passing.looks
                  : passing.drops ? passing.drops
                                  : "shuffle: {global: true}");
    if (cache->is_index)
        leat_text_add(&text, ": there is no index of an earlier pass yet");
    run->bares.replay = text.data;
}

char *leat_run_take_replay(struct leat_run *run) {
    char *text = run->bares.replay;

    run->bares.replay = NULL;
    return text;
}

bool leat_run_is_passing(const struct leat_run *run) {
    const struct leat_run *whole = run->whole ? run->whole : run;

    return run->scan_epoch == run->options.first_epoch && !whole->has_failed &&
           leat_batcher_is_before_first(&whole->order.batcher);
}

#define KEPT_BYTES (32U << 20) /* of compressed files; what is beyond is made at once */

bool leat_run_may_count(const struct leat_run *run, const struct leat_piece *piece) {
    const struct leat_run *whole = run->whole ? run->whole : run;

    if (!run->bares.may_count || piece->span.is_damaged || !leat_run_is_passing(run))
        return false;
    return !run->plan->is_compressed ||
           (whole->bares.n_kept_bytes < KEPT_BYTES &&
            leat_account_may_grow(whole->memory.account, run->memory.block_estimate));
}

/* To read a piece of a compressed file again, all before it is decoded. */
static void keep_buffer(struct leat_run *run, struct leat_queue_entry *entry) {
    if (entry->piece.buffer && run->plan->is_compressed) {
        entry->block->bare->piece.buffer = entry->piece.buffer;
        leat_run_whole(run)->bares.n_kept_bytes += entry->piece.buffer->counted_bytes;
        entry->piece.buffer = NULL;
    }
    leat_run_release_piece(run, &entry->piece);
}

static void give_buffer(struct leat_bare *bare) {
    if (bare->piece.buffer)
        leat_run_whole(bare->run)->bares.n_kept_bytes -= bare->piece.buffer->counted_bytes;
    leat_run_release_piece(bare->run, &bare->piece);
}

static bool attach(struct leat_run *run, const struct leat_queue_entry *entry) {
    bool is_cached = entry->file && !run->cache.is_index;
    struct leat_bare *bare = malloc(sizeof(*bare));

    if (!bare)
        return false;
    *bare = (struct leat_bare){
        .run = run,
        .block = entry->block,
        .piece = {.span = entry->piece.span,
                  .record = entry->piece.record,
                  .n_marks = entry->piece.n_marks},
        .file = is_cached ? leat_cache_file_ref(entry->file) : NULL,
        .frame = is_cached ? entry->frame : (struct leat_cache_frame){.n_bytes = 0},
        .epoch = entry->epoch,
        .error = LEAT_ERROR_INIT,
    };
    entry->block->bare = bare;
    leat_run_whole(run)->bares.n_blocks++;
    return true;
}

bool leat_run_make_bare(struct leat_run *run, struct leat_queue_entry *entry, uint32_t n_rows) {
    struct leat_block *block = leat_block_pool_take_exact(&run->blocks, 0);

    if (!block)
        return false;
    leat_map_set_place(block, &entry->piece);
    block->n_rows = n_rows;
    block->n_records = entry->piece.span.n_records;
    entry->block = block;
    if (!attach(run, entry))
        return false;
    keep_buffer(run, entry);
    entry->state = LEAT_ENTRY_MAPPED;
    return true;
}

bool leat_run_know_bare(struct leat_run *run, struct leat_queue_entry *entry) {
    if (!attach(run, entry))
        return false;
    entry->block->bare->is_known = true;
    return true;
}

void leat_bare_forget(struct leat_block *block) {
    struct leat_bare *bare = block->bare;

    leat_run_whole(bare->run)->bares.n_blocks--;
    give_buffer(bare);
    leat_cache_file_unref(bare->file);
    free(bare);
    block->bare = NULL;
}

/* ---- what is wanted ---- */

/* The first bare block of the batch, of those that are being filled too, or not; NULL: none. */
static struct leat_bare *find_bare(struct leat_batch_refs *batch, bool with_out) {
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        uint32_t n;
        const struct leat_ref *refs = leat_residents_refs(&batch->refs[i], &n);

        for (uint32_t k = 0; k < n; k++)
            if (refs[k].block->bare && (with_out || !refs[k].block->bare->is_out))
                return refs[k].block->bare;
    }
    return NULL;
}

bool leat_bares_have_first(const struct leat_run *run) {
    struct leat_batch_refs *first = run->order.batcher.first;

    return run->bares.n_blocks == 0 || !first || !find_bare(first, true);
}

/* What could not be filled ends the stream where it is needed. */
static void meet_failure(struct leat_run *run) {
    struct leat_batch_refs *first = run->order.batcher.first;
    const struct leat_bare *bare = first ? find_bare(first, true) : NULL;

    if (!bare || !bare->error.code)
        return;
    leat_run_fail(run, &bare->error);
    leat_residents_abandon(run, first);
}

/* Of the batches that are next. */
static struct leat_bare *next_wanted(const struct leat_run *run) {
    struct leat_batch_refs *batch = run->order.batcher.first;
    size_t n_left = LEAT_READY_JOBS * (size_t)run->knobs.of[LEAT_KNOB_COLLATED];

    for (; batch && n_left > 0; batch = batch->next, n_left--) {
        struct leat_bare *bare = find_bare(batch, false);

        if (bare && !bare->error.code)
            return bare;
    }
    return NULL;
}

/* ---- jobs ---- */

static bool may_fill(const struct leat_bare *bare, uint64_t *ret_large_bytes) {
    struct leat_queue_entry entry = {
        .piece = bare->piece, .file = bare->file, .frame = bare->frame};

    return leat_run_may_map(bare->run, &entry, ret_large_bytes);
}

static int fill_job(struct leat_bare *bare, uint64_t large_bytes, struct leat_job **ret_job) {
    struct leat_run *run = bare->run, *whole = leat_run_whole(run);
    struct leat_job *job = leat_run_take_job(run, LEAT_JOB_MAP);

    if (!job)
        return -ENOMEM;
    job->map = (struct leat_map_job){
        .plan = run->plan,
        .bare = bare,
        .bare_schema = leat_run_cache_schema(run),
        .opener = run->options.opener,
        .piece = bare->piece,
        .block = leat_block_pool_take(&run->blocks),
        .load = {.fd = bare->file ? bare->file->fd : -1,
                 .seed = bare->file ? bare->file->seed : 0,
                 .frame = bare->frame},
        .seed = run->order.seed,
        .epoch = bare->epoch,
        .stop_after = (int)run->plan->n_map,
        .now_ns = run->options.now_ns,
        .n_at_once = whole->n_at_once,
        .large_bytes = large_bytes,
    };
    if (!job->map.block) {
        leat_run_give_job(run, job);
        return -ENOMEM;
    }
    leat_account_change(whole->memory.account, LEAT_MEMORY_SCRATCH, 0, large_bytes);
    bare->is_out = true;
    bare->block->n_refs++;
    whole->n_maps_out++;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

int leat_run_bare_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_bare *bare;
    uint64_t large_bytes;
    int r;

    if (run->bares.n_blocks == 0)
        return 0;
    meet_failure(run);
    if (run->n_maps_out >= run->map_limit)
        return 0;
    bare = next_wanted(run);
    if (!bare || !may_fill(bare, &large_bytes))
        return 0;
    r = fill_job(bare, large_bytes, ret_job);
    if (r < 0)
        leat_error_oom(&bare->error);
    return r < 0 ? 0 : r;
}

/* Nobody may get other rows than those that the order has seen. */
static int fail_other(const struct leat_map_job *job, const struct leat_error *fault,
                      struct leat_error *err) {
    const struct leat_cache_span *span = &job->piece.span;

    return leat_error_set(err, -ESTALE,
                          "%s: %u records from line %llu on are no longer what they were when they "
                          "were passed over%s%.300s",
                          job->plan->source->files.paths[span->file], span->n_records,
                          (unsigned long long)span->line, fault->code ? ": " : "", fault->message);
}

int leat_bare_execute(struct leat_map_job *job, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    bool is_there = job->load.fd >= 0 || job->piece.buffer;
    int r = is_there ? leat_map_execute(job, &fault) : leat_map_make_again(job, &fault);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == 0 && job->bare->is_known &&
        leat_bare_is_of(job->bare_schema, job->bare->block, job->block))
        return 0;
    if (r == 0 && !job->bare->is_known && job->block->n_bad > 0 &&
        job->block->n_rows != job->bare->block->n_rows)
        return 0; /* the run says which record is bad */
    if (r < 0 || job->bare->is_known || job->block->n_rows != job->bare->block->n_rows)
        return fail_other(job, &fault, err);
    return 0;
}

/* The rows are here: the block takes over what was made. */
static void fill(struct leat_block *block, struct leat_block *made) {
    block->columns = made->columns;
    block->n_columns = made->n_columns;
    block->records = made->records;
    if (block->bare->is_known)
        block->bad = made->bad;
    leat_block_take_over(block, made);
    leat_bare_forget(block);
}

void leat_run_complete_bare(struct leat_run *run, struct leat_job *job) {
    struct leat_bare *bare = job->map.bare;
    struct leat_block *block = bare->block, *made = job->map.block;

    leat_run_add_notes(leat_run_whole(run), &job->map.notes);
    leat_run_whole(run)->n_maps_out--;
    leat_run_end_map(run, job);
    leat_run_cache_end_map(run, NULL, job);
    bare->is_out = false;
    if (job->error.code)
        bare->error = job->error;
    else if (made->n_rows != block->n_rows)
        leat_run_bad_error(run, made->file, &made->bad[0], &bare->error);
    else
        fill(block, made);
    leat_block_unref(made, 1);
    leat_block_unref(block, 1);
}
