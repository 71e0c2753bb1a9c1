#include "client/connection/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/blake2b.h"
#include "proto/packet.h"

#define ROOM 256 /* for what is filled in after the opening: digests, larger positions */

static Leat__OpenRequest *copy_message(const Leat__OpenRequest *message, size_t n_bytes) {
    uint8_t packed[LEAT_PACKET_PAYLOAD_MAX];

    (void)leat__open_request__pack(message, packed);
    return leat__open_request__unpack(NULL, n_bytes, packed);
}

static uint64_t patience_of(int32_t timeout_ms) {
    if (timeout_ms == LEAT_NO_RECONNECT)
        return 0;
    if (timeout_ms < 0)
        return UINT64_MAX;
    return (timeout_ms ? (uint64_t)timeout_ms : LEAT_RECONNECT_DEFAULT_MS) * 1000000U;
}

int leat_request_init(struct leat_request *request, const Leat__OpenRequest *message,
                      const struct leat_open_options *options, const struct sockaddr_un *place,
                      struct leat_error *err) {
    size_t n_bytes = leat__open_request__get_packed_size(message);

    *request = (struct leat_request){
        .place = *place,
        .open_timeout_ms = options->open_timeout_ms,
        .n_epochs = message->n_epochs,
        .first_epoch = message->start->epoch,
        .n_steps = message->n_steps,
        .expects_digest = message->start->spec_digest.len == LEAT_DIGEST_BYTES,
        .window = message->window,
        .patience_ns = patience_of(options->reconnect_timeout_ms),
        .on_reconnect = options->on_reconnect,
        .on_reconnect_user = options->on_reconnect_user,
        .on_notice = options->on_notice,
        .on_notice_user = options->on_notice_user,
    };
    if (n_bytes > LEAT_PACKET_PAYLOAD_MAX - ROOM)
        return leat_error_set(
            err, -E2BIG, "the stream's spec is too large: it has %zu bytes, and the limit is %d",
            n_bytes, LEAT_PACKET_PAYLOAD_MAX - ROOM);
    request->message = copy_message(message, n_bytes);
    return request->message ? 0 : leat_error_oom(err);
}

void leat_request_deinit(struct leat_request *request) {
    if (request->message)
        leat__open_request__free_unpacked(request->message, NULL);
    request->message = NULL;
}

size_t leat_request_pack(const struct leat_request *request, uint8_t *buffer) {
    assert(leat__open_request__get_packed_size(request->message) <= LEAT_PACKET_PAYLOAD_MAX);
    return leat__open_request__pack(request->message, buffer);
}

static int copy_digest(ProtobufCBinaryData *digest, const ProtobufCBinaryData *opened) {
    uint8_t *bytes = opened->len > 0 ? malloc(opened->len) : NULL;

    if (opened->len > 0 && !bytes)
        return -ENOMEM;
    if (bytes)
        memcpy(bytes, opened->data, opened->len);
    free(digest->data);
    *digest = (ProtobufCBinaryData){opened->len, bytes};
    return 0;
}

int leat_request_fix(struct leat_request *request, const Leat__Opened *opened) {
    Leat__Position *start = request->message->start;
    int r = copy_digest(&start->spec_digest, &opened->spec_digest);

    if (r == 0)
        r = copy_digest(&start->data_digest, &opened->data_digest);
    start->has_seed = true;
    start->seed = opened->seed;
    request->message->accept_changes = false;
    request->message->window = opened->window;
    return r;
}

static void clear_digest(ProtobufCBinaryData *digest) {
    free(digest->data);
    *digest = (ProtobufCBinaryData){.len = 0};
}

void leat_request_unfix(struct leat_request *request, bool with_seed) {
    Leat__Position *start = request->message->start;

    if (!request->expects_digest)
        clear_digest(&start->spec_digest);
    clear_digest(&start->data_digest);
    if (with_seed) {
        start->has_seed = false;
        start->seed = 0;
    }
    request->message->window = request->window;
}

bool leat_request_is_done(const struct leat_request *request, uint64_t epoch, uint64_t n_taken) {
    return (request->n_epochs > 0 && epoch - request->first_epoch >= request->n_epochs) ||
           (request->n_steps > 0 && n_taken >= request->n_steps);
}

void leat_request_move(struct leat_request *request, uint64_t epoch, uint64_t step,
                       uint64_t n_taken) {
    Leat__OpenRequest *message = request->message;

    if (request->n_epochs > 0)
        message->n_epochs = request->n_epochs - (epoch - request->first_epoch);
    if (request->n_steps > 0)
        message->n_steps = request->n_steps - n_taken;
    message->start->epoch = epoch;
    message->start->step = step;
}

void leat_request_restart(struct leat_request *request, uint64_t epoch, uint64_t step) {
    request->first_epoch = epoch;
    leat_request_move(request, epoch, step, 0);
}
