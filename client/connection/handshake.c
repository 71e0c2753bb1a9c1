#include "client/connection/handshake.h"

#include <errno.h>
#include <string.h>

#include "proto/message.h"
#include "proto/packet.h"

const char *leat_handshake_place(const struct leat_handshake *handshake) {
    return handshake->phase == LEAT_PHASE_GREETING ? "during the handshake"
                                                   : "while opening the stream";
}

static int explain_failure(const struct leat_handshake *handshake, int code,
                           struct leat_error *err) {
    const char *place = leat_handshake_place(handshake);

    switch (code) {
    case 0:
    case -ECONNRESET:
    case -EPIPE:
        return leat_error_set(err, -ECONNRESET,
                              "the daemon closed the connection %s; its log says why", place);
    case -EPROTO:
        return leat_error_set(err, code,
                              "the daemon sent a packet of the wrong size %s: check that leatd and "
                              "libleat have the same version",
                              place);
    default:
        return leat_error_set(err, code, "%s: %s", place, strerror(-code));
    }
}

/* A broken pipe is no failure yet: what the daemon sent before it closed says more, and is received
 * next. */
static int send_packet(const struct leat_handshake *handshake, struct leat_wire *wire,
                       const struct leat_packet *packet, const void *payload,
                       struct leat_error *err) {
    int r = leat_wire_send(wire, packet, payload);

    return r == 0 || r == -EPIPE || r == -ECONNRESET ? 0 : explain_failure(handshake, r, err);
}

int leat_handshake_begin(struct leat_handshake *handshake, struct leat_wire *wire,
                         struct leat_error *err) {
    struct leat_packet hello = {
        .kind = LEAT_PACKET_HELLO,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR,
                  .features = LEAT_FEATURE_REACHED | LEAT_FEATURE_JOINED},
    };

    handshake->phase = LEAT_PHASE_GREETING;
    return send_packet(handshake, wire, &hello, NULL, err);
}

static int take_welcome(struct leat_handshake *handshake, struct leat_wire *wire,
                        const struct leat_request *request, struct leat_error *err) {
    const struct leat_packet *welcome = &wire->packet;
    uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};

    if (welcome->hello.magic != LEAT_PACKET_MAGIC)
        return leat_error_set(
            err, -EPROTO, "the program that answers is not leatd: check the address (LEAT_SOCKET)");
    if (welcome->hello.major != LEAT_PROTOCOL_MAJOR)
        return leat_error_set(
            err, -EPROTONOSUPPORT,
            "leatd uses protocol %u.%u, but this libleat uses %d.%d: update the older one",
            welcome->hello.major, welcome->hello.minor, LEAT_PROTOCOL_MAJOR, LEAT_PROTOCOL_MINOR);
    wire->joins = !wire->is_stream && (welcome->hello.features & LEAT_FEATURE_JOINED);
    packet.payload_bytes = (uint32_t)leat_request_pack(request, payload);
    handshake->phase = LEAT_PHASE_OPENING;
    return send_packet(handshake, wire, &packet, payload, err);
}

static int take_opened(struct leat_handshake *handshake, const struct leat_wire *wire,
                       struct leat_request *request, struct leat_opened *opened,
                       struct leat_error *err) {
    Leat__Opened *message =
        leat_message_unpack(&leat__opened__descriptor, wire->payload, wire->packet.payload_bytes,
                            "libleat cannot read the daemon's description of the stream: check "
                            "that leatd and libleat have the same version",
                            err);
    int r;

    if (!message)
        return err->code;
    r = leat_opened_take(opened, message, &request->message->start->spec_digest, err);
    if (r == 0 && leat_request_fix(request, message) < 0)
        r = leat_error_oom(err);
    leat__opened__free_unpacked(message, NULL);
    if (r < 0)
        return r;
    leat_opened_accept(opened);
    handshake->phase = LEAT_PHASE_OPEN;
    return 0;
}

static int take_answer(struct leat_handshake *handshake, struct leat_wire *wire,
                       struct leat_request *request, struct leat_opened *opened,
                       struct leat_error *err) {
    uint16_t kind = wire->packet.kind;

    if (kind == LEAT_PACKET_REFUSE || kind == LEAT_PACKET_GOAWAY)
        return leat_wire_read_error(wire, err);
    if (kind == LEAT_PACKET_WELCOME && handshake->phase == LEAT_PHASE_GREETING)
        return take_welcome(handshake, wire, request, err);
    if (kind == LEAT_PACKET_OPENED && handshake->phase == LEAT_PHASE_OPENING)
        return take_opened(handshake, wire, request, opened, err);
    return leat_error_set(err, -EPROTO,
                          "the daemon sent an unexpected packet (kind %u) %s: check that leatd and "
                          "libleat have the same version",
                          kind, leat_handshake_place(handshake));
}

int leat_handshake_advance(struct leat_handshake *handshake, struct leat_wire *wire,
                           struct leat_request *request, struct leat_opened *opened,
                           struct leat_error *err) {
    while (handshake->phase != LEAT_PHASE_OPEN) {
        int r = leat_wire_receive(wire);

        if (r == -EAGAIN)
            return 0;
        r = r <= 0 ? explain_failure(handshake, r, err)
                   : take_answer(handshake, wire, request, opened, err);
        if (r < 0)
            return r;
    }
    return 1;
}
