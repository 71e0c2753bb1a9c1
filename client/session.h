/* session.h: the beginning of a session: HELLO and WELCOME, OPEN and OPENED. Nothing here waits.
 *
 *     NONE -> GREETING (HELLO was said) -> OPENING (OPEN was said) -> OPEN (batches come)
 *
 * The first OPENED says what the stream is; each later one must say the same, unless the daemon had
 * said that it has become another one (renew.c).
 */
#pragma once

#include "proto/base/error.h"
#include "proto/packet.h"

struct leat_stream;

enum leat_phase {
    LEAT_PHASE_NONE,
    LEAT_PHASE_GREETING,
    LEAT_PHASE_OPENING,
    LEAT_PHASE_OPEN,
};

/* Takes a connected socket, also on failure, and greets. 0 or -ENOMEM. */
int leat_session_begin(struct leat_stream *stream, int take_fd, struct leat_error *err);
/* As far as it gets without waiting. 1: OPEN; 0: an answer is still to come; -errno. */
int leat_session_step(struct leat_stream *stream, struct leat_error *err);
/* Closes the connection; rings that batches lie in stay mapped until they are released. */
void leat_session_end(struct leat_stream *stream);

/* Takes what the stream is now: -ESTALE if that is nothing to go on with. */
struct Leat__Opened;
int leat_session_take_renewed(struct leat_stream *stream, const struct Leat__Opened *message,
                              struct leat_error *err);

/* Takes a REFUSE or GOAWAY packet's error. Returns its code. */
int leat_session_take_error(const struct leat_packet *packet, const void *payload,
                            struct leat_error *err);
