/* session.c: the beginning of a session: HELLO and WELCOME, OPEN and OPENED. See stream.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/stream.h"
#include "proto/dtype.h"
#include "proto/leat.pb-c.h"

struct opening {
    struct leat_stream *stream;
    uint64_t deadline_ns;
    struct leat_error *err;
};

static int explain_failure(int code, const char *what, struct leat_error *err) {
    switch (code) {
    case 0:
    case -ECONNRESET:
    case -EPIPE:
        return leat_error_set(err, -ECONNRESET, "the daemon closed the connection %s", what);
    case -ETIMEDOUT:
    case -EAGAIN:
        return leat_error_set(err, -ETIMEDOUT, "the daemon did not answer in time %s", what);
    case -EPROTO:
        return leat_error_set(err, code, "the daemon sent a packet of a wrong size %s", what);
    default:
        return leat_error_set(err, code, "%s: %s", what, strerror(-code));
    }
}

/* The next packet: the wanted kind, or what the daemon refuses. */
static int expect(struct opening *opening, uint16_t kind, const char *what) {
    struct leat_wire *wire = &opening->stream->wire;
    int r;

    while ((r = leat_wire_receive(wire)) == -EAGAIN) {
        r = leat_wire_wait(wire, POLLIN, opening->deadline_ns);
        if (r < 0)
            break;
    }
    if (r <= 0)
        return explain_failure(r, what, opening->err);
    if (wire->packet.kind == LEAT_PACKET_REFUSE || wire->packet.kind == LEAT_PACKET_GOAWAY)
        return leat_stream_take_error(&wire->packet, wire->payload, opening->err);
    if (wire->packet.kind != kind)
        return leat_error_set(opening->err, -EPROTO, "the daemon sent packet kind %u %s",
                              wire->packet.kind, what);
    return 0;
}

static int say(struct opening *opening, const struct leat_packet *packet, const void *payload,
               const char *what) {
    int r = leat_wire_send(&opening->stream->wire, packet, payload);

    /* What the daemon had to say before it closed is worth more than the broken pipe. */
    if (r == -EPIPE || r == -ECONNRESET)
        return expect(opening, LEAT_PACKET_REFUSE, what);
    return r < 0 ? explain_failure(r, what, opening->err) : 0;
}

static int greet(struct opening *opening) {
    struct leat_packet hello = {
        .kind = LEAT_PACKET_HELLO,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR},
    };
    const struct leat_packet *welcome = &opening->stream->wire.packet;
    int r = say(opening, &hello, NULL, "at the greeting");

    if (r == 0)
        r = expect(opening, LEAT_PACKET_WELCOME, "at the greeting");
    if (r < 0)
        return r;
    if (welcome->hello.magic != LEAT_PACKET_MAGIC)
        return leat_error_set(opening->err, -EPROTO, "what answers there is not leatd");
    if (welcome->hello.major != LEAT_PROTOCOL_MAJOR)
        return leat_error_set(opening->err, -EPROTONOSUPPORT,
                              "leatd speaks protocol %u.%u and this libleat %d.%d: update the "
                              "older of them",
                              welcome->hello.major, welcome->hello.minor, LEAT_PROTOCOL_MAJOR,
                              LEAT_PROTOCOL_MINOR);
    return 0;
}

static int take_tensor(struct leat_tensor_info *info, const Leat__Tensor *message,
                       struct leat_error *err) {
    enum leat_dtype dtype = leat_dtype_parse(message->dtype);

    if (!message->name[0] || dtype == LEAT_DTYPE_NONE || dtype >= LEAT_DTYPE_TEXT ||
        message->n_shape > LEAT_MAX_NDIM)
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

static int take_opened(struct leat_stream *stream, const Leat__Opened *message,
                       struct leat_error *err) {
    if (message->window == 0 || message->window > LEAT_STREAM_MAX_WINDOW)
        return leat_error_set(err, -EPROTO, "the daemon gives a window of %u, outside 1..%d",
                              message->window, LEAT_STREAM_MAX_WINDOW);
    if (message->n_tensors > LEAT_SLOT_MAX_TENSORS ||
        message->spec_digest.len != sizeof(stream->digest) ||
        (message->data_digest.len > 0 && message->data_digest.len != sizeof(stream->data_digest)))
        return leat_error_set(
            err, -EPROTO, "the daemon describes %zu tensors, digests of %zu and %zu bytes",
            message->n_tensors, message->spec_digest.len, message->data_digest.len);
    stream->window = message->window;
    stream->batch_size = message->batch_size;
    memcpy(stream->digest, message->spec_digest.data, sizeof(stream->digest));
    if (message->data_digest.len == sizeof(stream->data_digest))
        memcpy(stream->data_digest, message->data_digest.data, sizeof(stream->data_digest));
    stream->seed = message->seed;
    stream->name = strdup(message->stream);
    stream->tensors = calloc(message->n_tensors + 1, sizeof(*stream->tensors));
    if (!stream->name || !stream->tensors)
        return leat_error_oom(err);
    for (size_t i = 0; i < message->n_tensors; i++) {
        int r = take_tensor(&stream->tensors[i], message->tensors[i], err);

        if (r < 0)
            return r;
        stream->n_tensors = i + 1;
    }
    return 0;
}

static int check_digest(const struct leat_stream *stream, const uint8_t *wanted,
                        struct leat_error *err) {
    char has[LEAT_DIGEST_HEX_SIZE], want[LEAT_DIGEST_HEX_SIZE];

    if (!wanted || memcmp(wanted, stream->digest, sizeof(stream->digest)) == 0)
        return 0;
    leat_digest_hex(stream->digest, has);
    leat_digest_hex(wanted, want);
    return leat_error_set(err, -ESTALE,
                          "the stream %.64s is another one now: its spec has digest %.16s..., the "
                          "position is of %.16s...",
                          stream->name, has, want);
}

static int open_on(struct opening *opening, const struct leat_stream_request *request) {
    struct leat_stream *stream = opening->stream;
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN,
                                 .payload_bytes = (uint32_t)request->n_packed};
    Leat__Opened *message;
    int r;

    r = say(opening, &packet, request->packed, "when asked for the stream");
    if (r == 0)
        r = expect(opening, LEAT_PACKET_OPENED, "when asked for the stream");
    if (r < 0)
        return r;
    message = leat__opened__unpack(NULL, stream->wire.packet.payload_bytes, stream->wire.payload);
    if (!message)
        return leat_error_set(opening->err, -EPROTO,
                              "the daemon's description of the stream cannot be read");
    r = take_opened(stream, message, opening->err);
    leat__opened__free_unpacked(message, NULL);
    return r < 0 ? r : check_digest(stream, request->expect_digest, opening->err);
}

/* The first step of the rank at or after that step. */
static uint64_t first_step(uint64_t step, uint32_t rank, uint32_t world_size) {
    uint64_t behind = step % world_size;

    return step + (rank >= behind ? rank - behind : world_size - behind + rank);
}

int leat_stream_attach(int take_fd, enum leat_delivery delivery,
                       const struct leat_stream_request *request, struct leat_stream **ret_stream,
                       struct leat_error *err) {
    struct leat_stream *stream = calloc(1, sizeof(*stream));
    struct opening opening = {
        .stream = stream,
        .deadline_ns = leat_wire_deadline(request->timeout_ms),
        .err = err,
    };
    int r;

    if (!stream || leat_wire_init(&stream->wire, take_fd, delivery == LEAT_DELIVERY_COPY) < 0) {
        (void)close(take_fd);
        free(stream);
        return leat_error_oom(err);
    }
    stream->pid = getpid();
    stream->rank = request->rank;
    stream->world_size = request->world_size;
    stream->epoch = stream->first_epoch = request->epoch;
    stream->first_step = request->step;
    stream->n_steps = request->n_steps;
    stream->step = first_step(request->step, request->rank, request->world_size);
    r = greet(&opening);
    if (r == 0)
        r = open_on(&opening, request);
    if (r < 0) {
        leat_stream_free(stream);
        return r;
    }
    *ret_stream = stream;
    return 0;
}
