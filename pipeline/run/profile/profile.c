#include "pipeline/run/profile/profile.h"

#include <stdlib.h>

#include "pipeline/work/job.h"

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

uint64_t leat_profile_now(const struct leat_profile *profile) {
    return profile->now_ns ? profile->now_ns() : 0;
}

static void add_line(struct leat_profile *profile, enum leat_role role, const char *name) {
    profile->lines[profile->n_lines].role = role;
    profile->lines[profile->n_lines++].name = name ? name : role_names[role];
}

static void add_role(struct leat_profile *profile, enum leat_role role, const char *name) {
    profile->line_of[role] = (uint16_t)profile->n_lines;
    add_line(profile, role, name);
}

int leat_profile_init(struct leat_profile *profile, const struct leat_plan *plan, bool has_cache,
                      uint64_t (*now_ns)(void), struct leat_error *err) {
    *profile =
        (struct leat_profile){.n_map = plan->n_map, .has_cache = has_cache, .now_ns = now_ns};
    profile->lines = calloc(LEAT_N_ROLES + plan->n_map, sizeof(*profile->lines));
    if (!profile->lines)
        return leat_error_oom(err);
    add_role(profile, LEAT_ROLE_SCAN, NULL);
    add_role(profile, LEAT_ROLE_DECODE, NULL);
    if (has_cache)
        add_role(profile, LEAT_ROLE_CACHE, NULL);
    add_role(profile, LEAT_ROLE_SOURCE, plan->source_ops->name);
    profile->line_of[LEAT_ROLE_MAP] = (uint16_t)profile->n_lines;
    for (size_t i = 0; i < plan->n_map; i++)
        add_line(profile, LEAT_ROLE_MAP, plan->map[i]->ops->name);
    if (has_cache)
        add_role(profile, LEAT_ROLE_CACHE_WRITE, NULL);
    add_role(profile, LEAT_ROLE_ORDER, NULL);
    add_role(profile, LEAT_ROLE_COLLATE, NULL);
    add_role(profile, LEAT_ROLE_QUARANTINE, NULL);
    profile->start_ns = leat_profile_now(profile);
    return 0;
}

void leat_profile_deinit(struct leat_profile *profile) {
    free(profile->lines);
}

static struct leat_run_stage_stats *line_of(struct leat_profile *profile, enum leat_role role) {
    return &profile->lines[profile->line_of[role]];
}

static void add_count(struct leat_run_stage_stats *line, const struct leat_stage_count *count) {
    if (!count->is_done)
        return;
    line->figures.n_jobs++;
    line->figures.n_records += count->n_records;
    line->figures.n_bytes += count->n_bytes;
    line->figures.busy_ns += count->busy_ns;
    line->figures.n_errors += count->n_errors;
    leat_histogram_add(&line->times, count->busy_ns);
}

static void add_job(struct leat_profile *profile, enum leat_role role, const struct leat_job *job,
                    uint64_t n_records, uint64_t n_bytes) {
    add_count(line_of(profile, role), &(struct leat_stage_count){.n_records = n_records,
                                                                 .n_bytes = n_bytes,
                                                                 .busy_ns = job->busy_ns,
                                                                 .n_errors = job->error.code != 0,
                                                                 .is_done = true});
}

static void add_scan(struct leat_profile *profile, const struct leat_job *job) {
    uint64_t n_records = 0;

    for (size_t i = 0; i < job->scan.n_pieces; i++)
        n_records += job->scan.pieces[i].span.n_records;
    add_job(profile, LEAT_ROLE_SCAN, job, n_records, job->n_bytes);
}

static void add_map(struct leat_profile *profile, const struct leat_map_job *map) {
    if (!map->counts)
        return;
    if (profile->has_cache) {
        add_count(line_of(profile, LEAT_ROLE_CACHE), &map->counts[LEAT_COUNT_LOAD]);
        add_count(line_of(profile, LEAT_ROLE_CACHE_WRITE), &map->counts[LEAT_COUNT_STORE]);
    }
    add_count(line_of(profile, LEAT_ROLE_SOURCE), &map->counts[LEAT_COUNT_SOURCE]);
    for (size_t i = 0; i < profile->n_map; i++)
        add_count(line_of(profile, LEAT_ROLE_MAP) + i, &map->counts[LEAT_COUNT_STAGES + i]);
}

static void add_collate(struct leat_profile *profile, const struct leat_job *job) {
    uint64_t n_rows = 0, n_bytes = 0;

    for (size_t i = 0; i < job->collate.n_items; i++) {
        n_rows += job->collate.items[i].batch->n_refs;
        n_bytes += job->collate.items[i].used_bytes;
    }
    add_job(profile, LEAT_ROLE_COLLATE, job, n_rows, n_bytes);
}

/* The usage is measured around the job, so it is cut to the job's time. */
static void count_job(struct leat_profile *profile, const struct leat_job *job) {
    uint64_t cpu_ns = job->usage.cpu_ns < job->busy_ns ? job->usage.cpu_ns : job->busy_ns;
    uint64_t rest_ns = job->busy_ns - cpu_ns;
    struct leat_run_job_stats *jobs = &profile->jobs[job->kind];

    jobs->n_jobs++;
    jobs->busy_ns += job->busy_ns;
    jobs->cpu_ns += cpu_ns;
    jobs->delay_ns += job->usage.delay_ns < rest_ns ? job->usage.delay_ns : rest_ns;
    jobs->queue_ns += job->usage.queue_ns;
    if (job->kind != LEAT_JOB_MAP || job->map.load.is_there || job->map.gather || job->map.rows ||
        job->map.is_partial)
        return;
    profile->n_made_blocks++;
    profile->n_made_bytes += job->map.piece.span.n_bytes;
}

static void add_by_kind(struct leat_profile *profile, const struct leat_job *job) {
    switch (job->kind) {
    case LEAT_JOB_SCAN:
        add_scan(profile, job);
        return;
    case LEAT_JOB_DECODE:
        add_job(profile, LEAT_ROLE_DECODE, job, 0, job->n_bytes);
        return;
    case LEAT_JOB_MAP:
        add_map(profile, &job->map);
        return;
    case LEAT_JOB_COLLATE:
        add_collate(profile, job);
        return;
    case LEAT_JOB_CACHE:
        if (profile->has_cache)
            add_job(profile, LEAT_ROLE_CACHE_WRITE, job, 0, 0);
        return;
    case LEAT_JOB_QUARANTINE:
        add_job(profile, LEAT_ROLE_QUARANTINE, job, 0, job->quarantine.n_bytes);
        return;
    default:
        return;
    }
}

void leat_profile_add_job(struct leat_profile *profile, const struct leat_job *job) {
    count_job(profile, job);
    add_by_kind(profile, job);
}

void leat_profile_add_order(struct leat_profile *profile, uint64_t n_rows, uint64_t busy_ns) {
    add_count(line_of(profile, LEAT_ROLE_ORDER),
              &(struct leat_stage_count){.n_records = n_rows, .busy_ns = busy_ns, .is_done = true});
}

void leat_job_stats_add(struct leat_run_job_stats *sums, const struct leat_run_job_stats *more) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        sums[i].n_jobs += more[i].n_jobs;
        sums[i].busy_ns += more[i].busy_ns;
        sums[i].cpu_ns += more[i].cpu_ns;
        sums[i].delay_ns += more[i].delay_ns;
        sums[i].queue_ns += more[i].queue_ns;
    }
}

static void time_span_set(struct leat_time_span *span, bool is_on,
                          const struct leat_profile *profile) {
    if (span->is_on == is_on)
        return;
    span->is_on = is_on;
    if (is_on)
        span->since_ns = leat_profile_now(profile);
    else
        span->sum_ns += leat_profile_now(profile) - span->since_ns;
}

static uint64_t time_span_sum(const struct leat_time_span *span, uint64_t now_ns) {
    return span->sum_ns + (span->is_on ? now_ns - span->since_ns : 0);
}

void leat_profile_watch(struct leat_profile *profile, bool has_ended, bool lacks_slot,
                        bool is_short) {
    if (has_ended && !profile->end_ns)
        profile->end_ns = leat_profile_now(profile);
    time_span_set(&profile->no_slot, !has_ended && lacks_slot, profile);
    time_span_set(&profile->is_short, !has_ended && is_short, profile);
}

void leat_profile_get_times(const struct leat_profile *profile,
                            struct leat_stream_figures *figures) {
    uint64_t now_ns = profile->end_ns ? profile->end_ns : leat_profile_now(profile);

    figures->lifetime_ns = now_ns - profile->start_ns;
    figures->no_slot_ns = time_span_sum(&profile->no_slot, now_ns);
    figures->short_ns = time_span_sum(&profile->is_short, now_ns);
}
