/* draining.h: the connection before the present one, while batches of it are held.
 *
 * When a stream is opened anew without a loss, batches of the session before may still be held. The
 * daemon must neither fill their slots again nor keep them until this process ends, so that
 * connection stays open and takes their releases until the last of them. There is one at most: the
 * next one ends it. Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/transport/wire.h"

struct leat_draining {
    struct leat_wire wire;
    uint64_t session; /* its number */
    uint32_t n_held;
};

#define LEAT_DRAINING_INIT ((struct leat_draining){.wire = LEAT_WIRE_INIT})

/* Takes over the wire of a session of which so many batches are held; if none is, says BYE. */
void leat_draining_begin(struct leat_draining *draining, struct leat_wire *take_wire,
                         uint64_t session, uint32_t n_held);
static inline bool leat_draining_is_on(const struct leat_draining *draining) {
    return draining->wire.fd >= 0;
}
/* Announces the release of a batch of that session, if it is the draining one. */
void leat_draining_release(struct leat_draining *draining, uint64_t session,
                           const struct leat_packet *packet);
void leat_draining_end(struct leat_draining *draining);
/* See leat_wire_forget(). */
void leat_draining_forget(struct leat_draining *draining);
