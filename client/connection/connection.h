/* connection.h: a stream's connection to the daemon, through sessions that come and go.
 *
 * A session is one socket from its handshake to its end. A daemon that dies, is restarted or
 * upgraded costs a trainer a pause: the connection is tried for again, and the next session asks
 * for the same stream from its next batch on. An error that no restart cures (another spec or other
 * data, no permission, an unknown protocol) is returned at once. Nothing here blocks but sending.
 * Owner: the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/connection/handshake.h"
#include "client/connection/outage.h"
#include "client/connection/watch.h"
#include "client/transport/transport.h"
#include "client/transport/wire.h"

/* The connection before the present one, while batches of it are held.
 *
 * When a stream is opened anew without a loss, batches of the session before may still be held. The
 * daemon must neither fill their slots again nor keep them until this process ends, so that
 * connection stays open and takes their releases until the last of them. There is one at most: the
 * next one ends it. Owner: the connection. */
struct leat_draining {
    struct leat_wire wire; /* fd -1: there is none */
    uint64_t session;      /* its number */
    uint32_t n_held;
};

#define LEAT_DRAINING_INIT ((struct leat_draining){.wire = LEAT_WIRE_INIT})

void leat_draining_end(struct leat_draining *draining);

#define LEAT_MAX_RELEASED 16

struct leat_connection {
    pid_t pid; /* of the process that opened it */
    struct leat_request request;
    struct leat_transport transport;
    struct leat_wire wire;
    struct leat_handshake handshake;
    struct leat_opened opened;
    struct leat_outage outage;
    struct leat_draining draining;
    struct leat_watch watch;

    uint64_t session;  /* number of the present one; each gets its own */
    uint64_t reached;  /* the latest epoch that the daemon knows was begun, in this session */
    uint32_t n_held;   /* batches of this session that are not released */
    size_t n_released; /* of these, not announced to the daemon yet */
    struct leat_packet released[LEAT_MAX_RELEASED];
};

/* Not connected yet. 0, -E2BIG, -ENOMEM; the caller deinits it in any case. */
int leat_connection_init(struct leat_connection *connection, const Leat__OpenRequest *message,
                         const struct leat_open_options *options, const struct sockaddr_un *place,
                         struct leat_error *err);
void leat_connection_deinit(struct leat_connection *connection);

/* Begins a session on a connected socket, which it takes, also on failure. 0 or -errno. */
int leat_connection_begin(struct leat_connection *connection, int take_fd, struct leat_error *err);
/* Advances the handshake without blocking. 1: the session is open; 0: an answer is still to come;
 * -errno. */
int leat_connection_greet(struct leat_connection *connection, struct leat_error *err);

static inline bool leat_connection_is_open(const struct leat_connection *connection) {
    return connection->handshake.phase == LEAT_PHASE_OPEN;
}
/* False in a forked child. */
bool leat_connection_is_own(const struct leat_connection *connection);

/* ---- losing it, and connecting again ---- */

/* The connection is lost for the reason in *err; the request was moved to `place`. 0: it will be
 * tried for; else the error's code, since reconnecting is not wanted. */
int leat_connection_lose(struct leat_connection *connection, const struct leat_batch_place *place,
                         struct leat_error *err);
/* Gives the session up without a loss: another one begins at once, where the request says. */
void leat_connection_reopen(struct leat_connection *connection,
                            const struct leat_batch_place *place);
/* Leaves the session to the batches that are held of it, before a reopening. 0; -EBUSY: batches of
 * the session before it are held as well; -ETIMEDOUT as leat_connection_tell_releases(). */
int leat_connection_drain(struct leat_connection *connection, struct leat_error *err);
/* Connects and advances without blocking. 1: a session is open; 0: not yet; -errno: the connection
 * has failed for good. */
int leat_connection_advance(struct leat_connection *connection, struct leat_error *err);
/* When leat_connection_advance() must be called though nothing is received. UINT64_MAX: never. */
uint64_t leat_connection_wake_ns(const struct leat_connection *connection);

/* ---- while a session is open ---- */

/* Takes the batch in the last packet. 0, -EPROTO, -ENOMEM. */
int leat_connection_take_batch(struct leat_connection *connection, struct leat_content *content,
                               struct leat_error *err);
/* Takes the ring in the last packet. */
int leat_connection_take_ring(struct leat_connection *connection, struct leat_error *err);
/* Tells the daemon that a later epoch than `reached` was begun. */
void leat_connection_tell_epoch(struct leat_connection *connection, uint64_t epoch);
/* Releases a batch of that session, and announces it now or later, unless is_over. 0, or as
 * leat_connection_tell_releases(). */
int leat_connection_release(struct leat_connection *connection, uint64_t session,
                            const struct leat_packet *packet, bool is_over, struct leat_error *err);
/* Tells the daemon now. 0; -ETIMEDOUT: it accepts nothing. That it is gone is no failure here: the
 * next receive shows it. */
int leat_connection_tell_releases(struct leat_connection *connection, struct leat_error *err);
/* Ends the session: nothing of it is read any more. */
void leat_connection_say_bye(struct leat_connection *connection);

/* ---- for event loops ---- */

/* The watch's descriptor, made at the first call. -errno. */
int leat_connection_fd(struct leat_connection *connection);

/* In a forked child: closes the inherited descriptors. Async-signal-safe. */
void leat_connection_forget(struct leat_connection *connection);
