/* stats.c: `leatctl stats`: the counters of streams, once or as a subscription tells them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/members.h"
#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/cli/base/profile.h"
#include "client/cli/base/units.h"
#include "client/cli/stats/history.h"
#include "pipeline/spec/bind.h"
#include "proto/base/json_writer.h"

#define INTERVAL_S  2
#define SINCE_MAX_S 1000000

static const struct leat_cli_member pool_members[] = {
    MEMBER(Leat__PoolStats, name, MEMBER_TEXT, "memory"),
    MEMBER(Leat__PoolStats, n_allocations, MEMBER_U64, "asked"),
    MEMBER(Leat__PoolStats, n_hits, MEMBER_U64, "hits"),
    MEMBER(Leat__PoolStats, n_misses, MEMBER_U64, "misses"),
    MEMBER(Leat__PoolStats, current_bytes, MEMBER_BYTES, "now"),
    MEMBER(Leat__PoolStats, peak_bytes, MEMBER_BYTES, "peak"),
    MEMBERS_END,
};

static void add_knob_text(struct leat_text *text, const Leat__KnobStats *knob) {
    leat_text_add(text, "   %s %" PRIu64, knob->name, knob->value);
    if (knob->current != knob->value)
        leat_text_add(text, " (trying %" PRIu64 ")", knob->current);
    leat_text_add(text, "%s", knob->is_pinned ? " (set by you)" : "");
}

static void add_tuners(struct leat_text *text, const Leat__StreamStats *stats) {
    for (size_t i = 0; i < stats->n_tuners; i++) {
        const Leat__TunerStats *tuner = stats->tuners[i];

        leat_text_add(text, "  %-14s %s%s:", "tuner", tuner->phase,
                      tuner->has_ended ? ", in the last run" : "");
        for (size_t k = 0; k < tuner->n_knobs; k++)
            add_knob_text(text, tuner->knobs[k]);
        leat_text_add(text, "\n");
        for (size_t k = 0; k < tuner->n_decisions; k++)
            leat_text_add_line(text, "    %8.1f s  %s", (double)tuner->decisions[k]->at_ns / 1e9,
                               tuner->decisions[k]->reason);
    }
}

static void add_text(struct leat_text *text, const Leat__StreamStats *stats) {
    struct leat_stream_figures figures;
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_text_add_shown(text, stats->name);
    leat_text_add(text, "\n");
    leat_figures_of_message(leat_stream_figure_table, &stats->base, &figures);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (figure->places & LEAT_FIGURE_STATS)
            leat_text_add(text, "  %-14s %s\n", figure->label,
                          leat_cli_figure(figure, leat_figure_get(figure, &figures), buffer));
    if (stats->last_error[0])
        leat_text_add_line(text, "  %-14s %s", "last error", stats->last_error);
    leat_cli_profile_text(text, stats);
    add_tuners(text, stats);
    if (stats->n_pools > 0)
        leat_cli_members_table(text, pool_members, (const void *const *)stats->pools,
                               stats->n_pools);
}

static void add_json(struct leat_text *json, const Leat__StreamStats *stats) {
    struct leat_stream_figures figures;

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", stats->name);
    leat_figures_of_message(leat_stream_figure_table, &stats->base, &figures);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (figure->places & LEAT_FIGURE_STATS)
            leat_json_add_uint(json, figure->member, leat_figure_get(figure, &figures));
    leat_json_add_text(json, "last_error", stats->last_error);
    leat_cli_profile_json(json, stats);
    leat_cli_messages_json(json, "tuners", &leat__tuner_stats__descriptor, stats->tuners,
                           stats->n_tuners);
    leat_cli_messages_json(json, "pools", &leat__pool_stats__descriptor, stats->pools,
                           stats->n_pools);
    leat_json_close(json, '}');
}

static void add_all(struct leat_text *text, const void *reply,
                    const struct leat_cli_arguments *arguments) {
    const Leat__StatsReply *stats = reply;

    if (arguments->json)
        leat_json_open(text, NULL, '[');
    for (size_t i = 0; i < stats->n_streams; i++)
        if (arguments->json)
            add_json(text, stats->streams[i]);
        else
            add_text(text, stats->streams[i]);
    if (arguments->json)
        leat_json_close(text, ']');
}

static int show_once(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    struct leat_cli_question question = {.verb = LEAT__CONTROL_REQUEST__VERB_STATS,
                                         .message = &stats,
                                         .add_text = add_all,
                                         .add_json = add_all};

    if (arguments->operand)
        stats.stream = (char *)(uintptr_t)arguments->operand;
    return leat_cli_ask(&question, arguments, err);
}

/* ---- again and again ---- */

/* On a terminal each takes the place of the one before. */
static void show_update(const struct leat_cli_arguments *arguments, const Leat__Update *update) {
    struct leat_text text = {.data = NULL};

    if (!arguments->json && isatty(STDOUT_FILENO))
        leat_text_add(&text, "\033[H\033[2J");
    add_all(&text, update->stats, arguments);
    if (arguments->json || !isatty(STDOUT_FILENO))
        leat_text_add(&text, "\n");
    leat_cli_print(&text);
    (void)fflush(stdout);
}

static int watch(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    uint64_t n_left = arguments->updates.is_given ? arguments->updates.value : UINT64_MAX;
    uint32_t interval_s =
        arguments->interval.is_given ? (uint32_t)arguments->interval.value : INTERVAL_S;
    struct leat_cli_subscription subscription;
    int status =
        leat_cli_subscription_begin(&subscription, arguments->operand, interval_s * 1000, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    for (; n_left > 0 && status == LEAT_CLI_OK; n_left--) {
        Leat__ControlReply *reply = leat_cli_subscription_next(&subscription, &status, err);

        if (reply)
            show_update(arguments, reply->update);
        if (reply)
            leat__control_reply__free_unpacked(reply, NULL);
    }
    leat_cli_subscription_end(&subscription);
    return status;
}

/* "90", "90s", "10m", "6h". */
static int read_since(const char *text, uint64_t *ret_seconds, struct leat_error *err) {
    size_t n = strspn(text, "0123456789");
    uint64_t unit = text[n] == 'h' ? 3600 : text[n] == 'm' ? 60 : 1;
    bool has_unit = text[n] != '\0' && strchr("smh", text[n]) != NULL;
    int64_t number;

    if (n > 0 && text[n + has_unit] == '\0' && leat_parse_int(text, n, &number) == 0 &&
        number > 0 && number <= SINCE_MAX_S) {
        *ret_seconds = (uint64_t)number * unit;
        return 0;
    }
    return leat_error_set(
        err, -EINVAL, "leatctl stats: --since: \"%.32s\" is not a time such as 60, 90s, 10m or 6h",
        text);
}

static int check(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    if (arguments->watch && arguments->since)
        leat_error_set(err, -EINVAL, "leatctl stats: give either --watch or --since");
    else if (!arguments->watch && (arguments->interval.is_given || arguments->updates.is_given))
        leat_error_set(err, -EINVAL,
                       "leatctl stats: with --interval or --updates, also give --watch");
    return err->code ? LEAT_CLI_USAGE : LEAT_CLI_OK;
}

static int stats_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    uint64_t seconds = 0;

    if (check(arguments, err) != LEAT_CLI_OK)
        return LEAT_CLI_USAGE;
    if (!arguments->since)
        return arguments->watch ? watch(arguments, err) : show_once(arguments, err);
    return read_since(arguments->since, &seconds, err) == 0
               ? leat_cli_history(arguments, seconds, err)
               : LEAT_CLI_USAGE;
}

static const struct leat_cli_option stats_options[] = {
    LEAT_CLI_OPTION(FLAG, "watch", watch, "print again and again, until you press Ctrl-C",
                    .letter = 'w'),
    LEAT_CLI_OPTION(NUMBER, "interval", interval,
                    "with --watch: seconds between two updates (default 2)", .value = "S", .min = 1,
                    .max = 60),
    LEAT_CLI_OPTION(NUMBER, "updates", updates,
                    "with --watch: number of updates (default: until you press Ctrl-C)",
                    .letter = 'n', .value = "N", .min = 1, .max = UINT64_MAX),
    LEAT_CLI_OPTION(STRING, "since", since,
                    "show the history of the last TIME, such as 60 (seconds), 90s, 10m or 6h",
                    .value = "TIME"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_stats_command = {
    .name = "stats",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show counters of streams, and where the time goes",
    .description =
        "For each stream it shows counters, how long trainers and leat wait, and how busy each\n"
        "stage is.\n"
        "\n"
        "The busy time of a stage is the sum over all threads. The table shows each stage's\n"
        "percentage of the busy time. It also shows how long one block or batch takes: mean,\n"
        "minimum, maximum, median and 99th percentile. The median and the percentile may be\n"
        "wrong by up to 1/16 of their values.\n"
        "\n"
        "The line `scan` shows how long leat reads the data and looks for the beginnings of\n"
        "records. The line of the source, such as `csv`, shows how long leat parses records.\n"
        "The line `order` shows how long one thread shuffles and groups rows. The line\n"
        "`collate` shows how long leat writes batches. --json prints all figures. --watch\n"
        "--json prints one line for each update.\n"
        "\n"
        "--since prints one line per second for the last ten minutes, and one line per ten\n"
        "seconds for the six hours before. If many streams are busy, the daemon keeps a\n"
        "shorter history. The figures are batches, rows, tokens and bytes per second, and\n"
        "percentages of the time. `waited` is the percentage of the time in which trainers\n"
        "waited for a batch. `no slot` is the percentage of the time in which no memory for a\n"
        "batch (slot) was free. With STREAM, these figures describe this stream, and without\n"
        "STREAM all streams together. The figures of busy workers and memory always describe\n"
        "the whole daemon. --json also prints the figures of each stage.",
    .operand = "[STREAM]",
    .examples = "  leatctl stats titanic\n"
                "  leatctl stats --watch --interval 5\n"
                "  leatctl stats --since 10m\n"
                "  leatctl stats titanic --watch --json | jq '.[0].n_batches'\n",
    .asks_daemon = true,
    .options = stats_options,
    .run = stats_main,
};
