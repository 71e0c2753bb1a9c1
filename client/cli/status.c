/* status.c: `status`, `streams`, `drain`, `version`: questions to the daemon's control
 * socket. Replies are printed from tables of members, for people and as JSON alike. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"
#include "client/cli/members.h"
#include "client/leat.h"
#include "proto/packet.h"

#define DRAIN_TIMEOUT_S 30

static const struct leat_cli_member status_members[] = {
    MEMBER(Leat__StatusReply, version, MEMBER_TEXT, "version"),
    MEMBER(Leat__StatusReply, pid, MEMBER_U32, "process"),
    MEMBER(Leat__StatusReply, config_file, MEMBER_TEXT, "configuration"),
    MEMBER(Leat__StatusReply, is_draining, MEMBER_BOOL, "draining"),
    MEMBER(Leat__StatusReply, uptime_ns, MEMBER_NS, "up"),
    MEMBER(Leat__StatusReply, n_workers, MEMBER_U32, "workers"),
    MEMBER(Leat__StatusReply, n_streams, MEMBER_U32, "streams"),
    MEMBER(Leat__StatusReply, n_sessions, MEMBER_U32, "sessions"),
    MEMBER(Leat__StatusReply, n_refused, MEMBER_U64, "refused"),
    MEMBER(Leat__StatusReply, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__StatusReply, n_rows, MEMBER_U64, "rows"),
    MEMBER(Leat__StatusReply, n_slots, MEMBER_U32, "slots"),
    MEMBER(Leat__StatusReply, n_slots_free, MEMBER_U32, "slots free"),
    MEMBER(Leat__StatusReply, ring_bytes, MEMBER_BYTES, "rings"),
    MEMBER(Leat__StatusReply, rss_bytes, MEMBER_BYTES, "memory"),
    MEMBER(Leat__StatusReply, hwm_bytes, MEMBER_BYTES, "memory, most"),
    MEMBER(Leat__StatusReply, memory_limit_bytes, MEMBER_BYTES, "memory limit"),
    MEMBER(Leat__StatusReply, memory_claimed_bytes, MEMBER_BYTES, "claimed"),
    MEMBER(Leat__StatusReply, memory_used_bytes, MEMBER_BYTES, "counted"),
    MEMBER(Leat__StatusReply, memory_peak_bytes, MEMBER_BYTES, "counted, most"),
    MEMBER(Leat__StatusReply, n_stalled, MEMBER_U32, "tasks stalled"),
    MEMBER(Leat__StatusReply, cpu_ns, MEMBER_NS, "CPU time"),
    MEMBER(Leat__StatusReply, worker_busy_ns, MEMBER_NS, "workers busy"),
    MEMBER(Leat__StatusReply, loop_busy_ns, MEMBER_NS, "loop busy"),
    MEMBER(Leat__StatusReply, loop_longest_ns, MEMBER_NS, "longest turn"),
    MEMBER(Leat__StatusReply, loop_longest_cpu_ns, MEMBER_NS, "longest, CPU"),
    MEMBER(Leat__StatusReply, n_fds, MEMBER_U32, "descriptors"),
    MEMBERS_END,
};

const struct leat_cli_member leat_cli_session_members[] = {
    MEMBER(Leat__Session, id, MEMBER_U64, "session"),
    MEMBER(Leat__Session, client_name, MEMBER_TEXT, "client"),
    MEMBER(Leat__Session, pid, MEMBER_U32, "pid"),
    MEMBER(Leat__Session, uid, MEMBER_U32, "uid"),
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

int leat_cli_status(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATUS;
    request.status = &empty;
    reply = leat_cli_control_expect(&request, LEAT__CONTROL_REPLY__VERB_STATUS,
                                    LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (arguments->json) {
        leat_cli_members_json(&text, status_members, reply->status);
        leat_text_add(&text, "}\n");
    } else {
        leat_text_add(&text, "leatd\n");
        leat_cli_members_list(&text, status_members, reply->status);
    }
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
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
    leat_text_add(text, "], \"sessions\": [");
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
    if (stream->n_sessions > 0)
        leat_cli_members_table(text, leat_cli_session_members,
                               (const void *const *)stream->sessions, stream->n_sessions);
    if (stream->n_runs > 0)
        leat_cli_members_table(text, run_members, (const void *const *)stream->runs,
                               stream->n_runs);
}

int leat_cli_streams(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
    request.streams = &empty;
    reply = leat_cli_control_expect(&request, LEAT__CONTROL_REPLY__VERB_STREAMS,
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

int leat_cli_drain(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__DrainRequest drain = LEAT__DRAIN_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    drain.timeout_ms =
        1000 * (uint32_t)(arguments->timeout.is_given ? arguments->timeout.value : DRAIN_TIMEOUT_S);
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_DRAIN;
    request.drain = &drain;
    reply =
        leat_cli_control_expect(&request, LEAT__CONTROL_REPLY__VERB_DONE,
                                (int)drain.timeout_ms + LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    printf("%s\n", arguments->json ? "{\"ok\": true}" : "drained");
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

int leat_cli_version(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    (void)err;
    printf(arguments->json ? "{\"version\": \"%s\", \"protocol\": \"%d.%d\"}\n"
                           : "leatctl %s, protocol %d.%d\n",
           leat_version(), LEAT_PROTOCOL_MAJOR, LEAT_PROTOCOL_MINOR);
    return LEAT_CLI_OK;
}
