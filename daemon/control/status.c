/* control/status.c: the verbs status and streams. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "daemon/metrics/counts.h"
#include "daemon/schedule/heartbeat.h"
#include "daemon/stream/share.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "pipeline/io/kernel.h"
#include "proto/base/clock.h"

void *leat_control_messages(struct leat_arena *arena, const ProtobufCMessageDescriptor *kind,
                            size_t n) {
    void **list = leat_arena_alloc(arena, n * sizeof(*list));
    char *messages = leat_arena_alloc(arena, n * kind->sizeof_message);

    if (!list || !messages)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        list[i] = messages + i * kind->sizeof_message;
        protobuf_c_message_init(kind, list[i]);
    }
    return list;
}

static Leat__Failure *describe_failure(const struct leat_daemon_stream *stream,
                                       struct leat_arena *arena) {
    const struct leat_failure *failure = &stream->failure;
    Leat__Failure *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__failure__init(message);
    message->stream = stream->name;
    message->reason = (char *)(uintptr_t)leat_failure_name(failure->reason);
    message->error = (char *)(uintptr_t)failure->text;
    message->unix_ns = failure->unix_ns;
    message->is_over = failure->is_over;
    return message;
}

static int describe_failures(const struct leat_sessions *sessions, Leat__StatusReply *status,
                             struct leat_arena *arena) {
    const struct leat_daemon_stream *last = NULL;

    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next) {
        for (int i = 0; i < LEAT_N_FAILURES; i++)
            status->n_failures +=
                leat_failure_n(&stream->totals.counts.figures, (enum leat_failure_reason)i);
        status->n_failing += leat_failure_is_on(&stream->failure);
        if (stream->failure.unix_ns > (last ? last->failure.unix_ns : 0))
            last = stream;
    }
    if (last)
        status->last_failure = describe_failure(last, arena);
    return last && !status->last_failure ? -ENOMEM : 0;
}

int leat_control_describe_status(const struct leat_sessions *sessions, struct leat_arena *arena,
                                 Leat__StatusReply *status) {
    const struct leat_env *env = sessions->env;
    uint64_t now_ns = leat_now_ns();
    struct leat_daemon_figures figures;
    struct leat_process process;

    leat_daemon_read_figures(sessions, now_ns, &figures);
    leat_process_read(&process);
    figures.n_fds = process.n_fds;
    leat_figures_to_message(leat_daemon_figure_table, &figures, &status->base, NULL);
    status->version = (char *)(uintptr_t)LEAT_VERSION;
    status->pid = (uint32_t)getpid();
    status->uptime_ns = now_ns - env->start_ns;
    status->loop_longest_cpu_ns = env->turns.longest_cpu_ns;
    status->hwm_bytes = process.hwm_bytes;
    status->memory_peak_bytes = env->budget->peak_bytes;
    status->n_stalled = (uint32_t)figures.n_tasks_stalled;
    status->config_file = env->settings->file;
    status->sandbox = (char *)(uintptr_t)env->sandbox;
    return describe_failures(sessions, status, arena);
}

static int describe_kernel(Leat__StatusReply *status, struct leat_arena *arena) {
    status->kernel_needs =
        leat_control_messages(arena, &leat__kernel_need__descriptor, LEAT_KERNEL_NEEDS_MAX);
    if (!status->kernel_needs)
        return -ENOMEM;
    for (const struct leat_kernel_need *need = leat_kernel_needs; need->name; need++) {
        Leat__KernelNeed *message = status->kernel_needs[status->n_kernel_needs++];

        message->name = (char *)(uintptr_t)need->name;
        message->error = (uint32_t)need->try();
    }
    return 0;
}

void leat_control_status(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    Leat__StatusReply status = LEAT__STATUS_REPLY__INIT;
    int r = leat_control_describe_status(control->controls->sessions, arena, &status);

    (void)request;
    if (r == 0)
        r = describe_kernel(&status, arena);
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_STATUS, r < 0 ? NULL : &status);
}

/* ---- streams ---- */

void leat_control_describe_session(const struct leat_session *session, Leat__Session *message) {
    message->id = session->id;
    message->pid = (uint32_t)session->peer.pid;
    message->uid = session->peer.uid;
    message->client_name = (char *)(uintptr_t)session->client_name;
    message->delivery = (char *)(uintptr_t)(session->delivery ? session->delivery->ops->name : "");
    message->epoch = session->next_epoch;
    message->step = session->next_step;
    message->rank = session->rank;
    message->world_size = session->world_size;
    message->n_held = session->consumer.reader.n_holds;
    message->window = session->window;
    message->n_batches = session->n_batches;
    message->state = (char *)(uintptr_t)leat_session_state_name(session->state);
    message->age_ns = leat_now_ns() - session->start_ns;
    message->run =
        session->consumer.reader.run ? leat_feed_of(session->consumer.reader.run)->number : 0;
}

static const char *run_state(const struct leat_feed *feed) {
    static const char *const names[] = {
        [LEAT_FEED_STARTING] = "starting",
        [LEAT_FEED_RUNNING] = "running",
        [LEAT_FEED_GROWING] = "growing",
        [LEAT_FEED_CLOSING] = "closing",
    };

    return feed->broadcast_run.successor && !feed->broadcast_run.is_closed ? "joining"
                                                                           : names[feed->state];
}

static void describe_run(const struct leat_feed *feed, Leat__Run *message) {
    const struct leat_broadcast_run *run = &feed->broadcast_run;
    uint64_t n_slots = 0, n_slots_free = 0;

    message->number = feed->number;
    message->n_sessions = run->n_readers;
    message->epoch = run->head.epoch;
    message->step = run->head.step;
    message->first_rank = (uint32_t)run->first_rank;
    message->n_ranks = (uint32_t)run->n_ranks;
    message->world_size = (uint32_t)feed->share->broadcast.world_size;
    leat_feed_add_slots(feed, &n_slots, &n_slots_free);
    message->n_slots = (uint32_t)n_slots;
    message->n_slots_free = (uint32_t)n_slots_free;
    message->n_batches = run->n_batches;
    message->state = (char *)(uintptr_t)run_state(feed);
    message->joins = run->successor ? leat_feed_of(run->successor)->number : 0;
}

static int describe_runs(const struct leat_sessions *sessions,
                         const struct leat_daemon_stream *stream, Leat__Stream *message,
                         struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
        n += feed->stream == stream;
    message->runs = leat_control_messages(arena, &leat__run__descriptor, n);
    if (!message->runs)
        return -ENOMEM;
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
        if (feed->stream == stream)
            describe_run(feed, message->runs[message->n_runs++]);
    return 0;
}

static int describe_sessions(const struct leat_sessions *sessions,
                             const struct leat_daemon_stream *stream, Leat__Stream *message,
                             struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_session *session = sessions->first; session; session = session->next)
        n += session->stream == stream;
    message->sessions = leat_control_messages(arena, &leat__session__descriptor, n);
    if (!message->sessions)
        return -ENOMEM;
    for (const struct leat_session *session = sessions->first; session; session = session->next)
        if (session->stream == stream)
            leat_control_describe_session(session, message->sessions[message->n_sessions++]);
    return 0;
}

static int count_failures(const struct leat_daemon_stream *stream, Leat__Stream *message,
                          struct leat_arena *arena) {
    message->failures =
        leat_control_messages(arena, &leat__failure_count__descriptor, LEAT_N_FAILURES);
    for (int i = 0; message->failures && i < LEAT_N_FAILURES; i++) {
        Leat__FailureCount *count = message->failures[message->n_failures];

        count->reason = (char *)(uintptr_t)leat_failure_name((enum leat_failure_reason)i);
        count->n = leat_failure_n(&stream->totals.counts.figures, (enum leat_failure_reason)i);
        message->n_failures += count->n > 0;
    }
    return message->failures ? 0 : -ENOMEM;
}

static int describe_stream(const struct leat_sessions *sessions,
                           const struct leat_daemon_stream *stream, Leat__Stream *message,
                           struct leat_arena *arena) {
    const struct leat_spec *spec = stream->spec;

    message->name = stream->name;
    message->source = spec->source.kind;
    if (spec->file)
        message->file = spec->file;
    message->line = spec->line;
    message->stalled_ns = stream->stalled_ns;
    message->stages = leat_arena_alloc(arena, spec->n_stages * sizeof(*message->stages));
    if (!message->stages)
        return -ENOMEM;
    for (size_t i = 0; i < spec->n_stages; i++)
        message->stages[message->n_stages++] = spec->stages[i].kind;
    if (stream->failure.unix_ns > 0) {
        message->last_failure = describe_failure(stream, arena);
        if (!message->last_failure || count_failures(stream, message, arena) < 0)
            return -ENOMEM;
    }
    if (describe_runs(sessions, stream, message, arena) < 0)
        return -ENOMEM;
    return describe_sessions(sessions, stream, message, arena);
}

int leat_control_describe_streams(const struct leat_sessions *sessions, const char *name,
                                  struct leat_arena *arena, Leat__StreamsReply *streams) {
    streams->streams = leat_control_messages(arena, &leat__stream__descriptor,
                                             leat_streams_count(&sessions->feeds->streams));
    if (!streams->streams)
        return -ENOMEM;
    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next)
        if (leat_control_is_meant(stream, name) &&
            describe_stream(sessions, stream, streams->streams[streams->n_streams++], arena) < 0)
            return -ENOMEM;
    return 0;
}

void leat_control_streams(struct leat_control *control, const Leat__ControlRequest *request,
                          struct leat_arena *arena) {
    Leat__StreamsReply streams = LEAT__STREAMS_REPLY__INIT;
    int r = leat_control_describe_streams(control->controls->sessions, "", arena, &streams);

    (void)request;
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_STREAMS, r < 0 ? NULL : &streams);
}
