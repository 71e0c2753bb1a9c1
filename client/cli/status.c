/* status.c: `status`, `streams`, `stats`, `drain`, `version`: questions to the daemon's control
 * socket. Replies are printed from tables of members, for people and as JSON alike. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"
#include "client/cli/error_json.h"
#include "client/cli/profile.h"
#include "client/cli/tuner_report.h"
#include "client/cli/units.h"
#include "client/leat.h"
#include "proto/packet.h"

#define DRAIN_TIMEOUT_S 30

enum member_kind { MEMBER_TEXT, MEMBER_BOOL, MEMBER_U32, MEMBER_U64, MEMBER_BYTES, MEMBER_NS };

/* A member of a reply: its name in JSON, what people read, where it is. */
struct member {
    const char *name, *label;
    enum member_kind kind;
    size_t offset;
};

#define MEMBER(type, member, kind_, label_)                                                        \
    { .name = #member, .label = label_, .kind = kind_, .offset = offsetof(type, member) }
#define MEMBERS_END                                                                                \
    { .name = NULL }

static const struct member status_members[] = {
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
    MEMBER(Leat__StatusReply, loop_busy_ns, MEMBER_NS, "loop busy"),
    MEMBER(Leat__StatusReply, n_fds, MEMBER_U32, "descriptors"),
    MEMBERS_END,
};

static const struct member stats_members[] = {
    MEMBER(Leat__StreamStats, name, MEMBER_TEXT, NULL),
    MEMBER(Leat__StreamStats, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__StreamStats, n_rows, MEMBER_U64, "rows"),
    MEMBER(Leat__StreamStats, n_elements, MEMBER_U64, "tokens"),
    MEMBER(Leat__StreamStats, n_source_bytes, MEMBER_BYTES, "read"),
    MEMBER(Leat__StreamStats, n_source_records, MEMBER_U64, "records"),
    MEMBER(Leat__StreamStats, n_bad_records, MEMBER_U64, "bad records"),
    MEMBER(Leat__StreamStats, n_slots, MEMBER_U32, "slots"),
    MEMBER(Leat__StreamStats, n_slots_free, MEMBER_U32, "slots free"),
    MEMBER(Leat__StreamStats, n_jobs, MEMBER_U32, "jobs out"),
    MEMBER(Leat__StreamStats, n_blocks, MEMBER_U32, "blocks"),
    MEMBER(Leat__StreamStats, n_waits, MEMBER_U64, "trainer waits"),
    MEMBER(Leat__StreamStats, wait_ns, MEMBER_NS, "waited"),
    MEMBER(Leat__StreamStats, lifetime_ns, MEMBER_NS, "running"),
    MEMBER(Leat__StreamStats, no_slot_ns, MEMBER_NS, "no slot free"),
    MEMBER(Leat__StreamStats, last_error, MEMBER_TEXT, "last error"),
    MEMBERS_END,
};

static const struct member pool_members[] = {
    MEMBER(Leat__PoolStats, name, MEMBER_TEXT, "memory"),
    MEMBER(Leat__PoolStats, n_allocations, MEMBER_U64, "asked"),
    MEMBER(Leat__PoolStats, n_hits, MEMBER_U64, "hits"),
    MEMBER(Leat__PoolStats, n_misses, MEMBER_U64, "misses"),
    MEMBER(Leat__PoolStats, current_bytes, MEMBER_BYTES, "now"),
    MEMBER(Leat__PoolStats, peak_bytes, MEMBER_BYTES, "most"),
    MEMBERS_END,
};

static const struct member session_members[] = {
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

static const struct member run_members[] = {
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

static uint64_t number_of(const void *message, const struct member *member) {
    const char *at = (const char *)message + member->offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;

    if (member->kind == MEMBER_BOOL) {
        protobuf_c_boolean flag;

        memcpy(&flag, at, sizeof(flag));
        return flag != 0;
    }
    if (member->kind == MEMBER_U32) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

static const char *text_of(const void *message, const struct member *member) {
    const char *text;

    memcpy(&text, (const char *)message + member->offset, sizeof(text));
    return text;
}

static const char *readable(const void *message, const struct member *member,
                            char buffer[LEAT_CLI_UNIT_MAX]) {
    if (member->kind == MEMBER_TEXT)
        return text_of(message, member);
    if (member->kind == MEMBER_BOOL)
        return number_of(message, member) ? "yes" : "no";
    if (member->kind == MEMBER_BYTES)
        return leat_cli_bytes(number_of(message, member), buffer);
    if (member->kind == MEMBER_NS)
        return leat_cli_duration(number_of(message, member), buffer);
    if (strcmp(member->name, "pid") == 0 || strcmp(member->name, "uid") == 0) {
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu64, number_of(message, member));
        return buffer;
    }
    return leat_cli_count(number_of(message, member), buffer);
}

/* What a client called itself may hold anything: shown without control characters. */
static void add_printable(struct leat_text *text, const char *value) {
    for (; *value; value++)
        leat_text_add_bytes(text, (unsigned char)*value < 0x20 || *value == 0x7f ? "?" : value, 1);
}

static void add_cell(struct leat_text *text, const char *value, size_t width) {
    size_t n = strlen(value);

    add_printable(text, value);
    leat_text_add(text, "%*s", (int)(n < width ? width - n : 0), "");
}

/* {"name": value, ... without the closing brace. */
static void add_json(struct leat_text *text, const struct member *members, const void *message) {
    for (const struct member *member = members; member->name; member++) {
        leat_text_add(text, "%s\"%s\": ", member == members ? "{" : ", ", member->name);
        if (member->kind == MEMBER_TEXT)
            leat_text_add_json(text, text_of(message, member), strlen(text_of(message, member)));
        else if (member->kind == MEMBER_BOOL)
            leat_text_add(text, "%s", number_of(message, member) ? "true" : "false");
        else
            leat_text_add(text, "%" PRIu64, number_of(message, member));
    }
}

/* One member a line. */
static void add_list(struct leat_text *text, const struct member *members, const void *message) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (const struct member *member = members; member->name; member++) {
        const char *value = readable(message, member, buffer);

        if (!member->label || !value[0])
            continue;
        leat_text_add(text, "  %-14s ", member->label);
        add_cell(text, value, 0);
        leat_text_add(text, "\n");
    }
}

/* One message a line, under the labels. */
static void add_table(struct leat_text *text, const struct member *members,
                      const void *const *messages, size_t n_messages) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (size_t row = 0; row <= n_messages; row++) {
        leat_text_add(text, "   ");
        for (const struct member *member = members; member->name; member++) {
            size_t width = strlen(member->label);

            for (size_t i = 0; i < n_messages; i++) {
                size_t n = strlen(readable(messages[i], member, buffer));

                width = n > width ? n : width;
            }
            leat_text_add(text, " ");
            add_cell(text, row ? readable(messages[row - 1], member, buffer) : member->label,
                     member[1].name ? width + 1 : 0);
        }
        leat_text_add(text, "\n");
    }
}

static void print_text(struct leat_text *text) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, stdout);
    free(text->data);
}

/* The reply, which must be of that kind; NULL: *ret_status. */
static Leat__ControlReply *ask(Leat__ControlRequest *request, Leat__ControlReply__VerbCase expected,
                               int timeout_ms, int *ret_status, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    bool is_unreachable = false;
    int r = leat_cli_control(NULL, request, timeout_ms, &reply, &is_unreachable, err);

    *ret_status = is_unreachable ? LEAT_CLI_UNREACHABLE : LEAT_CLI_FAILURE;
    if (r < 0)
        return NULL;
    if (reply->verb_case != expected) {
        leat_error_set(err, -EPROTO, "the daemon answered something else");
        leat__control_reply__free_unpacked(reply, NULL);
        return NULL;
    }
    *ret_status = LEAT_CLI_OK;
    return reply;
}

int leat_cli_status(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATUS;
    request.status = &empty;
    reply =
        ask(&request, LEAT__CONTROL_REPLY__VERB_STATUS, LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (arguments->json) {
        add_json(&text, status_members, reply->status);
        leat_text_add(&text, "}\n");
    } else {
        leat_text_add(&text, "leatd\n");
        add_list(&text, status_members, reply->status);
    }
    print_text(&text);
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
        add_json(text, session_members, stream->sessions[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "], \"runs\": [");
    for (size_t i = 0; i < stream->n_runs; i++) {
        leat_text_add(text, i ? ", " : "");
        add_json(text, run_members, stream->runs[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}");
}

static void add_stream_text(struct leat_text *text, const Leat__Stream *stream) {
    add_printable(text, stream->name);
    leat_text_add(text, ": %s", stream->source);
    for (size_t i = 0; i < stream->n_stages; i++)
        leat_text_add(text, " > %s", stream->stages[i]);
    if (stream->file[0])
        leat_text_add(text, "  (%s:%u)", stream->file, stream->line);
    if (stream->stalled_ns > 0)
        leat_text_add(text, "  STALLED: a worker is at one task for %.0f s",
                      (double)stream->stalled_ns / 1e9);
    leat_text_add(text, "\n");
    if (stream->n_sessions > 0)
        add_table(text, session_members, (const void *const *)stream->sessions, stream->n_sessions);
    if (stream->n_runs > 0)
        add_table(text, run_members, (const void *const *)stream->runs, stream->n_runs);
}

int leat_cli_streams(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
    request.streams = &empty;
    reply =
        ask(&request, LEAT__CONTROL_REPLY__VERB_STREAMS, LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
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
    print_text(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static void add_stats(struct leat_text *text, const Leat__StreamStats *stats, bool as_json) {
    if (!as_json) {
        add_printable(text, stats->name);
        leat_text_add(text, "\n");
        add_list(text, stats_members, stats);
        leat_cli_profile_text(text, stats);
        leat_cli_tuner_text(text, stats);
        if (stats->n_pools > 0)
            add_table(text, pool_members, (const void *const *)stats->pools, stats->n_pools);
        return;
    }
    add_json(text, stats_members, stats);
    leat_text_add(text, ", ");
    leat_cli_profile_json(text, stats);
    leat_text_add(text, ", ");
    leat_cli_tuner_json(text, stats);
    leat_text_add(text, ", \"pools\": [");
    for (size_t i = 0; i < stats->n_pools; i++) {
        leat_text_add(text, i ? ", " : "");
        add_json(text, pool_members, stats->pools[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}");
}

int leat_cli_stats(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    if (arguments->operand)
        stats.stream = (char *)(uintptr_t)arguments->operand;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    reply =
        ask(&request, LEAT__CONTROL_REPLY__VERB_STATS, LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    leat_text_add(&text, arguments->json ? "[" : "");
    for (size_t i = 0; i < reply->stats->n_streams; i++) {
        if (arguments->json && i > 0)
            leat_text_add(&text, ", ");
        add_stats(&text, reply->stats->streams[i], arguments->json);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    print_text(&text);
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
    reply = ask(&request, LEAT__CONTROL_REPLY__VERB_DONE,
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
