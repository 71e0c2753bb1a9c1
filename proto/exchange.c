/* exchange.c: see exchange.h. A question is one frame and so is its answer; only a subscription may
 * have bytes left over between two frames. */
#include "proto/exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/message.h"

static int send_all(int fd, const uint8_t *bytes, size_t n_bytes, struct leat_error *err) {
    while (n_bytes > 0) {
        ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_error_set(err, -errno, "cannot write to the control socket: %s",
                                  strerror(errno));
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

int leat_exchange_send(int fd, const Leat__ControlRequest *request, struct leat_error *err) {
    size_t n_bytes = leat__control_request__get_packed_size(request);
    uint8_t *frame;
    int r;

    if (n_bytes > LEAT_CONTROL_FRAME_MAX)
        return leat_error_set(err, -E2BIG, "the request has %zu bytes, but it may have at most %u",
                              n_bytes, LEAT_CONTROL_FRAME_MAX);
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
        return leat_error_set(err, -errno, "cannot wait for the control socket: %s",
                              strerror(errno));
    if (r == 0)
        return leat_error_set(
            err, -ETIMEDOUT,
            "the daemon did not answer within %d ms: check whether it is stopped or suspended",
            timeout_ms);
    if (leat_frame_decoder_space(decoder, 4096, &space, &size) < 0)
        return leat_error_oom(err);
    n = recv(fd, space, size, 0);
    if (n < 0)
        return leat_error_set(err, -errno, "cannot read from the control socket: %s",
                              strerror(errno));
    if (n == 0)
        return leat_error_set(
            err, -ECONNRESET,
            "the daemon closed the control socket: check that leatd runs; its log says why");
    leat_frame_decoder_filled(decoder, (size_t)n);
    return 0;
}

int leat_exchange_receive(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
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
                                     "the daemon's answer is not a valid message", err);
    return *ret_reply ? 0 : err->code;
}

static int receive_reply(int fd, int timeout_ms, Leat__ControlReply **ret_reply,
                         struct leat_error *err) {
    struct leat_frame_decoder decoder;
    int r;

    leat_frame_decoder_init(&decoder, LEAT_CONTROL_FRAME_MAX);
    r = leat_exchange_receive(fd, &decoder, timeout_ms, ret_reply, err);
    leat_frame_decoder_deinit(&decoder);
    return r;
}

/* A verb is answered by the reply of its name, else by `done`. */
static unsigned reply_of(Leat__ControlRequest__VerbCase verb) {
    const ProtobufCFieldDescriptor *asked =
        protobuf_c_message_descriptor_get_field(&leat__control_request__descriptor, verb);
    const ProtobufCFieldDescriptor *reply = protobuf_c_message_descriptor_get_field_by_name(
        &leat__control_reply__descriptor, asked->name);

    return reply ? reply->id : LEAT__CONTROL_REPLY__VERB_DONE;
}

/* Reads the reply even if the request could not be sent: a daemon that turns a client away says why
 * before it closes the connection. */
static int exchange_frames(int fd, const Leat__ControlRequest *request, int timeout_ms,
                           Leat__ControlReply **ret_reply, struct leat_error *err) {
    struct leat_error failure = LEAT_ERROR_INIT;
    int r = leat_exchange_send(fd, request, &failure);

    if (r == 0)
        return receive_reply(fd, timeout_ms, ret_reply, err);
    if (r == -EPIPE && receive_reply(fd, timeout_ms, ret_reply, LEAT_ERROR_IGNORED) == 0)
        return 0;
    *err = failure;
    return r;
}

int leat_exchange_ask(int fd, Leat__ControlRequest__VerbCase verb, void *message, int timeout_ms,
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
    if (!reply->error && reply->verb_case == reply_of(verb)) {
        *ret_reply = reply;
        return 0;
    }
    if (reply->error)
        leat_error_from_message(err, reply->error);
    else
        leat_error_set(err, -EPROTO, "the daemon sent an answer to another request");
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code;
}
