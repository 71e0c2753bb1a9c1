/* streams.c: `leatctl streams`: the daemon's streams, its trainers, its users. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/cli/base/units.h"

static const struct leat_cli_member session_members[] = {
    MEMBER(Leat__Session, id, MEMBER_U64, "session"),
    MEMBER(Leat__Session, client_name, MEMBER_TEXT, "client"),
    MEMBER(Leat__Session, pid, MEMBER_ID, "pid"),
    MEMBER(Leat__Session, uid, MEMBER_ID, "uid"),
    MEMBER(Leat__Session, state, MEMBER_TEXT, "state"),
    MEMBER(Leat__Session, delivery, MEMBER_TEXT, "delivery"),
    MEMBER(Leat__Session, rank, MEMBER_U32, "rank"),
    MEMBER(Leat__Session, world_size, MEMBER_U32, "world"),
    MEMBER(Leat__Session, epoch, MEMBER_U64, "epoch"),
    MEMBER(Leat__Session, step, MEMBER_U64, "step"),
    MEMBER(Leat__Session, n_held, MEMBER_U32, "held"),
    MEMBER(Leat__Session, window, MEMBER_U32, "window"),
    MEMBER(Leat__Session, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__Session, age_ns, MEMBER_NS, "age"),
    MEMBER(Leat__Session, run, MEMBER_U64, "run"),
    MEMBERS_END,
};

static const struct leat_cli_member run_members[] = {
    MEMBER(Leat__Run, number, MEMBER_U64, "run"),
    MEMBER(Leat__Run, state, MEMBER_TEXT, "state"),
    MEMBER(Leat__Run, n_sessions, MEMBER_U32, "sessions"),
    MEMBER(Leat__Run, first_rank, MEMBER_U32, "first rank"),
    MEMBER(Leat__Run, n_ranks, MEMBER_U32, "ranks"),
    MEMBER(Leat__Run, world_size, MEMBER_U32, "world"),
    MEMBER(Leat__Run, epoch, MEMBER_U64, "epoch"),
    MEMBER(Leat__Run, step, MEMBER_U64, "step"),
    MEMBER(Leat__Run, n_slots, MEMBER_U32, "slots"),
    MEMBER(Leat__Run, n_slots_free, MEMBER_U32, "slots free"),
    MEMBER(Leat__Run, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__Run, joins, MEMBER_U64, "joins"),
    MEMBERS_END,
};

static void add_failures_text(struct leat_text *text, const Leat__Stream *stream) {
    uint64_t n = 0;

    if (!stream->last_failure)
        return;
    for (size_t i = 0; i < stream->n_failures; i++)
        n += stream->failures[i]->n;
    leat_text_add(text, "    %s %" PRIu64 " times; the last error: ",
                  stream->last_failure->is_over ? "failed" : "FAILED", n);
    leat_cli_failure_text(text, stream->last_failure);
    leat_text_add(text, "\n");
}

static void add_stream_text(struct leat_text *text, const Leat__Stream *stream) {
    leat_text_add_shown(text, stream->name);
    leat_text_add(text, ": ");
    leat_text_add_shown(text, stream->source);
    for (size_t i = 0; i < stream->n_stages; i++) {
        leat_text_add(text, " > ");
        leat_text_add_shown(text, stream->stages[i]);
    }
    if (stream->file[0]) {
        leat_text_add(text, "  (");
        leat_text_add_shown(text, stream->file);
        leat_text_add(text, ":%u)", stream->line);
    }
    if (stream->stalled_ns > 0)
        leat_text_add(text, "  STALLED: a task has been running for %.0f s",
                      (double)stream->stalled_ns / 1e9);
    leat_text_add(text, "\n");
    add_failures_text(text, stream);
    if (stream->n_sessions > 0)
        leat_cli_members_table(text, session_members, (const void *const *)stream->sessions,
                               stream->n_sessions);
    if (stream->n_runs > 0)
        leat_cli_members_table(text, run_members, (const void *const *)stream->runs,
                               stream->n_runs);
}

static void add_streams(struct leat_text *text, const void *reply,
                        const struct leat_cli_arguments *arguments) {
    const Leat__StreamsReply *streams = reply;

    (void)arguments;
    for (size_t i = 0; i < streams->n_streams; i++)
        add_stream_text(text, streams->streams[i]);
}

/* ---- trainers ---- */

static const char *const trainer_columns[] = {"session", "stream",    "client", "pid",  "uid",
                                              "rank",    "world",     "epoch",  "step", "batches",
                                              "waits",   "holds all", "age",    "unit"};
#define N_TRAINER_COLUMNS (sizeof(trainer_columns) / sizeof(trainer_columns[0]))

static void add_id(struct leat_cli_grid *grid, uint32_t id) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", id);
    leat_cli_grid_add(grid, text);
}

static void add_count(struct leat_cli_grid *grid, uint64_t n) {
    char text[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, leat_cli_count(n, text));
}

static void add_share(struct leat_cli_grid *grid, uint64_t part_ns, uint64_t all_ns) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%.1f %%",
                   all_ns ? 100.0 * (double)part_ns / (double)all_ns : 0.0);
    leat_cli_grid_add(grid, text);
}

/* The last part of a control group is the name that people know. */
static const char *unit_of(const Leat__Trainer *trainer) {
    const char *slash = strrchr(trainer->unit, '/');

    return trainer->is_foreign ? "(container)" : slash ? slash + 1 : trainer->unit;
}

static void add_trainer(struct leat_cli_grid *grid, const Leat__Trainer *trainer) {
    const Leat__Session *session = trainer->session;
    char age[LEAT_CLI_UNIT_MAX];

    add_count(grid, session->id);
    leat_cli_grid_add(grid, trainer->stream);
    leat_cli_grid_add(grid, session->client_name);
    add_id(grid, session->pid);
    add_id(grid, session->uid);
    add_count(grid, session->rank);
    add_count(grid, session->world_size);
    add_count(grid, session->epoch);
    add_count(grid, session->step);
    add_count(grid, session->n_batches);
    add_share(grid, trainer->wait_ns, session->age_ns);
    add_share(grid, trainer->hold_ns, session->age_ns);
    leat_cli_grid_add(grid, leat_cli_duration(session->age_ns, age));
    leat_cli_grid_add(grid, unit_of(trainer));
}

static void add_trainers(struct leat_text *text, const void *reply,
                         const struct leat_cli_arguments *arguments) {
    const Leat__TrainersReply *trainers = reply;
    struct leat_cli_grid grid;

    (void)arguments;
    leat_cli_grid_init(&grid, N_TRAINER_COLUMNS);
    grid.indent = 4;
    grid.is_left = true;
    for (size_t i = 0; trainers->n_trainers > 0 && i < N_TRAINER_COLUMNS; i++)
        leat_cli_grid_add(&grid, trainer_columns[i]);
    for (size_t i = 0; i < trainers->n_trainers; i++)
        add_trainer(&grid, trainers->trainers[i]);
    leat_cli_grid_print(&grid, text);
    if (trainers->n_trainers == 0)
        leat_text_add(text, "no trainers\n");
    if (trainers->n_left > 0)
        leat_text_add(text, "and %u more\n", trainers->n_left);
}

static void add_trainers_json(struct leat_text *text, const void *reply,
                              const struct leat_cli_arguments *arguments) {
    const Leat__TrainersReply *trainers = reply;

    (void)arguments;
    leat_json_open(text, NULL, '[');
    for (size_t i = 0; i < trainers->n_trainers; i++) {
        leat_json_line(text);
        leat_json_open(text, NULL, '{');
        leat_cli_message_fields(text, trainers->trainers[i]->session, NULL);
        leat_cli_message_fields(text, trainers->trainers[i], "session");
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
}

/* ---- users ---- */

#define N_FIXED 5 /* user, weight, worker time, memory in use, refused */

static const char *heading_of(const char *name) {
    return strcmp(name, "ring_bytes") == 0 ? "batches"
           : strcmp(name, "controls") == 0 ? "control"
                                           : name;
}

static bool is_of_bytes(const char *name) {
    return strcmp(name, "ring_bytes") == 0 || strcmp(name, "memory") == 0;
}

static void add_amount(char *text, size_t size, const char *name, uint64_t amount) {
    char buffer[LEAT_CLI_UNIT_MAX];

    (void)snprintf(text, size, "%s",
                   is_of_bytes(name) ? leat_cli_bytes(amount, buffer)
                                     : leat_cli_count(amount, buffer));
}

static void add_charge(struct leat_cli_grid *grid, const Leat__Charge *charge) {
    char used[LEAT_CLI_UNIT_MAX], limit[LEAT_CLI_UNIT_MAX], cell[2 * LEAT_CLI_UNIT_MAX + 4];

    add_amount(used, sizeof(used), charge->name, charge->used);
    add_amount(limit, sizeof(limit), charge->name, charge->limit);
    (void)snprintf(cell, sizeof(cell), charge->limit == UINT64_MAX ? "%s" : "%s of %s", used,
                   limit);
    leat_cli_grid_add(grid, cell);
}

static const char *user_name(uint32_t uid, char buffer[LEAT_CLI_UNIT_MAX]) {
    const struct passwd *found = getpwuid(uid);

    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu32, uid);
    if (found && strlen(found->pw_name) + 16 < LEAT_CLI_UNIT_MAX)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%s (%" PRIu32 ")", found->pw_name, uid);
    return buffer;
}

static void add_user(struct leat_cli_grid *grid, const Leat__UserQuota *user, size_t n_charges) {
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, user_name(user->uid, buffer));
    add_count(grid, user->weight);
    leat_cli_grid_add(grid, leat_cli_duration(user->worker_ns, buffer));
    for (size_t i = 0; i < n_charges; i++)
        if (i < user->n_charges)
            add_charge(grid, user->charges[i]);
        else
            leat_cli_grid_add(grid, "");
    leat_cli_grid_add(grid, leat_cli_bytes(user->memory_in_use, buffer));
    add_count(grid, user->n_refused);
}

static void add_users(struct leat_text *text, const void *reply,
                      const struct leat_cli_arguments *arguments) {
    const Leat__QuotaReply *quota = reply;
    size_t n_charges = quota->n_totals < LEAT_CLI_GRID_COLUMNS_MAX - N_FIXED
                           ? quota->n_totals
                           : LEAT_CLI_GRID_COLUMNS_MAX - N_FIXED;
    struct leat_cli_grid grid;
    char buffer[LEAT_CLI_UNIT_MAX];

    (void)arguments;
    leat_cli_grid_init(&grid, N_FIXED + n_charges);
    leat_cli_grid_add(&grid, "user");
    leat_cli_grid_add(&grid, "weight");
    leat_cli_grid_add(&grid, "worker time");
    for (size_t i = 0; i < n_charges; i++)
        leat_cli_grid_add(&grid, heading_of(quota->totals[i]->name));
    leat_cli_grid_add(&grid, "in use");
    leat_cli_grid_add(&grid, "refused");
    for (size_t i = 0; i < quota->n_users; i++)
        add_user(&grid, quota->users[i], n_charges);
    leat_cli_grid_add(&grid, "all");
    leat_cli_grid_add(&grid, "");
    leat_cli_grid_add(&grid, "");
    for (size_t i = 0; i < n_charges; i++)
        add_charge(&grid, quota->totals[i]);
    leat_cli_grid_add(&grid, leat_cli_bytes(quota->memory_in_use, buffer));
    leat_cli_grid_add(&grid, "");
    leat_cli_grid_print(&grid, text);
}

/* ---- the command ---- */

static int streams_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    static const struct leat_cli_question streams = {
        .verb = LEAT__CONTROL_REQUEST__VERB_STREAMS, .add_text = add_streams, .is_list = true};
    static const struct leat_cli_question trainers = {.verb = LEAT__CONTROL_REQUEST__VERB_TRAINERS,
                                                      .add_text = add_trainers,
                                                      .add_json = add_trainers_json};
    static const struct leat_cli_question users = {.verb = LEAT__CONTROL_REQUEST__VERB_QUOTA,
                                                   .add_text = add_users};

    if (arguments->users && arguments->trainers) {
        leat_error_set(err, -EINVAL, "leatctl streams: give --users or --trainers, not both");
        return LEAT_CLI_USAGE;
    }
    return leat_cli_ask(arguments->users      ? &users
                        : arguments->trainers ? &trainers
                                              : &streams,
                        arguments, err);
}

static const struct leat_cli_option streams_options[] = {
    LEAT_CLI_OPTION(FLAG, "users", users, "list the users, with their limits and what they use"),
    LEAT_CLI_OPTION(FLAG, "trainers", trainers, "list the trainers, with what they wait for"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_streams_command = {
    .name = "streams",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "list the streams, the trainers or the users of the daemon",
    .description =
        "Lists the streams with their sessions and runs. A session is one trainer's\n"
        "connection. A run makes batches for one or more sessions. For each stream, the list\n"
        "also shows if the stream stalls, how often it failed, and its last error with the\n"
        "time. A stream is FAILED if it has served no trainer since its last error.\n"
        "\n"
        "--trainers prints one line per session. The column `waits` is the fraction of the\n"
        "time in which the trainer waited for a batch. If it is large, leat is too slow. The\n"
        "column `holds all` is the fraction of the time in which the trainer held as many\n"
        "batches as its limit allows. If it is large, the trainer is too slow. The column\n"
        "`unit` is the systemd unit or control group of the trainer. A daemon that runs as a\n"
        "system service often cannot see the unit. For a trainer in a container, the process\n"
        "is unknown.\n"
        "\n"
        "--users prints one line per connected user. It shows the user's weight (setting\n"
        "`user_weights`), worker time, sessions, memory of batches, streams that the user's\n"
        "trainers built in code, control connections, and refusals. The list shows the limit\n"
        "of each figure. A trainer in a container counts for the user that the kernel reports.",
    .examples = "  leatctl streams\n"
                "  leatctl streams --trainers --json | jq '.[] | select(.wait_ns > .age_ns / 2)'\n"
                "  leatctl streams --users --json | jq '.users[] | {uid, worker_ns}'\n",
    .asks_daemon = true,
    .options = streams_options,
    .run = streams_main,
};
