/* session.c: see session.h. */
#include "client/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/stream.h"
#include "proto/base/dtype.h"
#include "proto/error_message.h"
#include "proto/leat.pb-c.h"

/* ---- packets ---- */

int leat_session_take_error(const struct leat_packet *packet, const void *payload,
                            struct leat_error *err) {
    Leat__Error *message = leat__error__unpack(NULL, packet->payload_bytes, payload);

    if (!message)
        return leat_error_set(err, -EPROTO, "the daemon sent an error that cannot be read");
    leat_error_from_message(err, message);
    leat__error__free_unpacked(message, NULL);
    return err->code;
}

static const char *what(const struct leat_stream *stream) {
    return stream->phase == LEAT_PHASE_GREETING ? "at the greeting" : "when asked for the stream";
}

static int explain_failure(const struct leat_stream *stream, int code, struct leat_error *err) {
    switch (code) {
    case 0:
    case -ECONNRESET:
    case -EPIPE:
        return leat_error_set(err, -ECONNRESET, "the daemon closed the connection %s",
                              what(stream));
    case -EPROTO:
        return leat_error_set(err, code, "the daemon sent a packet of a wrong size %s",
                              what(stream));
    default:
        return leat_error_set(err, code, "%s: %s", what(stream), strerror(-code));
    }
}

/* What the daemon had to say before it closed is worth more than the broken pipe: so that is told
 * by who reads next. */
static int say(struct leat_stream *stream, const struct leat_packet *packet, const void *payload,
               struct leat_error *err) {
    int r = leat_wire_send(&stream->wire, packet, payload);

    return r == 0 || r == -EPIPE || r == -ECONNRESET ? 0 : explain_failure(stream, r, err);
}

/* ---- HELLO and OPEN ---- */

int leat_session_begin(struct leat_stream *stream, int take_fd, struct leat_error *err) {
    struct leat_packet hello = {
        .kind = LEAT_PACKET_HELLO,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR,
                  .features = LEAT_FEATURE_REACHED},
    };

    if (leat_wire_init(&stream->wire, take_fd, stream->request.delivery == LEAT_DELIVERY_COPY) <
        0) {
        (void)close(take_fd);
        stream->wire.fd = -1;
        return leat_error_oom(err);
    }
    stream->number++;
    stream->n_session_held = 0;
    stream->reached = 0;
    stream->phase = LEAT_PHASE_GREETING;
    return say(stream, &hello, NULL, err);
}

static int take_welcome(struct leat_stream *stream, struct leat_error *err) {
    const struct leat_packet *welcome = &stream->wire.packet;
    uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};

    if (welcome->hello.magic != LEAT_PACKET_MAGIC)
        return leat_error_set(err, -EPROTO, "what answers there is not leatd");
    if (welcome->hello.major != LEAT_PROTOCOL_MAJOR)
        return leat_error_set(err, -EPROTONOSUPPORT,
                              "leatd speaks protocol %u.%u and this libleat %d.%d: update the "
                              "older of them",
                              welcome->hello.major, welcome->hello.minor, LEAT_PROTOCOL_MAJOR,
                              LEAT_PROTOCOL_MINOR);
    packet.payload_bytes = (uint32_t)leat_request_pack(&stream->request, payload);
    stream->phase = LEAT_PHASE_OPENING;
    return say(stream, &packet, payload, err);
}

/* ---- OPENED ---- */

static int take_tensor(struct leat_tensor_info *info, const Leat__Tensor *message,
                       struct leat_error *err) {
    enum leat_dtype dtype = leat_dtype_parse(message->dtype);

    if (!message->name[0] || !leat_dtype_is_element(dtype) || message->n_shape > LEAT_MAX_NDIM)
        return leat_error_set(err, -EPROTO,
                              "the daemon describes a tensor of dtype \"%.32s\" "
                              "with %zu dimensions",
                              message->dtype, message->n_shape);
    *info = (struct leat_tensor_info){
        .name = strdup(message->name),
        .dtype_name = leat_dtype_name(dtype),
        .dtype = (uint32_t)dtype,
        .ndim = (uint32_t)message->n_shape,
    };
    for (size_t d = 0; d < message->n_shape; d++)
        info->shape[d] = message->shape[d];
    return info->name ? 0 : leat_error_oom(err);
}

static int check_opened(const Leat__Opened *message, struct leat_error *err) {
    if (message->window == 0 || message->window > LEAT_STREAM_MAX_WINDOW)
        return leat_error_set(err, -EPROTO, "the daemon gives a window of %u, outside 1..%d",
                              message->window, LEAT_STREAM_MAX_WINDOW);
    if (message->n_tensors > LEAT_SLOT_MAX_TENSORS ||
        message->spec_digest.len != LEAT_DIGEST_BYTES ||
        (message->data_digest.len > 0 && message->data_digest.len != LEAT_DIGEST_BYTES))
        return leat_error_set(
            err, -EPROTO, "the daemon describes %zu tensors, digests of %zu and %zu bytes",
            message->n_tensors, message->spec_digest.len, message->data_digest.len);
    return 0;
}

static int take_opened(struct leat_stream *stream, const Leat__Opened *message,
                       struct leat_error *err) {
    stream->window = message->window;
    stream->batch_size = message->batch_size;
    memcpy(stream->digest, message->spec_digest.data, sizeof(stream->digest));
    if (message->data_digest.len == sizeof(stream->data_digest))
        memcpy(stream->data_digest, message->data_digest.data, sizeof(stream->data_digest));
    stream->seed = message->seed;
    stream->has_epoch_steps = message->has_n_steps;
    stream->epoch_steps = message->n_steps;
    stream->has_constant_steps = message->has_constant_steps;
    stream->steps_reason = strdup(message->has_n_steps ? "" : message->steps_reason);
    stream->left_out = strdup(message->left_out);
    stream->name = strdup(message->stream);
    stream->tensors = calloc(message->n_tensors + 1, sizeof(*stream->tensors));
    if (!stream->name || !stream->steps_reason || !stream->left_out || !stream->tensors)
        return leat_error_oom(err);
    for (size_t i = 0; i < message->n_tensors; i++) {
        int r = take_tensor(&stream->tensors[i], message->tensors[i], err);

        if (r < 0)
            return r;
        stream->n_tensors = i + 1;
    }
    return 0;
}

/* The beginning of a digest, which a position has, is the daemon's to check. */
static int check_digest(const struct leat_stream *stream, const ProtobufCBinaryData *found,
                        struct leat_error *err) {
    const ProtobufCBinaryData *wanted = &stream->request.message->start->spec_digest;
    char has[LEAT_DIGEST_HEX_SIZE], want[LEAT_DIGEST_HEX_SIZE];

    if (wanted->len != LEAT_DIGEST_BYTES ||
        memcmp(wanted->data, found->data, LEAT_DIGEST_BYTES) == 0)
        return 0;
    leat_digest_hex(found->data, has);
    leat_digest_hex(wanted->data, want);
    return leat_error_set(err, -ESTALE,
                          "the stream %.64s is another one now: its spec has digest %.16s..., the "
                          "position is of %.16s...",
                          stream->name, has, want);
}

static bool is_tensor(const struct leat_tensor_info *info, const Leat__Tensor *message) {
    return strcmp(info->name, message->name) == 0 &&
           strcmp(info->dtype_name, message->dtype) == 0 && info->ndim == message->n_shape &&
           (info->ndim == 0 ||
            memcmp(info->shape, message->shape, info->ndim * sizeof(info->shape[0])) == 0);
}

/* What is opened again is what it was. */
static int compare_opened(struct leat_stream *stream, const Leat__Opened *message,
                          struct leat_error *err) {
    if (message->n_tensors != stream->n_tensors || message->batch_size != stream->batch_size)
        return leat_error_set(err, -ESTALE,
                              "the stream %.64s is another one now: it had %zu tensors and batches "
                              "of %llu, and has %zu and %llu",
                              stream->name, stream->n_tensors,
                              (unsigned long long)stream->batch_size, message->n_tensors,
                              (unsigned long long)message->batch_size);
    for (size_t i = 0; i < stream->n_tensors; i++)
        if (!is_tensor(&stream->tensors[i], message->tensors[i]))
            return leat_error_set(err, -ESTALE,
                                  "the stream %.64s is another one now: its tensor %.64s has "
                                  "another name, type or shape",
                                  stream->name, stream->tensors[i].name);
    if (message->window < stream->window)
        return leat_error_set(err, -ESTALE,
                              "the daemon gives a window of %u now, and gave one of %u before",
                              message->window, stream->window);
    return 0;
}

static int take_description(struct leat_stream *stream, struct leat_error *err) {
    const struct leat_wire *wire = &stream->wire;
    Leat__Opened *message = leat__opened__unpack(NULL, wire->packet.payload_bytes, wire->payload);
    int r;

    if (!message)
        return leat_error_set(err, -EPROTO,
                              "the daemon's description of the stream cannot be read");
    r = check_opened(message, err);
    if (r == 0)
        r = !stream->name        ? take_opened(stream, message, err)
            : stream->is_renewed ? leat_session_take_renewed(stream, message, err)
                                 : compare_opened(stream, message, err);
    if (r == 0)
        r = check_digest(stream, &message->spec_digest, err);
    if (r == 0 && leat_request_fix(&stream->request, message) < 0)
        r = leat_error_oom(err);
    leat__opened__free_unpacked(message, NULL);
    if (r == 0) {
        stream->phase = LEAT_PHASE_OPEN;
        stream->is_renewed = false;
    }
    return r;
}

/* ---- all of it ---- */

static int take_answer(struct leat_stream *stream, struct leat_error *err) {
    const struct leat_packet *packet = &stream->wire.packet;

    if (packet->kind == LEAT_PACKET_REFUSE || packet->kind == LEAT_PACKET_GOAWAY)
        return leat_session_take_error(packet, stream->wire.payload, err);
    if (packet->kind == LEAT_PACKET_WELCOME && stream->phase == LEAT_PHASE_GREETING)
        return take_welcome(stream, err);
    if (packet->kind == LEAT_PACKET_OPENED && stream->phase == LEAT_PHASE_OPENING)
        return take_description(stream, err);
    return leat_error_set(err, -EPROTO, "the daemon sent packet kind %u %s", packet->kind,
                          what(stream));
}

int leat_session_step(struct leat_stream *stream, struct leat_error *err) {
    while (stream->phase != LEAT_PHASE_OPEN) {
        int r = leat_wire_receive(&stream->wire);

        if (r == -EAGAIN)
            return 0;
        r = r <= 0 ? explain_failure(stream, r, err) : take_answer(stream, err);
        if (r < 0)
            return r;
    }
    return 1;
}

void leat_session_end(struct leat_stream *stream) {
    leat_watch_drop(&stream->watch, stream->wire.fd);
    leat_wire_deinit(&stream->wire);
    leat_stream_drop_rings(stream);
    stream->n_released = 0;
    stream->phase = LEAT_PHASE_NONE;
}
