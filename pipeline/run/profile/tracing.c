#include "pipeline/run/profile/tracing.h"

#include <stdlib.h>

#include "pipeline/run/profile/profile.h"

#define COUNTS_EVERY_NS 100000

static const char *const job_names[LEAT_N_JOB_KINDS] = {
    [LEAT_JOB_SCAN] = "scan",   [LEAT_JOB_DECODE] = "decode",
    [LEAT_JOB_MAP] = "map",     [LEAT_JOB_COLLATE] = "collate",
    [LEAT_JOB_CACHE] = "cache", [LEAT_JOB_QUARANTINE] = "quarantine",
    [LEAT_JOB_IDLE] = "idle",
};

void leat_run_tracing_start(struct leat_run_tracing *tracing, struct leat_trace *trace,
                            const struct leat_plan *plan, uint64_t (*now_ns)(void)) {
    free(tracing->files);
    *tracing = (struct leat_run_tracing){.trace = trace, .plan = plan, .now_ns = now_ns};
    if (!trace)
        return;
    tracing->number = trace->n_runs++;
    tracing->files = calloc(plan->source->files.n_paths, sizeof(*tracing->files));
}

static uint32_t file_of(struct leat_run_tracing *tracing, size_t file) {
    if (!tracing->files)
        return LEAT_TRACE_NO_FILE;
    if (tracing->files[file] == 0)
        tracing->files[file] =
            leat_trace_add_file(tracing->trace, tracing->plan->source->files.names[file]) + 1;
    return tracing->files[file] - 1;
}

static uint32_t name_of(struct leat_run_tracing *tracing, const char *name) {
    return leat_trace_name(tracing->trace, name);
}

static void fill_scan(struct leat_run_tracing *tracing, const struct leat_scan_job *scan,
                      struct leat_trace_event *event) {
    for (size_t i = 0; i < scan->n_pieces; i++) {
        const struct leat_piece *piece = &scan->pieces[i];

        if (piece->span.n_records == 0)
            continue;
        if (event->n_rows == 0) {
            event->file = file_of(tracing, piece->span.file);
            event->place = piece->record;
        }
        event->n_rows += piece->span.n_records;
    }
}

static void fill_map(struct leat_run_tracing *tracing, const struct leat_map_job *map,
                     struct leat_trace_event *event) {
    event->file = file_of(tracing, map->piece.span.file);
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

static size_t n_stages_of(const struct leat_run_tracing *tracing, const struct leat_job *job) {
    size_t n = 0;

    if (job->kind == LEAT_JOB_MAP && job->map.counts)
        for (size_t i = 0; i < LEAT_COUNT_STAGES + tracing->plan->n_map; i++)
            n += job->map.counts[i].is_done;
    return n;
}

static const char *stage_name(const struct leat_run_tracing *tracing, size_t count) {
    switch (count) {
    case LEAT_COUNT_LOAD:
        return leat_role_name(LEAT_ROLE_CACHE);
    case LEAT_COUNT_STORE:
        return leat_role_name(LEAT_ROLE_CACHE_WRITE);
    case LEAT_COUNT_SOURCE:
        return tracing->plan->source_ops->name;
    default:
        return tracing->plan->map[count - LEAT_COUNT_STAGES]->ops->name;
    }
}

/* Adds stages in the order in which they ran; storing for the cache comes last. */
static void add_stages(struct leat_run_tracing *tracing, const struct leat_job *job,
                       const struct leat_trace_event *whole) {
    size_t n = LEAT_COUNT_STAGES + tracing->plan->n_map;

    for (size_t i = 0; i < n; i++) {
        size_t at = i == n - 1 ? LEAT_COUNT_STORE : i < LEAT_COUNT_STORE ? i : i + 1;
        const struct leat_stage_count *count = &job->map.counts[at];

        if (!count->is_done)
            continue;
        leat_trace_add(tracing->trace, &(struct leat_trace_event){
                                           .kind = LEAT_TRACE_STAGE,
                                           .name = name_of(tracing, stage_name(tracing, at)),
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

static void fill(struct leat_run_tracing *tracing, const struct leat_job *job,
                 struct leat_trace_event *event) {
    *event = (struct leat_trace_event){
        .kind = LEAT_TRACE_JOB,
        .name = name_of(tracing, job_names[job->kind]),
        .thread = job->thread,
        .run = tracing->number,
        .file = LEAT_TRACE_NO_FILE,
        .start_ns = job->start_ns,
        .duration_ns = job->busy_ns,
        .n_bytes = job->n_bytes,
    };
    if (job->kind == LEAT_JOB_SCAN)
        fill_scan(tracing, &job->scan, event);
    else if (job->kind == LEAT_JOB_MAP)
        fill_map(tracing, &job->map, event);
    else if (job->kind == LEAT_JOB_COLLATE)
        fill_collate(&job->collate, event);
    else if (job->kind == LEAT_JOB_DECODE)
        event->file = file_of(tracing, job->decode.unit->key.file);
    else if (job->kind == LEAT_JOB_QUARANTINE)
        event->n_bytes = job->quarantine.n_bytes;
}

static uint64_t now(const struct leat_run_tracing *tracing) {
    return tracing->now_ns ? tracing->now_ns() : 0;
}

void leat_run_tracing_add_counts(struct leat_run_tracing *tracing, size_t n_slots, uint64_t n_bytes,
                                 uint64_t n_blocks) {
    uint64_t now_ns = now(tracing);

    if (now_ns - tracing->counts_ns < COUNTS_EVERY_NS || !leat_trace_has_room(tracing->trace, 1))
        return;
    tracing->counts_ns = now_ns;
    leat_trace_add(tracing->trace, &(struct leat_trace_event){
                                       .kind = LEAT_TRACE_COUNTS,
                                       .run = tracing->number,
                                       .file = LEAT_TRACE_NO_FILE,
                                       .n_rows = (uint32_t)n_slots,
                                       .start_ns = now_ns,
                                       .n_bytes = n_bytes,
                                       .epoch = n_blocks,
                                   });
}

void leat_run_tracing_add_job(struct leat_run_tracing *tracing, const struct leat_job *job) {
    struct leat_trace *trace = tracing->trace;
    size_t n_stages = trace ? n_stages_of(tracing, job) : 0;
    struct leat_trace_event event;

    if (!trace || !leat_trace_has_room(trace, 1 + n_stages))
        return;
    fill(tracing, job, &event);
    leat_trace_add(trace, &event);
    if (n_stages > 0)
        add_stages(tracing, job, &event);
}

void leat_run_tracing_add_order(struct leat_run_tracing *tracing, uint64_t n_rows,
                                uint64_t start_ns, uint64_t duration_ns) {
    struct leat_trace *trace = tracing->trace;

    if (trace && leat_trace_has_room(trace, 1))
        leat_trace_add(trace, &(struct leat_trace_event){
                                  .kind = LEAT_TRACE_LOOP,
                                  .name = name_of(tracing, leat_role_name(LEAT_ROLE_ORDER)),
                                  .run = tracing->number,
                                  .file = LEAT_TRACE_NO_FILE,
                                  .n_rows = (uint32_t)n_rows,
                                  .start_ns = start_ns,
                                  .duration_ns = duration_ns,
                              });
}

void leat_run_tracing_add_output(struct leat_run_tracing *tracing,
                                 const struct leat_output_entry *entry) {
    struct leat_trace *trace = tracing->trace;

    if (!trace || entry->output.kind != LEAT_OUTPUT_BATCH || !leat_trace_has_room(trace, 1))
        return;
    leat_trace_add(trace, &(struct leat_trace_event){
                              .kind = LEAT_TRACE_BATCH,
                              .name = name_of(tracing, "batch"),
                              .thread = entry->thread,
                              .run = tracing->number,
                              .file = LEAT_TRACE_NO_FILE,
                              .n_rows = entry->output.n_rows,
                              .start_ns = entry->made_ns,
                              .duration_ns = now(tracing) - entry->made_ns,
                              .n_bytes = entry->output.used_bytes,
                              .epoch = entry->output.epoch,
                              .place = entry->output.step,
                          });
}
