#include "daemon/control/packed.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/net/channel.h"
#include "proto/frame.h"

struct outgoing {
    struct leat_outgoing base; /* first */
    struct leat_packed *packed;
};

struct leat_packed *leat_packed_new(const Leat__ControlReply *reply) {
    size_t n_bytes = leat__control_reply__get_packed_size(reply);
    struct leat_packed *packed =
        n_bytes > 0 && n_bytes <= LEAT_CONTROL_FRAME_MAX ? malloc(sizeof(*packed) + n_bytes) : NULL;

    if (!packed)
        return NULL;
    *packed = (struct leat_packed){.n_refs = 1, .n_bytes = n_bytes};
    (void)leat__control_reply__pack(reply, packed->bytes);
    return packed;
}

struct leat_packed *leat_packed_unref(struct leat_packed *packed) {
    if (packed && --packed->n_refs == 0)
        free(packed);
    return NULL;
}

static void on_sent(struct leat_outgoing *base) {
    struct outgoing *outgoing = (struct outgoing *)base;

    leat_packed_unref(outgoing->packed);
    free(outgoing);
}

bool leat_packed_send(struct leat_packed *packed, struct leat_channel *channel) {
    struct outgoing *outgoing = malloc(sizeof(*outgoing));

    if (!outgoing)
        return false;
    *outgoing = (struct outgoing){
        .base = {.payload = packed->bytes, .payload_bytes = packed->n_bytes, .on_sent = on_sent},
        .packed = packed};
    packed->n_refs++;
    leat_channel_send(channel, &outgoing->base, NULL, 0);
    return true;
}

struct leat_packed *leat_packed_find(const struct leat_packed_answer *answer,
                                     const uint8_t *request, size_t n_bytes) {
    return answer->packed && answer->n_request == n_bytes &&
                   memcmp(answer->request, request, n_bytes) == 0
               ? answer->packed
               : NULL;
}

void leat_packed_remember(struct leat_packed_answer *answer, const uint8_t *request, size_t n_bytes,
                          struct leat_packed *packed) {
    if (n_bytes > LEAT_CONTROL_REMEMBERED_MAX)
        return;
    packed->n_refs++;
    leat_packed_forget(answer);
    answer->packed = packed;
    memcpy(answer->request, request, n_bytes);
    answer->n_request = n_bytes;
}

void leat_packed_forget(struct leat_packed_answer *answer) {
    answer->packed = leat_packed_unref(answer->packed);
}
