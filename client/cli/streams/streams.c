/* streams.c: `leatctl streams`: the daemon's streams, who pulls them, what each user has. */
#include "client/cli/streams/streams.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/base/options.h"
#include "client/cli/streams/session_members.h"

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

static void add_failures_json(struct leat_text *text, const Leat__Stream *stream) {
    leat_text_add(text, ", \"failures\": {");
    for (size_t i = 0; i < stream->n_failures; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_text_add_json(text, stream->failures[i]->reason, strlen(stream->failures[i]->reason));
        leat_text_add(text, ": %" PRIu64, stream->failures[i]->n);
    }
    leat_text_add(text, "}, \"last_failure\": ");
    leat_cli_failure_json(text, stream->last_failure);
}

static void add_failures_text(struct leat_text *text, const Leat__Stream *stream) {
    uint64_t n = 0;

    if (!stream->last_failure)
        return;
    for (size_t i = 0; i < stream->n_failures; i++)
        n += stream->failures[i]->n;
    leat_text_add(text, "    %s %" PRIu64 "x; the last: ",
                  stream->last_failure->is_over ? "failed" : "FAILED", n);
    leat_cli_failure_text(text, stream->last_failure);
    leat_text_add(text, "\n");
}

static void add_stream_json(struct leat_text *text, const Leat__Stream *stream) {
    leat_text_add(text, "{\"name\": ");
    leat_text_add_json(text, stream->name, strlen(stream->name));
    leat_text_add(text, ", \"source\": ");
    leat_text_add_json(text, stream->source, strlen(stream->source));
    leat_text_add(text, ", \"file\": ");
    leat_text_add_json(text, stream->file, strlen(stream->file));
    leat_text_add(text, ", \"line\": %u, \"stalled_ns\": %" PRIu64 ", \"stages\": [", stream->line,
                  stream->stalled_ns);
    for (size_t i = 0; i < stream->n_stages; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_text_add_json(text, stream->stages[i], strlen(stream->stages[i]));
    }
    leat_text_add(text, "]");
    add_failures_json(text, stream);
    leat_text_add(text, ", \"sessions\": [");
    for (size_t i = 0; i < stream->n_sessions; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_cli_members_json(text, leat_cli_session_members, stream->sessions[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "], \"runs\": [");
    for (size_t i = 0; i < stream->n_runs; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_cli_members_json(text, run_members, stream->runs[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}");
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
        leat_text_add(text, "  STALLED: a worker is at one task for %.0f s",
                      (double)stream->stalled_ns / 1e9);
    leat_text_add(text, "\n");
    add_failures_text(text, stream);
    if (stream->n_sessions > 0)
        leat_cli_members_table(text, leat_cli_session_members,
                               (const void *const *)stream->sessions, stream->n_sessions);
    if (stream->n_runs > 0)
        leat_cli_members_table(text, run_members, (const void *const *)stream->runs,
                               stream->n_runs);
}

static int list(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
    request.streams = &empty;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_STREAMS,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    leat_text_add(&text, arguments->json ? "[" : "");
    for (size_t i = 0; i < reply->streams->n_streams; i++) {
        if (arguments->json && i > 0)
            leat_text_add(&text, ", ");
        if (arguments->json)
            add_stream_json(&text, reply->streams->streams[i]);
        else
            add_stream_text(&text, reply->streams->streams[i]);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static int streams_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    if (arguments->users && arguments->trainers) {
        leat_error_set(err, -EINVAL, "leatctl streams: --users, --trainers: give one of them");
        return LEAT_CLI_USAGE;
    }
    return arguments->users      ? leat_cli_streams_users(arguments, err)
           : arguments->trainers ? leat_cli_streams_trainers(arguments, err)
                                 : list(arguments, err);
}

static const struct leat_cli_option streams_options[] = {
    {.name = "users",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(users),
     .help = "what each user has of the daemon, and may have"},
    {.name = "trainers",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(trainers),
     .help = "who pulls batches, and what they wait for"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_streams_command = {
    .name = "streams",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "list the daemon's streams, its trainers, its users",
    .description =
        "Streams, with the sessions and runs of each; whether one stalls, how often it failed, and "
        "the last error\nwith its time. FAILED is what has not served a trainer since "
        "then.\n\n--trainers: one line for each session. "
        "`waits` is the share of its time in which it wanted a batch and\nnone was ready (leat is "
        "too slow for it), `holds all` that in which it had as many as it may hold (it is\nthe "
        "slower one). `unit` is the systemd unit or control group of its process, if the daemon "
        "can see that:\nas a system service it often cannot. Of a container's trainer no process "
        "is known.\n\n--users: a row for each user who is connected: its weight (`user_weights` "
        "in the daemon's settings), the\ntime that workers have worked for it since it came, its "
        "sessions, the memory of its batches, streams that\nits trainers described themselves, "
        "and connections to the control socket, each with its limit; and how\noften a limit "
        "refused something. Trainers in containers count as the user whom the kernel tells.",
    .examples = "  leatctl streams\n"
                "  leatctl streams --trainers --json | jq '.[] | select(.wait_ns > .age_ns / 2)'\n"
                "  leatctl streams --users --json | jq '.users[] | {uid, worker_ns}'\n",
    .asks_daemon = true,
    .options = streams_options,
    .run = streams_main,
};
