#include "client/cli/base/profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/cli/base/units.h"
#include "proto/base/json_writer.h"

#define MIN_LIFETIME_NS 1000000 /* a shorter life does not show which side waits */

static uint64_t all_busy_ns(const Leat__StreamStats *stats) {
    uint64_t busy_ns = 0;

    for (size_t i = 0; i < stats->n_stages; i++)
        busy_ns += stats->stages[i]->busy_ns;
    return busy_ns;
}

static double share_of(uint64_t part, uint64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- in words ---- */

/* The share of the time that the trainers waited, on average. An older daemon does not count how
 * long they were there. */
static double waited_share(const Leat__StreamStats *stats) {
    return share_of(stats->wait_ns, stats->trainer_ns ? stats->trainer_ns : stats->lifetime_ns);
}

static double no_slot_share(const Leat__StreamStats *stats) {
    return share_of(stats->no_slot_ns, stats->lifetime_ns);
}

static bool is_known(const Leat__StreamStats *stats) {
    return stats->lifetime_ns >= MIN_LIFETIME_NS && (stats->no_slot_ns > 0 || stats->n_waits > 0);
}

static const Leat__StageStats *find_slowest(const Leat__StreamStats *stats) {
    const Leat__StageStats *slowest = NULL;

    for (size_t i = 0; i < stats->n_stages; i++)
        if (!slowest || stats->stages[i]->busy_ns > slowest->busy_ns)
            slowest = stats->stages[i];
    return slowest && slowest->busy_ns > 0 ? slowest : NULL;
}

static void add_slowest(struct leat_text *text, const Leat__StreamStats *stats) {
    const Leat__StageStats *stage = find_slowest(stats);
    uint64_t all_ns = all_busy_ns(stats);

    if (!stage)
        return;
    leat_text_add(text, "the stage %s takes %.0f %% of the busy time", stage->name,
                  100 * share_of(stage->busy_ns, all_ns));
    if (stats->lifetime_ns >= MIN_LIFETIME_NS)
        leat_text_add(text, " (%.1f threads were busy on average)",
                      share_of(all_ns, stats->lifetime_ns));
}

static void add_verdict(struct leat_text *text, const Leat__StreamStats *stats) {
    double waited = waited_share(stats), no_slot = no_slot_share(stats);

    switch (is_known(stats) ? leat_bound_slower(waited, no_slot) : LEAT_N_SLOWER) {
    case LEAT_SLOWER_TRAINERS:
        leat_text_add(text,
                      "trainers are slower than the pipeline: a batch waited for a free slot %.0f "
                      "%% of the time; ",
                      100 * no_slot);
        break;
    case LEAT_SLOWER_PIPELINE:
        leat_text_add(text,
                      "the pipeline is slower than its trainers: a trainer waited for a batch %.0f "
                      "%% of the time; ",
                      100 * waited);
        break;
    case LEAT_SLOWER_NEITHER:
        leat_text_add(text,
                      "trainers waited %.0f %% of the time, and the pipeline %.0f %%, so neither "
                      "is much slower than the other; ",
                      100 * waited, 100 * no_slot);
        break;
    case LEAT_N_SLOWER:
        break;
    }
    add_slowest(text, stats);
}

/* ---- as a table ---- */

static uint64_t mean_ns(const Leat__StageStats *stage) {
    return stage->n_jobs > 0 ? stage->busy_ns / stage->n_jobs : 0;
}

/* Stages that did nothing are left out. */
static bool is_shown(const Leat__StageStats *stage) {
    return stage->n_jobs > 0 || stage->n_errors > 0;
}

static const char *const columns[] = {"stage",    "percent", "busy",  "blocks", "mean",
                                      "min",      "p50",     "p99",   "max",    "records",
                                      "a record", "bytes",   "errors"};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* A cell for each column. */
static void add_row(struct leat_cli_grid *grid, const Leat__StageStats *stage, uint64_t all_ns) {
    const uint64_t times_ns[] = {mean_ns(stage), stage->min_ns, stage->p50_ns, stage->p99_ns,
                                 stage->max_ns};
    uint64_t n_records = stage->n_records;
    char text[LEAT_CLI_UNIT_MAX];

    (void)snprintf(text, sizeof(text), "%.1f %%", 100 * share_of(stage->busy_ns, all_ns));
    leat_cli_grid_add(grid, stage->name);
    leat_cli_grid_add(grid, text);
    leat_cli_grid_add(grid, leat_cli_duration(stage->busy_ns, text));
    leat_cli_grid_add(grid, leat_cli_count(stage->n_jobs, text));
    for (size_t i = 0; i < sizeof(times_ns) / sizeof(times_ns[0]); i++)
        leat_cli_grid_add(grid, leat_cli_duration(times_ns[i], text));
    leat_cli_grid_add(grid, n_records ? leat_cli_count(n_records, text) : "-");
    leat_cli_grid_add(grid, n_records ? leat_cli_duration(stage->busy_ns / n_records, text) : "-");
    leat_cli_grid_add(grid, stage->n_bytes ? leat_cli_bytes(stage->n_bytes, text) : "-");
    leat_cli_grid_add(grid, leat_cli_count(stage->n_errors, text));
}

static void add_table(struct leat_text *text, const Leat__StreamStats *stats) {
    uint64_t all_ns = all_busy_ns(stats);
    struct leat_cli_grid grid;
    size_t n_shown = 0;

    leat_cli_grid_init(&grid, N_COLUMNS);
    grid.indent = 4;
    for (size_t i = 0; i < stats->n_stages; i++) {
        if (!is_shown(stats->stages[i]))
            continue;
        for (size_t c = 0; n_shown == 0 && c < N_COLUMNS; c++)
            leat_cli_grid_add(&grid, columns[c]);
        add_row(&grid, stats->stages[i], all_ns);
        n_shown++;
    }
    leat_cli_grid_print(&grid, text);
}

void leat_cli_profile_text(struct leat_text *text, const Leat__StreamStats *stats) {
    struct leat_text verdict = {.data = NULL};

    add_verdict(&verdict, stats);
    if (verdict.n_bytes > 0)
        leat_text_add_line(text, "  %s", verdict.data);
    free(verdict.data);
    add_table(text, stats);
}

/* ---- as JSON ---- */

static void add_stage(struct leat_text *json, const Leat__StageStats *stage, uint64_t all_ns) {
    leat_json_open(json, NULL, '{');
    leat_cli_message_fields(json, stage, NULL);
    leat_json_add_double(json, "share", share_of(stage->busy_ns, all_ns));
    leat_json_add_uint(json, "mean_ns", mean_ns(stage));
    leat_json_add_double(json, "ns_per_record", share_of(stage->busy_ns, stage->n_records));
    leat_json_close(json, '}');
}

void leat_cli_profile_json(struct leat_text *json, const Leat__StreamStats *stats) {
    uint64_t all_ns = all_busy_ns(stats);
    struct leat_text verdict = {.data = NULL};

    add_verdict(&verdict, stats);
    leat_json_add_text(json, "bound_by",
                       is_known(stats) ? leat_slower_name(leat_bound_slower(waited_share(stats),
                                                                            no_slot_share(stats)))
                                       : NULL);
    leat_json_add_text(json, "verdict", verdict.data ? verdict.data : "");
    leat_json_open(json, "stages", '[');
    for (size_t i = 0; i < stats->n_stages; i++)
        add_stage(json, stats->stages[i], all_ns);
    leat_json_close(json, ']');
    free(verdict.data);
}

/* ---- of a run in this process ---- */

static void fill_stage(Leat__StageStats *message, const struct leat_run_stage_stats *stage) {
    leat__stage_stats__init(message);
    message->name = (char *)(uintptr_t)stage->name;
    message->role = (char *)(uintptr_t)leat_role_name(stage->role);
    message->n_records = stage->figures.n_records;
    message->n_bytes = stage->figures.n_bytes;
    message->n_errors = stage->figures.n_errors;
    message->busy_ns = stage->figures.busy_ns;
    message->n_jobs = stage->times.n;
    message->min_ns = stage->times.min;
    message->max_ns = stage->times.max;
    message->p50_ns = leat_histogram_quantile(&stage->times, 0.5);
    message->p99_ns = leat_histogram_quantile(&stage->times, 0.99);
}

Leat__StreamStats *leat_cli_profile_of_run(const struct leat_run *run) {
    struct leat_run_stats stats;
    Leat__StreamStats *message;
    Leat__StageStats *stages;

    leat_run_get_stats(run, &stats);
    message = malloc(sizeof(*message) + stats.n_stages * (sizeof(*stages) + sizeof(stages)));
    if (!message)
        return NULL;
    leat__stream_stats__init(message);
    stages = (Leat__StageStats *)(void *)(message + 1);
    message->stages = (Leat__StageStats **)(void *)(stages + stats.n_stages);
    message->lifetime_ns = stats.counts.figures.lifetime_ns;
    for (; message->n_stages < stats.n_stages; message->n_stages++) {
        message->stages[message->n_stages] = &stages[message->n_stages];
        fill_stage(&stages[message->n_stages], &stats.stages[message->n_stages]);
    }
    return message;
}
