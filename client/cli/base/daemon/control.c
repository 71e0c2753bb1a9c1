/* control.c: see control.h. A question is one frame and so is its answer; only a subscription may
 * have bytes left over between two frames. */
#include "client/cli/base/daemon/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/cli/base/exit_status.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/transport/address.h"
#include "proto/frame.h"
#include "proto/message.h"

static int send_all(int fd, const uint8_t *bytes, size_t n_bytes, struct leat_error *err) {
    while (n_bytes > 0) {
        ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_error_set(err, -errno, "control socket: %s", strerror(errno));
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

int leat_cli_control_send(int fd, const Leat__ControlRequest *request, struct leat_error *err) {
    size_t n_bytes = leat__control_request__get_packed_size(request);
    uint8_t *frame;
    int r;

    if (n_bytes > LEAT_CONTROL_FRAME_MAX)
        return leat_error_set(err, -E2BIG, "the request has %zu bytes, more than %u", n_bytes,
                              LEAT_CONTROL_FRAME_MAX);
    frame = malloc(LEAT_FRAME_HEAD_BYTES + n_bytes);
    if (!frame)
        return leat_error_oom(err);
    leat_frame_head(frame, (uint32_t)n_bytes);
    leat__control_request__pack(request, frame + LEAT_FRAME_HEAD_BYTES);
    r = send_all(fd, frame, LEAT_FRAME_HEAD_BYTES + n_bytes, err);
    free(frame);
    return r;
}

static int read_more(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
                     struct leat_error *err) {
    struct pollfd item = {.fd = fd, .events = POLLIN};
    uint8_t *space;
    size_t size;
    ssize_t n;
    int r = poll(&item, 1, timeout_ms);

    if (r < 0)
        return leat_error_set(err, -errno, "control socket: %s", strerror(errno));
    if (r == 0)
        return leat_error_set(err, -ETIMEDOUT, "the daemon did not answer within %d ms",
                              timeout_ms);
    if (leat_frame_decoder_space(decoder, 4096, &space, &size) < 0)
        return leat_error_oom(err);
    n = recv(fd, space, size, 0);
    if (n < 0)
        return leat_error_set(err, -errno, "control socket: %s", strerror(errno));
    if (n == 0)
        return leat_error_set(err, -ECONNRESET, "the daemon closed the control socket");
    leat_frame_decoder_filled(decoder, (size_t)n);
    return 0;
}

int leat_cli_control_receive(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
                             Leat__ControlReply **ret_reply, struct leat_error *err) {
    const uint8_t *frame;
    size_t size;
    int r;

    while ((r = leat_frame_decoder_next(decoder, &frame, &size, err)) == 0) {
        r = read_more(fd, decoder, timeout_ms, err);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    *ret_reply = leat_message_unpack(&leat__control_reply__descriptor, frame, size,
                                     "the daemon's answer cannot be read", err);
    return *ret_reply ? 0 : err->code;
}

static int receive_reply(int fd, int timeout_ms, Leat__ControlReply **ret_reply,
                         struct leat_error *err) {
    struct leat_frame_decoder decoder;
    int r;

    leat_frame_decoder_init(&decoder, LEAT_CONTROL_FRAME_MAX);
    r = leat_cli_control_receive(fd, &decoder, timeout_ms, ret_reply, err);
    leat_frame_decoder_deinit(&decoder);
    return r;
}

int leat_cli_control_open(const char *address, int *ret_fd, struct leat_error *err) {
    int r = leat_address_connect(address, LEAT_SOCKET_CONTROL, SOCK_STREAM,
                                 LEAT_CLI_CONTROL_TIMEOUT_MS, ret_fd, NULL, err);

    return r == 0 ? LEAT_CLI_OK : r == -EACCES ? LEAT_CLI_NO_RIGHT : LEAT_CLI_NO_DAEMON;
}

int leat_cli_control_refusal(const struct leat_error *err) {
    bool is_refused = err->code == -EACCES && !err->file[0]; /* not a file that cannot be read */

    return is_refused ? LEAT_CLI_NO_RIGHT : leat_cli_error_status(err);
}

#define REPLY(verb, reply) [LEAT__CONTROL_REQUEST__VERB_##verb] = LEAT__CONTROL_REPLY__VERB_##reply

/* The table says which reply each verb gets. */
static const Leat__ControlReply__VerbCase replies[] = {
    REPLY(STATUS, STATUS),       REPLY(STREAMS, STREAMS), REPLY(STATS, STATS),
    REPLY(EXPLAIN, EXPLAIN),     REPLY(DRAIN, DONE),      REPLY(TRACE, TRACE),
    REPLY(SPEC, SPEC),           REPLY(RELOAD, RELOAD),   REPLY(KICK, KICK),
    REPLY(LOG_LEVEL, LOG_LEVEL), REPLY(QUOTA, QUOTA),     REPLY(HISTORY, HISTORY),
    REPLY(METRICS, METRICS),     REPLY(WHY, WHY),         REPLY(TRAINERS, TRAINERS),
    REPLY(CACHES, CACHES),
};

/* Reads the reply even if the request could not be sent: a daemon that turns a client away says why
 * before it closes the connection. */
static int exchange_frames(int fd, const Leat__ControlRequest *request, int timeout_ms,
                           Leat__ControlReply **ret_reply, struct leat_error *err) {
    struct leat_error failure = LEAT_ERROR_INIT;
    int r = leat_cli_control_send(fd, request, &failure);

    if (r == 0)
        return receive_reply(fd, timeout_ms, ret_reply, err);
    if (r == -EPIPE && receive_reply(fd, timeout_ms, ret_reply, LEAT_ERROR_IGNORED) == 0)
        return 0;
    *err = failure;
    return r;
}

int leat_cli_control_ask(int fd, Leat__ControlRequest__VerbCase verb, void *message, int timeout_ms,
                         Leat__ControlReply **ret_reply, struct leat_error *err) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlReply *reply;
    int r;

    message = message ? message : &empty;
    request.version = 1;
    request.verb_case = verb;
    memcpy(&request.status, &message, sizeof(message)); /* the verbs are a union of pointers */
    r = exchange_frames(fd, &request, timeout_ms, &reply, err);
    if (r < 0)
        return r;
    if (!reply->error && reply->verb_case == replies[verb]) {
        *ret_reply = reply;
        return 0;
    }
    if (reply->error)
        leat_error_from_message(err, reply->error);
    else
        leat_error_set(err, -EPROTO, "the daemon sent an unexpected answer");
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code;
}

Leat__ControlReply *leat_cli_control(const char *address, Leat__ControlRequest__VerbCase verb,
                                     void *message, int timeout_ms, int *ret_status,
                                     struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    int fd;

    *ret_status = leat_cli_control_open(address, &fd, err);
    if (*ret_status != LEAT_CLI_OK)
        return NULL;
    if (leat_cli_control_ask(fd, verb, message, timeout_ms, &reply, err) < 0)
        *ret_status = leat_cli_control_refusal(err);
    (void)close(fd);
    return reply;
}

/* ---- one question of a command ---- */

int leat_cli_ask(const struct leat_cli_question *question,
                 const struct leat_cli_arguments *arguments, struct leat_error *err) {
    int timeout_ms = question->timeout_ms ? question->timeout_ms : LEAT_CLI_CONTROL_TIMEOUT_MS;
    struct leat_text text = {.data = NULL};
    int status;
    Leat__ControlReply *reply =
        leat_cli_control(NULL, question->verb, question->message, timeout_ms, &status, err);

    if (!reply)
        return status;
    /* The verbs' replies are a union of pointers. */
    if (!arguments->json)
        question->add_text(&text, reply->status, arguments);
    else if (question->add_json)
        question->add_json(&text, reply->status, arguments);
    else if (question->is_list)
        leat_cli_message_list_json(&text, reply->status);
    else
        leat_cli_message_json(&text, NULL, reply->status);
    if (arguments->json)
        leat_text_add(&text, "\n");
    if (text.failed)
        status = leat_error_oom(err) < 0 ? LEAT_CLI_FAILURE : status;
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

/* ---- subscriptions ---- */

int leat_cli_subscription_begin(struct leat_cli_subscription *subscription, const char *stream,
                                uint32_t interval_ms, struct leat_error *err) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__SubscribeRequest subscribe = LEAT__SUBSCRIBE_REQUEST__INIT;
    int r, status;

    *subscription = (struct leat_cli_subscription){
        .fd = -1, .timeout_ms = (int)interval_ms + LEAT_CLI_CONTROL_TIMEOUT_MS};
    status = leat_cli_control_open(NULL, &subscription->fd, err);
    if (status != LEAT_CLI_OK)
        return status;
    if (stream)
        subscribe.stream = (char *)(uintptr_t)stream;
    subscribe.interval_ms = interval_ms;
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SUBSCRIBE;
    request.subscribe = &subscribe;
    leat_frame_decoder_init(&subscription->decoder, LEAT_CONTROL_FRAME_MAX);
    r = leat_cli_control_send(subscription->fd, &request, err);
    if (r < 0)
        leat_cli_subscription_end(subscription);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

Leat__ControlReply *leat_cli_subscription_next(struct leat_cli_subscription *subscription,
                                               int *ret_status, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;

    *ret_status = LEAT_CLI_FAILURE;
    if (leat_cli_control_receive(subscription->fd, &subscription->decoder, subscription->timeout_ms,
                                 &reply, err) < 0) {
        if (!leat_cli_interrupt_seen())
            return NULL;
        *err = LEAT_ERROR_INIT;
        *ret_status = LEAT_CLI_INTERRUPTED;
        return NULL;
    }
    if (!reply->error && reply->verb_case == LEAT__CONTROL_REPLY__VERB_UPDATE) {
        *ret_status = LEAT_CLI_OK;
        return reply;
    }
    if (reply->error)
        leat_error_from_message(err, reply->error);
    else
        leat_error_set(err, -EPROTO, "the daemon sent an unexpected answer");
    leat__control_reply__free_unpacked(reply, NULL);
    *ret_status = leat_cli_control_refusal(err);
    return NULL;
}

void leat_cli_subscription_end(struct leat_cli_subscription *subscription) {
    leat_frame_decoder_deinit(&subscription->decoder);
    (void)close(subscription->fd);
    subscription->fd = -1;
}
