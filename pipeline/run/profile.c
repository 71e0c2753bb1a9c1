/* run/profile.c: what takes the time of a run: a line for each thing that is done, filled from what
 * the jobs bring back.
 *
 * Nothing is counted by record, and nothing is shared with workers: a job measures itself and its
 * stages, and tells when it is back. Without a clock times stay 0.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run_internal.h"

static const char *const role_names[LEAT_N_ROLES] = {
    [LEAT_ROLE_SCAN] = "scan",
    [LEAT_ROLE_DECODE] = "decode",
    [LEAT_ROLE_SOURCE] = "source",
    [LEAT_ROLE_MAP] = "map",
    [LEAT_ROLE_ORDER] = "order",
    [LEAT_ROLE_COLLATE] = "collate",
    [LEAT_ROLE_CACHE] = "cache",
    [LEAT_ROLE_CACHE_WRITE] = "cache_write",
    [LEAT_ROLE_QUARANTINE] = "quarantine",
};

const char *leat_role_name(enum leat_role role) {
    return role_names[role];
}

static uint64_t now(const struct leat_run *run) {
    return run->options.now_ns ? run->options.now_ns() : 0;
}

/* ---- life ---- */

static void add_line(struct leat_run_profile *profile, enum leat_role role, const char *name) {
    profile->lines[profile->n_lines].role = role;
    profile->lines[profile->n_lines++].name = name ? name : role_names[role];
}

static void add_role(struct leat_run_profile *profile, enum leat_role role, const char *name) {
    profile->line_of[role] = (uint16_t)profile->n_lines;
    add_line(profile, role, name);
}

static bool has_cache(const struct leat_run *run) {
    return run->plan->cache_path || run->options.cache_folder;
}

int leat_run_profile_init(struct leat_run *run, struct leat_error *err) {
    struct leat_run_profile *profile = &run->profile;
    const struct leat_plan *plan = run->plan;

    profile->lines = calloc(LEAT_N_ROLES + plan->n_map, sizeof(*profile->lines));
    if (!profile->lines)
        return leat_error_oom(err);
    add_role(profile, LEAT_ROLE_SCAN, NULL);
    add_role(profile, LEAT_ROLE_DECODE, NULL);
    if (has_cache(run))
        add_role(profile, LEAT_ROLE_CACHE, NULL);
    add_role(profile, LEAT_ROLE_SOURCE, plan->source_ops->name);
    profile->line_of[LEAT_ROLE_MAP] = (uint16_t)profile->n_lines;
    for (size_t i = 0; i < plan->n_map; i++)
        add_line(profile, LEAT_ROLE_MAP, plan->map[i]->ops->name);
    if (has_cache(run))
        add_role(profile, LEAT_ROLE_CACHE_WRITE, NULL);
    add_role(profile, LEAT_ROLE_ORDER, NULL);
    add_role(profile, LEAT_ROLE_COLLATE, NULL);
    add_role(profile, LEAT_ROLE_QUARANTINE, NULL);
    profile->start_ns = now(run);
    return 0;
}

void leat_run_profile_deinit(struct leat_run *run) {
    if (!run->whole)
        free(run->profile.lines);
}

/* ---- counts ---- */

static struct leat_run_stage_stats *line_of(struct leat_run *run, enum leat_role role) {
    return &run->profile.lines[run->profile.line_of[role]];
}

static void add_count(struct leat_run_stage_stats *line, const struct leat_stage_count *count) {
    if (!count->is_done)
        return;
    line->n_records += count->n_records;
    line->n_bytes += count->n_bytes;
    line->busy_ns += count->busy_ns;
    line->n_errors += count->n_errors;
    leat_histogram_add(&line->times, count->busy_ns);
}

static void add_job(struct leat_run *run, enum leat_role role, const struct leat_job *job,
                    uint64_t n_records, uint64_t n_bytes) {
    add_count(line_of(run, role), &(struct leat_stage_count){.n_records = n_records,
                                                             .n_bytes = n_bytes,
                                                             .busy_ns = job->busy_ns,
                                                             .n_errors = job->error.code != 0,
                                                             .is_done = true});
}

static void add_scan(struct leat_run *run, const struct leat_job *job) {
    uint64_t n_records = 0;

    for (size_t i = 0; i < job->scan.n_pieces; i++)
        n_records += job->scan.pieces[i].span.n_records;
    add_job(run, LEAT_ROLE_SCAN, job, n_records, job->n_bytes);
}

static void add_map(struct leat_run *run, const struct leat_map_job *map) {
    if (!map->counts)
        return;
    if (has_cache(run)) {
        add_count(line_of(run, LEAT_ROLE_CACHE), &map->counts[LEAT_COUNT_LOAD]);
        add_count(line_of(run, LEAT_ROLE_CACHE_WRITE), &map->counts[LEAT_COUNT_STORE]);
    }
    add_count(line_of(run, LEAT_ROLE_SOURCE), &map->counts[LEAT_COUNT_SOURCE]);
    for (size_t i = 0; i < run->plan->n_map; i++)
        add_count(line_of(run, LEAT_ROLE_MAP) + i, &map->counts[LEAT_COUNT_STAGES + i]);
}

static void add_collate(struct leat_run *run, const struct leat_job *job) {
    uint64_t n_rows = 0, n_bytes = 0;

    for (size_t i = 0; i < job->collate.n_items; i++) {
        n_rows += job->collate.items[i].batch->n_refs;
        n_bytes += job->collate.items[i].used_bytes;
    }
    add_job(run, LEAT_ROLE_COLLATE, job, n_rows, n_bytes);
}

void leat_run_profile_job(struct leat_run *run, const struct leat_job *job) {
    switch (job->kind) {
    case LEAT_JOB_SCAN:
        add_scan(run, job);
        return;
    case LEAT_JOB_DECODE:
        add_job(run, LEAT_ROLE_DECODE, job, 0, job->n_bytes);
        return;
    case LEAT_JOB_MAP:
        add_map(run, &job->map);
        return;
    case LEAT_JOB_COLLATE:
        add_collate(run, job);
        return;
    case LEAT_JOB_CACHE:
        if (has_cache(run))
            add_job(run, LEAT_ROLE_CACHE_WRITE, job, 0, 0);
        return;
    case LEAT_JOB_QUARANTINE:
        add_job(run, LEAT_ROLE_QUARANTINE, job, 0, job->quarantine.n_bytes);
        return;
    default:
        return;
    }
}

void leat_run_profile_consume(struct leat_run *run) {
    uint64_t n_rows = run->n_order_rows, start_ns = now(run), busy_ns;

    leat_run_consume(run);
    n_rows = run->n_order_rows - n_rows;
    if (n_rows == 0)
        return;
    busy_ns = now(run) - start_ns;
    add_count(line_of(run, LEAT_ROLE_ORDER),
              &(struct leat_stage_count){.n_records = n_rows, .busy_ns = busy_ns, .is_done = true});
    if (run->tracing.trace)
        leat_run_trace_order(run, n_rows, start_ns, busy_ns);
}

/* ---- waiting ---- */

static void set_span(struct leat_run *run, struct leat_run_span_ns *span, bool is_on) {
    if (span->is_on == is_on)
        return;
    span->is_on = is_on;
    if (is_on)
        span->since_ns = now(run);
    else
        span->sum_ns += now(run) - span->since_ns;
}

static uint64_t span_ns(const struct leat_run_span_ns *span, uint64_t now_ns) {
    return span->sum_ns + (span->is_on ? now_ns - span->since_ns : 0);
}

/* True if the first batch in line waits for nothing but trainers. */
static bool is_held(struct leat_run *run, const struct leat_batch_refs *first) {
    return first->kind == LEAT_OUTPUT_BATCH &&
           (leat_run_slot_room(run) == 0 || !leat_run_may_make_first(run)) &&
           leat_residents_have_first(run);
}

void leat_run_profile_watch(struct leat_run *run, bool has_ended) {
    const struct leat_batch_refs *first = run->order.batcher.first;

    if (has_ended && !run->profile.end_ns)
        run->profile.end_ns = now(run);
    set_span(run, &run->profile.no_slot,
             !has_ended && run->n_collate_out == 0 &&
                 (first ? is_held(run, first) : leat_run_is_at_horizon(run)));
    set_span(run, &run->profile.is_short, !has_ended && run->memory.is_short);
}

void leat_run_profile_get_stats(const struct leat_run *run, struct leat_run_stats *stats) {
    const struct leat_run_profile *profile = &run->profile;
    uint64_t now_ns = profile->end_ns ? profile->end_ns : now(run);

    stats->lifetime_ns = now_ns - profile->start_ns;
    stats->no_slot_ns = span_ns(&profile->no_slot, now_ns);
    stats->short_ns = span_ns(&profile->is_short, now_ns);
    stats->stages = profile->lines;
    stats->n_stages = profile->n_lines;
}
