/* profile.c: see profile.h. A table of columns: each says what stands there for a stage. */
#include "client/cli/base/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/units.h"
#include "pipeline/run/bound.h"
#include "proto/base/shown.h"

#define MIN_LIFETIME_NS 1000000 /* shorter ones tell nothing of who waits for whom */

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

/* Of several trainers on average. A daemon of before says nothing of how long they were there. */
static double waited_of(const Leat__StreamStats *stats) {
    return share_of(stats->wait_ns, stats->trainer_ns ? stats->trainer_ns : stats->lifetime_ns);
}

static double no_slot_of(const Leat__StreamStats *stats) {
    return share_of(stats->no_slot_ns, stats->lifetime_ns);
}

static bool is_known(const Leat__StreamStats *stats) {
    return stats->lifetime_ns >= MIN_LIFETIME_NS && (stats->no_slot_ns > 0 || stats->n_waits > 0);
}

static const Leat__StageStats *slowest(const Leat__StreamStats *stats) {
    const Leat__StageStats *slowest = NULL;

    for (size_t i = 0; i < stats->n_stages; i++)
        if (!slowest || stats->stages[i]->busy_ns > slowest->busy_ns)
            slowest = stats->stages[i];
    return slowest && slowest->busy_ns > 0 ? slowest : NULL;
}

static void add_slowest(struct leat_text *text, const Leat__StreamStats *stats) {
    const Leat__StageStats *stage = slowest(stats);
    uint64_t all_ns = all_busy_ns(stats);

    if (!stage)
        return;
    leat_text_add(text, "%s takes %.0f %% of the busy time", stage->name,
                  100 * share_of(stage->busy_ns, all_ns));
    if (stats->lifetime_ns >= MIN_LIFETIME_NS)
        leat_text_add(text, " (%.1f threads were busy on average)",
                      share_of(all_ns, stats->lifetime_ns));
}

static void add_verdict(struct leat_text *text, const Leat__StreamStats *stats) {
    double waited = waited_of(stats), no_slot = no_slot_of(stats);

    switch (is_known(stats) ? leat_bound_slower(waited, no_slot) : LEAT_N_SLOWER) {
    case LEAT_SLOWER_TRAINERS:
        leat_text_add(text,
                      "trainers are slower than the pipeline: %.0f %% of the time a batch was "
                      "waiting for a free slot; ",
                      100 * no_slot);
        break;
    case LEAT_SLOWER_PIPELINE:
        leat_text_add(text,
                      "the pipeline is slower than its trainers: %.0f %% of the time one waited "
                      "for a batch; ",
                      100 * waited);
        break;
    case LEAT_SLOWER_NEITHER:
        leat_text_add(text,
                      "neither waits much for the other: trainers %.0f %% of the time, the "
                      "pipeline %.0f %%; ",
                      100 * waited, 100 * no_slot);
        break;
    case LEAT_N_SLOWER:
        break;
    }
    add_slowest(text, stats);
}

/* ---- as a table ---- */

typedef const char *cell(const Leat__StageStats *stage, uint64_t all_ns,
                         char buffer[LEAT_CLI_UNIT_MAX]);

static const char *name(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    (void)buffer;
    return stage->name;
}

static const char *share(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.1f %%", 100 * share_of(stage->busy_ns, all_ns));
    return buffer;
}

static const char *busy(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(stage->busy_ns, buffer);
}

static const char *jobs(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_count(stage->n_jobs, buffer);
}

static uint64_t mean_ns(const Leat__StageStats *stage) {
    return stage->n_jobs > 0 ? stage->busy_ns / stage->n_jobs : 0;
}

static const char *mean(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(mean_ns(stage), buffer);
}

static const char *least(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(stage->min_ns, buffer);
}

static const char *median(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(stage->p50_ns, buffer);
}

static const char *high(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(stage->p99_ns, buffer);
}

static const char *most(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_duration(stage->max_ns, buffer);
}

static const char *records(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return stage->n_records > 0 ? leat_cli_count(stage->n_records, buffer) : "-";
}

static const char *per_record(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return stage->n_records > 0 ? leat_cli_duration(stage->busy_ns / stage->n_records, buffer)
                                : "-";
}

static const char *bytes(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return stage->n_bytes > 0 ? leat_cli_bytes(stage->n_bytes, buffer) : "-";
}

static const char *errors(const Leat__StageStats *stage, uint64_t all_ns, char *buffer) {
    (void)all_ns;
    return leat_cli_count(stage->n_errors, buffer);
}

static const struct {
    const char *label;
    cell *cell;
} columns[] = {
    {"stage", name},    {"share", share},     {"busy", busy},           {"blocks", jobs},
    {"mean", mean},     {"min", least},       {"p50", median},          {"p99", high},
    {"max", most},      {"records", records}, {"a record", per_record}, {"bytes", bytes},
    {"errors", errors},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* What did nothing is no line. */
static bool is_shown(const Leat__StageStats *stage) {
    return stage->n_jobs > 0 || stage->n_errors > 0;
}

static void add_cell(struct leat_text *text, const char *value, size_t width, bool is_left) {
    size_t n = leat_show(NULL, 0, value);
    int n_blanks = (int)(n < width ? width - n : 0);

    leat_text_add(text, "%*s", is_left ? 0 : n_blanks, "");
    leat_text_add_shown(text, value);
    leat_text_add(text, "%*s", is_left ? n_blanks : 0, "");
}

static size_t width_of(const Leat__StreamStats *stats, size_t column, uint64_t all_ns) {
    size_t width = strlen(columns[column].label);
    char buffer[LEAT_CLI_UNIT_MAX];

    for (size_t i = 0; i < stats->n_stages; i++) {
        size_t n = leat_show(NULL, 0, columns[column].cell(stats->stages[i], all_ns, buffer));

        if (is_shown(stats->stages[i]) && n > width)
            width = n;
    }
    return width;
}

static void add_row(struct leat_text *text, const Leat__StageStats *stage, uint64_t all_ns,
                    const size_t *widths) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (size_t i = 0; i < N_COLUMNS; i++) {
        leat_text_add(text, i == 0 ? "    " : "  ");
        add_cell(text, stage ? columns[i].cell(stage, all_ns, buffer) : columns[i].label, widths[i],
                 i == 0);
    }
    leat_text_add(text, "\n");
}

static void add_table(struct leat_text *text, const Leat__StreamStats *stats) {
    uint64_t all_ns = all_busy_ns(stats);
    size_t widths[N_COLUMNS];
    bool has_any = false;

    for (size_t i = 0; i < stats->n_stages; i++)
        has_any |= is_shown(stats->stages[i]);
    if (!has_any)
        return;
    for (size_t i = 0; i < N_COLUMNS; i++)
        widths[i] = width_of(stats, i, all_ns);
    add_row(text, NULL, all_ns, widths);
    for (size_t i = 0; i < stats->n_stages; i++)
        if (is_shown(stats->stages[i]))
            add_row(text, stats->stages[i], all_ns, widths);
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

static void add_stage(struct leat_text *text, const Leat__StageStats *stage, uint64_t all_ns) {
    leat_text_add(text, "{\"name\": ");
    leat_text_add_json(text, stage->name, strlen(stage->name));
    leat_text_add(text, ", \"role\": ");
    leat_text_add_json(text, stage->role, strlen(stage->role));
    leat_text_add(text,
                  ", \"n_jobs\": %" PRIu64 ", \"n_records\": %" PRIu64 ", \"n_bytes\": %" PRIu64
                  ", \"n_errors\": %" PRIu64 ", \"busy_ns\": %" PRIu64 ", \"share\": %.6f",
                  stage->n_jobs, stage->n_records, stage->n_bytes, stage->n_errors, stage->busy_ns,
                  share_of(stage->busy_ns, all_ns));
    leat_text_add(text,
                  ", \"mean_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64
                  ", \"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64 ", \"ns_per_record\": %.1f}",
                  mean_ns(stage), stage->min_ns, stage->max_ns, stage->p50_ns, stage->p99_ns,
                  share_of(stage->busy_ns, stage->n_records));
}

void leat_cli_profile_json(struct leat_text *text, const Leat__StreamStats *stats) {
    const char *bound =
        is_known(stats) ? leat_slower_name(leat_bound_slower(waited_of(stats), no_slot_of(stats)))
                        : NULL;
    uint64_t all_ns = all_busy_ns(stats);
    struct leat_text verdict = {.data = NULL};

    add_verdict(&verdict, stats);
    leat_text_add(text, "\"bound_by\": %s%s%s", bound ? "\"" : "", bound ? bound : "null",
                  bound ? "\"" : "");
    leat_text_add(text, ", \"verdict\": ");
    leat_text_add_json(text, verdict.data ? verdict.data : "", verdict.n_bytes);
    leat_text_add(text, ", \"stages\": [");
    for (size_t i = 0; i < stats->n_stages; i++) {
        leat_text_add(text, i ? ", " : "");
        add_stage(text, stats->stages[i], all_ns);
    }
    leat_text_add(text, "]");
    free(verdict.data);
}

/* ---- of a run in this process ---- */

static void fill_stage(Leat__StageStats *message, const struct leat_run_stage_stats *stage) {
    leat__stage_stats__init(message);
    message->name = (char *)(uintptr_t)stage->name;
    message->role = (char *)(uintptr_t)leat_role_name(stage->role);
    message->n_records = stage->n_records;
    message->n_bytes = stage->n_bytes;
    message->n_errors = stage->n_errors;
    message->busy_ns = stage->busy_ns;
    message->n_jobs = stage->times.n;
    message->min_ns = stage->times.min;
    message->max_ns = stage->times.max;
    message->p50_ns = leat_histogram_quantile(&stage->times, 0.5);
    message->p99_ns = leat_histogram_quantile(&stage->times, 0.99);
}

Leat__StreamStats *leat_cli_profile_of_run(const struct leat_run *run) {
    Leat__StreamStats *message = malloc(sizeof(*message));
    struct leat_run_stats stats;
    Leat__StageStats *stages;

    leat_run_get_stats(run, &stats);
    stages = calloc(stats.n_stages, sizeof(*stages));
    if (message)
        leat__stream_stats__init(message);
    if (message)
        message->stages = calloc(stats.n_stages, sizeof(*message->stages));
    if (!message || !stages || !message->stages) {
        free(stages);
        if (message)
            free(message->stages);
        free(message);
        return NULL;
    }
    message->lifetime_ns = stats.lifetime_ns;
    for (; message->n_stages < stats.n_stages; message->n_stages++) {
        message->stages[message->n_stages] = &stages[message->n_stages];
        fill_stage(&stages[message->n_stages], &stats.stages[message->n_stages]);
    }
    return message;
}

Leat__StreamStats *leat_cli_profile_free(Leat__StreamStats *stats) {
    if (!stats)
        return NULL;
    if (stats->n_stages > 0)
        free(stats->stages[0]);
    free(stats->stages);
    free(stats);
    return NULL;
}
