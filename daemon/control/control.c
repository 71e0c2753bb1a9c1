/* control.c: control connections, and the table of verbs. */
#include "daemon/control/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/packed.h"
#include "daemon/stream/tracing.h"
#include "daemon/trainer/delivery.h"
#include "daemon/trainer/session.h"
#include "proto/base/clock.h"
#include "proto/base/list.h"
#include "proto/message.h"

static const struct {
    Leat__ControlRequest__VerbCase verb;
    const char *name;
    enum leat_right right;
    leat_control_verb *handle;
} verbs[] = {
#define LEAT_CONTROL_VERB(upper, name, right)                                                      \
    {LEAT__CONTROL_REQUEST__VERB_##upper, #name, LEAT_RIGHT_##right, leat_control_##name},
#include "proto/control_verbs.def"
#undef LEAT_CONTROL_VERB
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* ---- out ---- */

/* packed NULL: there was no memory for it. */
static void send_packed(struct leat_control *control, struct leat_packed *packed) {
    if (!packed || control->channel.queued_bytes > LEAT_CONTROL_QUEUE_MAX ||
        !leat_packed_send(packed, &control->channel))
        leat_control_close(control);
}

void leat_control_reply(struct leat_control *control, const Leat__ControlReply *reply) {
    size_t n_bytes = leat__control_reply__get_packed_size(reply);
    struct leat_packed *packed;

    if (n_bytes == 0 || n_bytes > LEAT_CONTROL_FRAME_MAX) {
        struct leat_error err = LEAT_ERROR_INIT;

        leat_error_set(&err, -EMSGSIZE, "the reply would have %zu bytes, but it may have 1 to %u",
                       n_bytes, LEAT_CONTROL_FRAME_MAX);
        leat_control_fail(control, &err);
        return;
    }
    packed = leat_packed_new(reply);
    if (packed && control->request && !reply->error)
        leat_packed_remember(&control->controls->answer, control->request, control->n_request,
                             packed);
    send_packed(control, packed);
    leat_packed_unref(packed);
}

void leat_control_fail(struct leat_control *control, const struct leat_error *err) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__Error message;

    leat_error_to_message(err, &message);
    reply.error = &message;
    leat_control_reply(control, &reply);
}

void leat_control_fail_memory(struct leat_control *control) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_oom(&err);
    leat_control_fail(control, &err);
}

void leat_control_log(const struct leat_control *control, const char *what) {
    leat_log_write(control->controls->env->log, LEAT_EVENT_ASKED,
                   (struct leat_log_field[]){
                       LEAT_LOG_T("what", what),
                       LEAT_LOG_N("uid", control->peer.uid),
                       LEAT_LOG_N("pid", control->peer.pid),
                       LEAT_LOG_FIELDS_END,
                   });
}

void leat_control_charge_work(struct leat_control *control, uint64_t taken_ns) {
    if (control->right < LEAT_RIGHT_OPERATE)
        leat_control_rest_work(&control->rest, taken_ns);
}

void leat_control_answer(struct leat_control *control, Leat__ControlReply__VerbCase verb,
                         void *message) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;

    reply.verb_case = verb;
    reply.done = message; /* a union of pointers to messages */
    if (message)
        leat_control_reply(control, &reply);
    else
        leat_control_fail_memory(control);
}

void leat_control_answer_done(struct leat_control *control) {
    Leat__Empty empty = LEAT__EMPTY__INIT;

    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_DONE, &empty);
}

/* ---- from a worker thread ---- */

void leat_control_job_begin(struct leat_control_job *job, struct leat_control *control) {
    job->control = control;
    job->user = leat_user_ref(control->user);
    job->task.class = LEAT_TASK_SLOW;
    control->job = job;
    leat_channel_pause(&control->channel, true);
}

void leat_control_job_done(struct leat_task *task) {
    struct leat_control_job *job = (struct leat_control_job *)task;
    struct leat_control *control = job->control;
    struct leat_user *user = job->user;

    if (control) {
        control->job = NULL;
        leat_control_rest_begin(&control->rest);
        leat_control_charge_work(control, task->taken_ns);
        job->answer(job);
        if (!control->is_closed)
            leat_channel_pause(&control->channel, false);
    }
    job->free(job);
    if (control)
        leat_control_rest_end(&control->rest);
    leat_user_unref(user);
}

/* ---- in ---- */

/* True if the client has hung up. It may have asked an earlier daemon on the same socket. */
static bool has_gone(const struct leat_control *control) {
    struct pollfd poll_fd = {.fd = control->channel.fd, .events = POLLRDHUP};

    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* Answered when everything is drained, just before the daemon ends. */
void leat_control_drain(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    (void)arena;
    if (has_gone(control)) {
        leat_control_close(control);
        return;
    }
    leat_control_log(control, "drain");
    control->waits_for_drain = true;
    control->controls->ops->drain(control->controls, request->drain->timeout_ms);
}

static int check(const struct leat_control *control, const Leat__ControlRequest *request,
                 size_t *ret_verb, struct leat_error *err) {
    size_t i = 0;

    if (request->version != 1)
        return leat_error_set(err, -EPROTONOSUPPORT,
                              "the request has version %u of the control protocol, but this daemon "
                              "knows only version 1",
                              request->version);
    while (i < N_VERBS && verbs[i].verb != request->verb_case)
        i++;
    if (i == N_VERBS)
        return leat_error_set(err, -EOPNOTSUPP,
                              "this daemon (version %s) does not know this request: update the "
                              "older of the two programs",
                              LEAT_VERSION);
    *ret_verb = i;
    if (control->right >= verbs[i].right)
        return 0;
    return leat_rights_refuse(&control->controls->rights, verbs[i].right, control->peer.uid,
                              verbs[i].name, err);
}

/* True if the answer is the same for all clients, and given at once. */
static bool is_for_all(Leat__ControlRequest__VerbCase verb) {
    return verb == LEAT__CONTROL_REQUEST__VERB_STATUS ||
           verb == LEAT__CONTROL_REQUEST__VERB_STREAMS ||
           verb == LEAT__CONTROL_REQUEST__VERB_STATS ||
           verb == LEAT__CONTROL_REQUEST__VERB_TRAINERS;
}

static void handle(struct leat_control *control, const Leat__ControlRequest *request,
                   const uint8_t *frame, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_arena arena;
    uint64_t start_ns;
    size_t verb = 0;

    if (check(control, request, &verb, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    control->request = is_for_all(verbs[verb].verb) ? frame : NULL;
    control->n_request = n_bytes;
    start_ns = leat_thread_ns();
    leat_arena_init(&arena);
    verbs[verb].handle(control, request, &arena);
    leat_arena_deinit(&arena);
    control->request = NULL;
    if (verbs[verb].right == LEAT_RIGHT_OPERATE)
        leat_control_rest_waive(&control->rest, start_ns);
}

static struct leat_control *control_of(struct leat_channel *channel) {
    return (struct leat_control *)((char *)channel - offsetof(struct leat_control, channel));
}

static void on_turn(struct leat_channel *channel, bool begins) {
    if (begins)
        leat_control_rest_begin(&control_of(channel)->rest);
    else
        leat_control_rest_end(&control_of(channel)->rest);
}

static void parse(struct leat_control *control, const uint8_t *frame, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    Leat__ControlRequest *request = NULL;

    if (leat_message_check(&leat__control_request__descriptor, frame, n_bytes, &err) == 0)
        request = leat_message_unpack(&leat__control_request__descriptor, frame, n_bytes,
                                      "the request is not a valid protobuf message", &err);
    if (request)
        handle(control, request, frame, n_bytes);
    else
        leat_control_fail(control, &err);
    leat__control_request__free_unpacked(request, NULL);
}

static void on_frame(struct leat_channel *channel, const uint8_t *frame, size_t n_bytes) {
    struct leat_control *control = control_of(channel);
    struct leat_packed *packed = leat_packed_find(&control->controls->answer, frame, n_bytes);

    if (packed)
        send_packed(control, packed);
    else
        parse(control, frame, n_bytes);
    leat_control_rest_serve(&control->rest);
}

static void on_end(struct leat_channel *channel, const struct leat_error *err) {
    struct leat_control *control = control_of(channel);

    if (err->code == -EPROTO)
        leat_control_fail(control, err);
    leat_control_close(control);
}

static void on_drained(struct leat_channel *channel) {
    struct leat_control *control = control_of(channel);

    if (control->closes_when_sent)
        leat_control_close(control);
}

/* ---- life ---- */

static void on_closed(struct leat_channel *channel) {
    struct leat_control *control = control_of(channel);
    struct leat_controls *controls = control->controls;

    if (control->rest.since_ns > 0)
        leat_control_rest_end(&control->rest);
    LEAT_LIST_REMOVE(control);
    leat_user_discharge(control->user, LEAT_CHARGE_CONTROLS, 1);
    leat_user_unref(control->user);
    free(control);
    leat_env_ended(controls->env);
}

static const struct leat_channel_ops channel_ops = {
    .on_turn = on_turn,
    .on_frame = on_frame,
    .on_end = on_end,
    .on_drained = on_drained,
    .on_closed = on_closed,
};

void leat_control_close(struct leat_control *control) {
    if (control->is_closed)
        return;
    control->is_closed = true;
    leat_control_rest_close(&control->rest);
    if (control->job)
        control->job->control = NULL;
    control->job = NULL;
    control->subscription = leat_subscription_free(control->subscription);
    if (control->reload)
        control->controls->ops->abandon_reload(control);
    control->tracing = leat_tracing_free(control->tracing);
    leat_channel_close(&control->channel);
}

void leat_control_leave(struct leat_control *control) {
    if (control->waits_for_drain && !control->is_closed)
        leat_control_answer_done(control);
    control->closes_when_sent = true;
    if (!control->channel.first)
        leat_control_close(control);
}

void leat_controls_init(struct leat_controls *controls) {
    leat_control_pace_init(&controls->pace, controls->env->loop, controls->env->n_workers);
    (void)uv_timer_init(controls->env->loop, &controls->updates);
    controls->updates.data = controls;
}

void leat_controls_close(struct leat_controls *controls) {
    leat_control_pace_close(&controls->pace);
    uv_close((uv_handle_t *)&controls->updates, NULL);
}

static int start(struct leat_control *control, int take_fd, struct leat_error *err) {
    struct leat_controls *controls = control->controls;
    int r = leat_peer_identify(&control->peer, take_fd);

    if (r < 0)
        return leat_error_set(err, r, "the daemon cannot find out which user has connected: %s",
                              strerror(-r));
    control->right = leat_rights_of(&controls->rights, &control->peer, take_fd);
    if (control->right == LEAT_RIGHT_NONE)
        return leat_rights_refuse(&controls->rights, LEAT_RIGHT_READ, control->peer.uid,
                                  "the control socket", err);
    control->user = leat_users_get(controls->env->users, control->peer.uid);
    if (!control->user)
        return leat_error_oom(err);
    r = leat_user_charge(control->user, LEAT_CHARGE_CONTROLS, 1, err);
    if (r < 0)
        return r;
    r = leat_channel_open(&control->channel, controls->env->loop, controls->env->closer, take_fd,
                          LEAT_CONTROL_FRAME_MAX, &channel_ops);
    if (r < 0)
        leat_user_discharge(control->user, LEAT_CHARGE_CONTROLS, 1);
    return r;
}

static void say_why(int fd, const struct leat_error *err) {
    uint8_t bytes[LEAT_FRAME_HEAD_BYTES + LEAT_DELIVERY_ERROR_MAX];
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__Error message;
    size_t n_bytes;

    leat_error_to_message(err, &message);
    reply.error = &message;
    n_bytes = leat__control_reply__get_packed_size(&reply);
    if (n_bytes <= LEAT_DELIVERY_ERROR_MAX) {
        leat_frame_head(bytes, (uint32_t)n_bytes);
        (void)leat__control_reply__pack(&reply, bytes + LEAT_FRAME_HEAD_BYTES);
        (void)send(fd, bytes, LEAT_FRAME_HEAD_BYTES + n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void leat_control_turn_away(struct leat_controls *controls, int take_fd,
                            const struct leat_error *err) {
    if (err)
        say_why(take_fd, err);
    leat_socket_closer_dispose(controls->env->closer, take_fd);
}

int leat_control_accept(struct leat_controls *controls, int take_fd) {
    struct leat_control *control = calloc(1, sizeof(*control));
    uint64_t start_ns = leat_thread_ns();
    struct leat_error err = LEAT_ERROR_INIT;

    (void)leat_socket_refuse_descriptors(take_fd);
    if (control)
        control->controls = controls;
    else
        leat_error_oom(&err);
    if (!control || start(control, take_fd, &err) < 0) {
        leat_control_turn_away(controls, take_fd, &err);
        if (control && control->user)
            leat_control_pace_charge(control->user, leat_thread_ns() - start_ns);
        if (control)
            leat_user_unref(control->user);
        free(control);
        return 0;
    }
    LEAT_LIST_ADD(&controls->first, control);
    leat_control_rest_init(&control->rest, &controls->pace, &control->channel, control->user,
                           start_ns);
    return 0;
}

/* ---- reload ---- */

void leat_control_reload(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    (void)arena;
    control->controls->ops->reload(control, request->reload->only_checks);
}
