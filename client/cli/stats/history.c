/* history.c: `leatctl stats --since`: what the daemon did lately, a line for each while. */
#include "client/cli/stats/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/cli/base/units.h"
#include "proto/base/clock.h"
#include "proto/base/json_writer.h"

#define SECOND_NS UINT64_C(1000000000)

/* Sums over all streams of a sample. */
static struct leat_stream_figures sum_up(const Leat__Sample *sample) {
    struct leat_stream_figures sums = {.n_batches = 0}, figures;

    for (size_t i = 0; i < sample->n_streams; i++) {
        leat_figures_of_message(leat_stream_figure_table, &sample->streams[i]->base, &figures);
        leat_figures_add(leat_stream_figure_table, &sums, &figures);
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
    struct leat_stream_figures sums = sum_up(sample);
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

static void add_stream_json(struct leat_text *json, const Leat__StreamSample *stream) {
    struct leat_stream_figures figures;

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", stream->name);
    leat_json_add_bool(json, "is_own", stream->is_own);
    leat_json_add_bool(json, "is_other", stream->is_other);
    leat_figures_of_message(leat_stream_figure_table, &stream->base, &figures);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (figure->key)
            leat_json_add_uint(json, figure->member, leat_figure_get(figure, &figures));
    leat_cli_messages_json(json, "stages", &leat__stage_sample__descriptor, stream->stages,
                           stream->n_stages);
    leat_json_close(json, '}');
}

static void add_json(struct leat_text *json, const Leat__Sample *sample) {
    if (json->n_bytes > 1)
        leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_cli_message_fields(json, sample, "streams");
    leat_json_open(json, "streams", '[');
    for (size_t i = 0; i < sample->n_streams; i++)
        add_stream_json(json, sample->streams[i]);
    leat_json_close(json, ']');
    leat_json_close(json, '}');
}

/* A reply has its bounds: what follows is asked for until nothing does. */
static int ask(const struct leat_cli_arguments *arguments, uint64_t *after_ns, bool *ret_is_all,
               struct leat_cli_grid *grid, struct leat_text *text, struct leat_error *err) {
    Leat__HistoryRequest history = LEAT__HISTORY_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    if (arguments->operand)
        history.stream = (char *)(uintptr_t)arguments->operand;
    history.after_ns = *after_ns;
    reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_HISTORY, &history,
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
    uint64_t now_ns = leat_now_ns(), after_ns = 0;
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
