/* handshake.h: the beginning of a session: HELLO and WELCOME, OPEN and OPENED. Never blocks.
 *
 *     CLOSED -> GREETING (HELLO was sent) -> OPENING (OPEN was sent) -> OPEN (batches come)
 *
 * Owner: the connection.
 */
#pragma once

#include "client/connection/opened.h"
#include "client/connection/request.h"
#include "client/transport/wire.h"

enum leat_phase {
    LEAT_PHASE_CLOSED,
    LEAT_PHASE_GREETING,
    LEAT_PHASE_OPENING,
    LEAT_PHASE_OPEN,
};

struct leat_handshake {
    enum leat_phase phase;
};

/* Sends HELLO. 0 or -errno. */
int leat_handshake_begin(struct leat_handshake *handshake, struct leat_wire *wire,
                         struct leat_error *err);
/* Advances without blocking, and then takes the description of what was opened. 1: OPEN; 0: an
 * answer is still to come; -errno. */
int leat_handshake_advance(struct leat_handshake *handshake, struct leat_wire *wire,
                           struct leat_request *request, struct leat_opened *opened,
                           struct leat_error *err);
/* "at the greeting": what the daemon is asked for, for messages. */
const char *leat_handshake_place(const struct leat_handshake *handshake);
