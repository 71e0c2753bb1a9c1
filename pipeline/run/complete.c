/* run/complete.c: takes jobs back: what was read goes into the line of blocks, what was mapped to
 * where its block is, what was collated out. See run.h. */
#include "pipeline/run/run.h"

#include <stdlib.h>

#include "pipeline/run/rest.h"
#include "pipeline/run/run_internal.h"

/* What was read before is handed out first: the failure waits in the line of blocks. */
void leat_run_fail_scan(struct leat_run *run, const struct leat_error *err) {
    run->scan_has_ended = true;
    if (!leat_run_add_entry(run, LEAT_ENTRY_PASS_END, NULL, err))
        leat_run_out_of_memory(run);
}

static void put_in_line(struct leat_run *run, struct leat_piece *piece) {
    bool is_bare = !run->spans.is_building && leat_run_may_count(run, piece);
    struct leat_queue_entry *entry = leat_run_add_entry(run, LEAT_ENTRY_SCANNED, piece, NULL);

    if (entry)
        piece->buffer = NULL;
    if (!entry || (is_bare && !leat_run_make_bare(run, entry, piece->span.n_records)))
        leat_run_out_of_memory(run);
}

/* False: what follows is not wanted. */
static bool take_piece(struct leat_run *run, struct leat_piece *piece) {
    enum leat_run_cache_sifted sifted;

    if (piece->span.n_records == 0)
        return true;
    sifted = leat_run_cache_sift(run, piece);
    if (sifted != LEAT_RUN_CACHE_TAKE)
        return sifted == LEAT_RUN_CACHE_SKIP;
    leat_run_whole(run)->stats.n_source_records += piece->span.n_records;
    run->scan_end_record = piece->record + piece->span.n_records;
    put_in_line(run, piece);
    return true;
}

static void complete_scan(struct leat_run *run, struct leat_job *job) {
    struct leat_scan_job *scan = &job->scan;
    bool is_stale = run->scan_is_stale, is_enough = false;

    run->scan_is_out = run->scan_is_stale = false;
    leat_run_whole(run)->stats.n_source_bytes += job->n_bytes;
    leat_run_take_watched(run);
    leat_run_decode_follow(run, scan);
    leat_run_count_scan(run, scan);
    leat_run_give_buffers(run, scan);
    for (size_t i = 0; i < scan->n_pieces; i++) {
        if (!is_stale && !is_enough)
            is_enough = !take_piece(run, &scan->pieces[i]);
        leat_run_release_piece(run, &scan->pieces[i]);
    }
    if (is_stale) {
        leat_run_next_pass(run, run->epoch != run->scan_epoch);
    } else if (!job->error.code && leat_run_spans_end_scan(run, scan)) {
        return;
    } else if (job->error.code && !is_enough) {
        leat_run_fail_scan(run, &job->error);
    } else if (scan->has_ended || is_enough) {
        leat_run_end_scan(run, run->scan_end_record);
    }
    leat_run_cache_collect(run);
}

/* Its other stages are jobs to come. */
static void park(struct leat_run *run, struct leat_job *job) {
    leat_run_whole(run)->n_maps_out--;
    leat_run_park(run, job);
    job->entry->state = LEAT_ENTRY_PARKED;
}

static void complete_map(struct leat_run *run, struct leat_job *job) {
    struct leat_queue_entry *entry = job->entry;

    if (job->map.gather) {
        leat_run_complete_gather(run, job);
        return;
    }
    if (job->map.bare) {
        leat_run_complete_bare(run, job);
        return;
    }
    leat_run_add_notes(leat_run_whole(run), &job->map.notes);
    leat_run_whole(run)->n_maps_out--;
    leat_run_end_map(run, job);
    leat_run_release_piece(run, &entry->piece);
    entry->error = job->error;
    entry->state = LEAT_ENTRY_MAPPED;
    leat_run_cache_end_map(run, entry, job);
    leat_run_cache_collect(run);
}

static void complete_collate(struct leat_run *run, struct leat_job *job) {
    run->n_collate_out--;
    for (size_t i = 0; i < job->collate.n_items; i++) {
        struct leat_collate_item *item = &job->collate.items[i];

        item->output->output.used_bytes = item->used_bytes;
        item->output->is_done = true;
        item->output->thread = job->thread;
        item->output->made_ns = job->start_ns + job->busy_ns;
        run->stats.n_batches++;
        run->stats.n_rows += item->batch->n_refs;
        run->stats.n_batch_bytes += item->used_bytes;
        leat_spread_add(&run->stats.batch_bytes, &leat_spread_bytes, item->used_bytes);
        leat_spread_add(&run->stats.batch_rows, &leat_spread_rows, item->batch->n_refs);
        run->stats.n_elements += item->n_elements;
        run->collate_bytes -= item->batch->n_bytes;
        leat_residents_release(run, item->batch);
        leat_batch_refs_free(item->batch);
    }
}

/* Of what was measured, as much as lies within the job: it was measured around it. */
static void count_job(struct leat_run *run, const struct leat_job *job) {
    uint64_t cpu_ns = job->usage.cpu_ns < job->busy_ns ? job->usage.cpu_ns : job->busy_ns;
    uint64_t rest_ns = job->busy_ns - cpu_ns;
    struct leat_run_stats *stats = &leat_run_whole(run)->stats;
    struct leat_run_job_stats *jobs = &stats->jobs[job->kind];

    jobs->n_jobs++;
    jobs->busy_ns += job->busy_ns;
    jobs->cpu_ns += cpu_ns;
    jobs->delay_ns += job->usage.delay_ns < rest_ns ? job->usage.delay_ns : rest_ns;
    jobs->queue_ns += job->usage.queue_ns;
    if (job->kind != LEAT_JOB_MAP || job->map.load.fd >= 0 || job->map.gather ||
        job->map.is_partial)
        return;
    stats->n_made_blocks++;
    stats->n_made_bytes += job->map.piece.span.n_bytes;
}

void leat_run_complete(struct leat_run *run, struct leat_job *take_job) {
    run = take_job->run;
    leat_run_profile_job(run, take_job);
    if (leat_run_whole(run)->tracing.trace)
        leat_run_trace_job(leat_run_whole(run), take_job);
    count_job(run, take_job);
    if (take_job->kind == LEAT_JOB_MAP && take_job->map.is_partial) {
        park(run, take_job);
        return;
    }
    switch (take_job->kind) {
    case LEAT_JOB_SCAN:
        complete_scan(run, take_job);
        break;
    case LEAT_JOB_DECODE:
        leat_run_decode_done(run, &take_job->decode);
        if (take_job->error.code)
            leat_run_fail(run, &take_job->error);
        break;
    case LEAT_JOB_MAP:
        complete_map(run, take_job);
        break;
    case LEAT_JOB_COLLATE:
        complete_collate(run, take_job);
        break;
    case LEAT_JOB_QUARANTINE:
        run->quarantine_is_out = false;
        run->quarantine_has_failed |= take_job->error.code != 0;
        run->quarantine_fd = take_job->quarantine.fd;
        run->quarantine_offset += take_job->quarantine.n_bytes;
        free(take_job->quarantine.text);
        if (take_job->error.code)
            leat_run_fail(run, &take_job->error);
        break;
    case LEAT_JOB_CACHE:
        leat_run_cache_complete(run, take_job);
        break;
    case LEAT_JOB_REST:
        leat_run_end_rest(run, &take_job->rest);
        break;
    default:
        break;
    }
    leat_run_count_cache(run);
    leat_run_count_order(leat_run_whole(run));
    leat_run_give_job(run, take_job);
}
