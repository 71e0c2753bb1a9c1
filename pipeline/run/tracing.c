/* run/tracing.c: what a run puts into a trace: its jobs with their stages, the work of its own
 * thread, batches that are handed out, and what is in flight.
 *
 * Called only while there is a trace. Jobs bring their times with them; the clock is looked at for
 * what is of this moment.
 */
#include <stdlib.h>

#include "pipeline/run/run_internal.h"

#define COUNTS_EVERY_NS 100000

static const char *const job_names[LEAT_N_JOB_KINDS] = {
    [LEAT_JOB_SCAN] = "scan",   [LEAT_JOB_DECODE] = "decode",
    [LEAT_JOB_MAP] = "map",     [LEAT_JOB_COLLATE] = "collate",
    [LEAT_JOB_CACHE] = "cache", [LEAT_JOB_QUARANTINE] = "quarantine",
    [LEAT_JOB_REST] = "rest",
};

void leat_run_set_trace(struct leat_run *run, struct leat_trace *trace) {
    struct leat_run_tracing *tracing = &run->tracing;

    free(tracing->files);
    *tracing = (struct leat_run_tracing){.trace = trace};
    if (!trace)
        return;
    tracing->number = trace->n_runs++;
    tracing->files = calloc(run->plan->source->files.n_paths, sizeof(*tracing->files));
}

/* Numbers of files in the trace are kept with one added, so that 0 is none yet. */
static uint32_t file_of(struct leat_run *run, size_t file) {
    struct leat_run_tracing *tracing = &run->tracing;

    if (!tracing->files)
        return LEAT_TRACE_NO_FILE;
    if (tracing->files[file] == 0)
        tracing->files[file] =
            leat_trace_add_file(tracing->trace, run->plan->source->files.names[file]) + 1;
    return tracing->files[file] - 1;
}

static uint32_t name_of(struct leat_run *run, const char *name) {
    return leat_trace_name(run->tracing.trace, name);
}

/* ---- jobs ---- */

static void fill_scan(struct leat_run *run, const struct leat_scan_job *scan,
                      struct leat_trace_event *event) {
    for (size_t i = 0; i < scan->n_pieces; i++) {
        const struct leat_piece *piece = &scan->pieces[i];

        if (piece->span.n_records == 0)
            continue;
        if (event->n_rows == 0) {
            event->file = file_of(run, piece->span.file);
            event->place = piece->record;
        }
        event->n_rows += piece->span.n_records;
    }
}

static void fill_map(struct leat_run *run, const struct leat_map_job *map,
                     struct leat_trace_event *event) {
    event->file = file_of(run, map->piece.span.file);
    event->place = map->piece.record;
    event->n_rows = map->piece.span.n_records;
    event->n_bytes = map->piece.span.n_bytes;
}

static void fill_collate(const struct leat_collate_job *collate, struct leat_trace_event *event) {
    for (size_t i = 0; i < collate->n_items; i++) {
        event->n_rows += collate->items[i].batch->n_refs;
        event->n_bytes += collate->items[i].used_bytes;
    }
}

static size_t n_stages_of(const struct leat_run *run, const struct leat_job *job) {
    size_t n = 0;

    if (job->kind == LEAT_JOB_MAP && job->map.counts)
        for (size_t i = 0; i < LEAT_COUNT_STAGES + run->plan->n_map; i++)
            n += job->map.counts[i].is_done;
    return n;
}

static const char *stage_name(const struct leat_run *run, size_t count) {
    switch (count) {
    case LEAT_COUNT_LOAD:
        return leat_role_name(LEAT_ROLE_CACHE);
    case LEAT_COUNT_STORE:
        return leat_role_name(LEAT_ROLE_CACHE_WRITE);
    case LEAT_COUNT_SOURCE:
        return run->plan->source_ops->name;
    default:
        return run->plan->map[count - LEAT_COUNT_STAGES]->ops->name;
    }
}

/* In the order in which they were executed: what is stored comes last. */
static void add_stages(struct leat_run *run, const struct leat_job *job,
                       const struct leat_trace_event *whole) {
    size_t n = LEAT_COUNT_STAGES + run->plan->n_map;

    for (size_t i = 0; i < n; i++) {
        size_t at = i == n - 1 ? LEAT_COUNT_STORE : i < LEAT_COUNT_STORE ? i : i + 1;
        const struct leat_stage_count *count = &job->map.counts[at];

        if (!count->is_done)
            continue;
        leat_trace_add(run->tracing.trace, &(struct leat_trace_event){
                                               .kind = LEAT_TRACE_STAGE,
                                               .name = name_of(run, stage_name(run, at)),
                                               .thread = whole->thread,
                                               .run = whole->run,
                                               .file = LEAT_TRACE_NO_FILE,
                                               .n_rows = (uint32_t)count->n_records,
                                               .start_ns = count->start_ns,
                                               .duration_ns = count->busy_ns,
                                               .n_bytes = count->n_bytes,
                                           });
    }
}

static void fill(struct leat_run *run, const struct leat_job *job, struct leat_trace_event *event) {
    *event = (struct leat_trace_event){
        .kind = LEAT_TRACE_JOB,
        .name = name_of(run, job_names[job->kind]),
        .thread = job->thread,
        .run = run->tracing.number,
        .file = LEAT_TRACE_NO_FILE,
        .start_ns = job->start_ns,
        .duration_ns = job->busy_ns,
        .n_bytes = job->n_bytes,
    };
    if (job->kind == LEAT_JOB_SCAN)
        fill_scan(run, &job->scan, event);
    else if (job->kind == LEAT_JOB_MAP)
        fill_map(run, &job->map, event);
    else if (job->kind == LEAT_JOB_COLLATE)
        fill_collate(&job->collate, event);
    else if (job->kind == LEAT_JOB_DECODE)
        event->file = file_of(run, job->decode.unit->key.file);
    else if (job->kind == LEAT_JOB_QUARANTINE)
        event->n_bytes = job->quarantine.n_bytes;
}

/* ---- what is of this moment ---- */

static uint64_t now(const struct leat_run *run) {
    return run->options.now_ns ? run->options.now_ns() : 0;
}

static void add_counts(struct leat_run *run, uint64_t now_ns) {
    struct leat_run_tracing *tracing = &run->tracing;

    if (now_ns - tracing->counts_ns < COUNTS_EVERY_NS || !leat_trace_has_room(tracing->trace, 1))
        return;
    tracing->counts_ns = now_ns;
    leat_trace_add(tracing->trace, &(struct leat_trace_event){
                                       .kind = LEAT_TRACE_COUNTS,
                                       .run = tracing->number,
                                       .file = LEAT_TRACE_NO_FILE,
                                       .n_rows = (uint32_t)run->slots.n_slots,
                                       .start_ns = now_ns,
                                       .n_bytes = run->memory.account->used_bytes,
                                       .epoch = run->blocks.n_alive + leat_run_mix_n_blocks(run),
                                   });
}

void leat_run_trace_job(struct leat_run *run, const struct leat_job *job) {
    struct leat_trace *trace = run->tracing.trace;
    size_t n_stages = n_stages_of(run, job);
    struct leat_trace_event event;

    if (leat_trace_has_room(trace, 1 + n_stages)) {
        fill(run, job, &event);
        leat_trace_add(trace, &event);
        if (n_stages > 0)
            add_stages(run, job, &event);
    }
    add_counts(run, now(run));
}

void leat_run_trace_order(struct leat_run *run, uint64_t n_rows, uint64_t start_ns,
                          uint64_t duration_ns) {
    struct leat_trace *trace = run->tracing.trace;

    if (leat_trace_has_room(trace, 1))
        leat_trace_add(trace, &(struct leat_trace_event){
                                  .kind = LEAT_TRACE_LOOP,
                                  .name = name_of(run, leat_role_name(LEAT_ROLE_ORDER)),
                                  .run = run->tracing.number,
                                  .file = LEAT_TRACE_NO_FILE,
                                  .n_rows = (uint32_t)n_rows,
                                  .start_ns = start_ns,
                                  .duration_ns = duration_ns,
                              });
}

void leat_run_trace_output(struct leat_run *run, const struct leat_output_entry *entry) {
    struct leat_trace *trace = run->tracing.trace;
    uint64_t now_ns = now(run);

    if (leat_trace_has_room(trace, 1))
        leat_trace_add(trace, &(struct leat_trace_event){
                                  .kind = LEAT_TRACE_BATCH,
                                  .name = name_of(run, "batch"),
                                  .thread = entry->thread,
                                  .run = run->tracing.number,
                                  .file = LEAT_TRACE_NO_FILE,
                                  .n_rows = entry->output.n_rows,
                                  .start_ns = entry->made_ns,
                                  .duration_ns = now_ns - entry->made_ns,
                                  .n_bytes = entry->output.used_bytes,
                                  .epoch = entry->output.epoch,
                                  .place = entry->output.step,
                              });
    add_counts(run, now_ns);
}
