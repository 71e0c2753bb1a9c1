/* history.c: `leatctl stats --since`: what the daemon did lately, a line for each while. */
#include "client/cli/stats/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/clock.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/grid.h"
#include "client/cli/base/members.h"
#include "client/cli/base/units.h"

#define SECOND_NS UINT64_C(1000000000)

/* Of all streams of a sample. */
struct sums {
    uint64_t n_batches, n_rows, n_elements, n_source_bytes, wait_ns, no_slot_ns, n_sessions;
};

static struct sums sum_up(const Leat__Sample *sample) {
    struct sums sums = {.n_batches = 0};

    for (size_t i = 0; i < sample->n_streams; i++) {
        const Leat__StreamSample *stream = sample->streams[i];

        sums.n_batches += stream->n_batches;
        sums.n_rows += stream->n_rows;
        sums.n_elements += stream->n_elements;
        sums.n_source_bytes += stream->n_source_bytes;
        sums.wait_ns += stream->wait_ns;
        sums.no_slot_ns += stream->no_slot_ns;
        sums.n_sessions += stream->n_sessions;
    }
    return sums;
}

static void add_rate(struct leat_cli_grid *grid, uint64_t n, uint64_t duration_ns) {
    char cell[LEAT_CLI_UNIT_MAX];
    double rate = duration_ns ? (double)n * (double)SECOND_NS / (double)duration_ns : 0;

    if (rate > 0 && rate < 100) {
        (void)snprintf(cell, sizeof(cell), "%.1f", rate);
        leat_cli_grid_add(grid, cell);
        return;
    }
    leat_cli_grid_add(grid, leat_cli_count((uint64_t)(rate + 0.5), cell));
}

static void add_share(struct leat_cli_grid *grid, uint64_t part_ns, uint64_t whole_ns) {
    char cell[LEAT_CLI_UNIT_MAX];
    double share = whole_ns ? 100 * (double)part_ns / (double)whole_ns : 0;

    (void)snprintf(cell, sizeof(cell), "%.0f %%", share > 100 ? 100 : share);
    leat_cli_grid_add(grid, cell);
}

static void add_row(struct leat_cli_grid *grid, const Leat__Sample *sample) {
    struct sums sums = sum_up(sample);
    uint64_t ns = sample->duration_ns;
    time_t seconds = (time_t)(sample->unix_ns / SECOND_NS);
    char cell[LEAT_CLI_UNIT_MAX];
    struct tm parts;

    (void)localtime_r(&seconds, &parts);
    (void)strftime(cell, sizeof(cell), "%H:%M:%S", &parts);
    leat_cli_grid_add(grid, cell);
    leat_cli_grid_add(grid, leat_cli_duration(ns, cell));
    add_rate(grid, sums.n_batches, ns);
    add_rate(grid, sums.n_rows, ns);
    add_rate(grid, sums.n_elements, ns);
    leat_cli_grid_add(
        grid, leat_cli_bytes(
                  ns ? (uint64_t)((double)sums.n_source_bytes * (double)SECOND_NS / (double)ns) : 0,
                  cell));
    leat_cli_grid_add(grid, leat_cli_count(sums.n_sessions, cell));
    add_share(grid, sums.wait_ns, ns * (sums.n_sessions ? sums.n_sessions : 1));
    add_share(grid, sums.no_slot_ns, ns);
    add_share(grid, sample->worker_busy_ns, ns * sample->n_workers);
    leat_cli_grid_add(grid, leat_cli_bytes(sample->rss_bytes, cell));
}

static void add_head(struct leat_cli_grid *grid) {
    static const char *const names[] = {"until",    "over",    "batches/s", "rows/s",
                                        "tokens/s", "read/s",  "trainers",  "waited",
                                        "no slot",  "workers", "memory"};

    leat_cli_grid_init(grid, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        leat_cli_grid_add(grid, names[i]);
}

static void add_stages_json(struct leat_text *text, const Leat__StreamSample *stream) {
    for (size_t i = 0; i < stream->n_stages; i++) {
        const Leat__StageSample *stage = stream->stages[i];

        leat_text_add(text, "%s{\"name\": ", i ? ", " : "");
        leat_text_add_json(text, stage->name, strlen(stage->name));
        leat_text_add(text,
                      ", \"role\": \"%s\", \"busy_ns\": %" PRIu64 ", \"n_records\": %" PRIu64 "}",
                      stage->role, stage->busy_ns, stage->n_records);
    }
}

static void add_stream_json(struct leat_text *text, const Leat__StreamSample *stream) {
    leat_text_add(text, "{\"name\": ");
    leat_text_add_json(text, stream->name, strlen(stream->name));
    leat_text_add(text,
                  ", \"is_own\": %s, \"is_other\": %s, \"n_batches\": %" PRIu64
                  ", \"n_rows\": %" PRIu64 ", \"n_elements\": %" PRIu64
                  ", \"n_source_bytes\": %" PRIu64 ", \"n_bad_records\": %" PRIu64
                  ", \"wait_ns\": %" PRIu64 ", \"no_slot_ns\": %" PRIu64
                  ", \"n_sessions\": %u, \"n_slots\": %u, \"n_slots_free\": %u, \"n_jobs\": %u, "
                  "\"n_blocks\": %u, \"stages\": [",
                  stream->is_own ? "true" : "false", stream->is_other ? "true" : "false",
                  stream->n_batches, stream->n_rows, stream->n_elements, stream->n_source_bytes,
                  stream->n_bad_records, stream->wait_ns, stream->no_slot_ns, stream->n_sessions,
                  stream->n_slots, stream->n_slots_free, stream->n_jobs, stream->n_blocks);
    add_stages_json(text, stream);
    leat_text_add(text, "]}");
}

static void add_json(struct leat_text *text, const Leat__Sample *sample) {
    leat_text_add(
        text,
        "%s{\"at_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64 ", \"unix_ns\": %" PRIu64
        ", \"rss_bytes\": %" PRIu64 ", \"ring_bytes\": %" PRIu64 ", \"memory_used_bytes\": %" PRIu64
        ", \"cpu_ns\": %" PRIu64 ", \"loop_busy_ns\": %" PRIu64 ", \"worker_busy_ns\": %" PRIu64
        ", \"n_workers\": %u, \"n_sessions\": %u, \"streams\": [",
        text->n_bytes > 1 ? ",\n " : "", sample->at_ns, sample->duration_ns, sample->unix_ns,
        sample->rss_bytes, sample->ring_bytes, sample->memory_used_bytes, sample->cpu_ns,
        sample->loop_busy_ns, sample->worker_busy_ns, sample->n_workers, sample->n_sessions);
    for (size_t i = 0; i < sample->n_streams; i++) {
        leat_text_add(text, i ? ", " : "");
        add_stream_json(text, sample->streams[i]);
    }
    leat_text_add(text, "]}");
}

/* A reply has its bounds: what follows is asked for until nothing does. */
static int ask(const struct leat_cli_arguments *arguments, uint64_t *after_ns, bool *ret_is_all,
               struct leat_cli_grid *grid, struct leat_text *text, struct leat_error *err) {
    Leat__HistoryRequest history = LEAT__HISTORY_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    if (arguments->operand)
        history.stream = (char *)(uintptr_t)arguments->operand;
    history.after_ns = *after_ns;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_HISTORY;
    request.history = &history;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_HISTORY,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    for (size_t i = 0; i < reply->history->n_samples; i++) {
        const Leat__Sample *sample = reply->history->samples[i];

        *after_ns = sample->at_ns;
        if (arguments->json)
            add_json(text, sample);
        else
            add_row(grid, sample);
    }
    *ret_is_all = reply->history->n_samples == 0;
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

int leat_cli_history(const struct leat_cli_arguments *arguments, uint64_t seconds,
                     struct leat_error *err) {
    uint64_t now_ns = leat_cli_now_ns(), after_ns = 0;
    struct leat_text text = {.data = NULL}, table = {.data = NULL};
    struct leat_cli_grid grid;
    bool is_all = false;
    int status = LEAT_CLI_OK;

    if (seconds < now_ns / SECOND_NS)
        after_ns = now_ns - seconds * SECOND_NS;
    add_head(&grid);
    leat_text_add(&text, "[");
    while (status == LEAT_CLI_OK && !is_all && after_ns < now_ns)
        status = ask(arguments, &after_ns, &is_all, &grid, &text, err);
    leat_text_add(&text, "]\n");
    leat_cli_grid_print(&grid, &table);
    if (status == LEAT_CLI_OK)
        leat_cli_print(arguments->json ? &text : &table);
    free(table.data);
    free(text.data);
    return status;
}
