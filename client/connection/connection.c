#include "client/connection/connection.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/transport/address.h"

int leat_connection_init(struct leat_connection *connection, const Leat__OpenRequest *message,
                         const struct leat_open_options *options, const struct sockaddr_un *place,
                         struct leat_error *err) {
    const struct leat_mapping_options mapping = {
        .private_writes = options->private_writes,
        .on_unmap = options->on_unmap,
        .on_unmap_user = options->on_unmap_user,
    };

    *connection = (struct leat_connection){
        .pid = getpid(),
        .wire = LEAT_WIRE_INIT,
        .draining = LEAT_DRAINING_INIT,
        .watch = LEAT_WATCH_INIT,
    };
    leat_transport_init(&connection->transport, options->delivery, &mapping);
    return leat_request_init(&connection->request, message, options, place, err);
}

void leat_connection_deinit(struct leat_connection *connection) {
    leat_mapping_drop_list(&connection->transport.rings);
    leat_wire_deinit(&connection->wire);
    leat_draining_end(&connection->draining);
    leat_watch_deinit(&connection->watch);
    leat_request_deinit(&connection->request);
    leat_opened_deinit(&connection->opened);
}

bool leat_connection_is_own(const struct leat_connection *connection) {
    return connection->pid == getpid();
}

/* ---- draining ----
 *
 * Failures to send are ignored: a daemon that is gone fills no slot. */

static void say_bye(struct leat_wire *wire) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    if (wire->fd >= 0)
        (void)leat_wire_send(wire, &bye, NULL);
}

void leat_draining_end(struct leat_draining *draining) {
    leat_wire_deinit(&draining->wire);
    *draining = LEAT_DRAINING_INIT;
}

/* Takes over the wire of a session of which so many batches are held; if none is, says BYE. */
static void begin_draining(struct leat_draining *draining, struct leat_wire *take_wire,
                           uint64_t session, uint32_t n_held) {
    leat_draining_end(draining);
    *draining = (struct leat_draining){.wire = *take_wire, .session = session, .n_held = n_held};
    *take_wire = LEAT_WIRE_INIT;
    if (n_held == 0) {
        say_bye(&draining->wire);
        leat_wire_deinit(&draining->wire);
    }
}

/* Announces the release of a batch of that session, if it is the draining one. */
static void release_draining(struct leat_draining *draining, uint64_t session,
                             const struct leat_packet *packet) {
    struct leat_packet release = {.kind = LEAT_PACKET_RELEASE, .batch = packet->batch};

    if (draining->wire.fd < 0 || draining->session != session)
        return;
    if (--draining->n_held > 0) {
        (void)leat_wire_send(&draining->wire, &release, NULL);
    } else {
        say_bye(&draining->wire);
        leat_wire_deinit(&draining->wire);
    }
}

/* ---- sessions ---- */

int leat_connection_begin(struct leat_connection *connection, int take_fd, struct leat_error *err) {
    if (leat_wire_init(&connection->wire, take_fd, connection->transport.ops->socket_type) < 0) {
        (void)close(take_fd);
        return leat_error_oom(err);
    }
    connection->session++;
    connection->n_held = 0;
    connection->reached = 0;
    return leat_handshake_begin(&connection->handshake, &connection->wire, err);
}

int leat_connection_greet(struct leat_connection *connection, struct leat_error *err) {
    return leat_handshake_advance(&connection->handshake, &connection->wire, &connection->request,
                                  &connection->opened, err);
}

static void end_session(struct leat_connection *connection) {
    leat_watch_drop(&connection->watch, connection->wire.fd);
    leat_wire_deinit(&connection->wire);
    leat_mapping_drop_list(&connection->transport.rings);
    connection->n_released = 0;
    connection->handshake.phase = LEAT_PHASE_CLOSED;
}

int leat_connection_lose(struct leat_connection *connection, const struct leat_batch_place *place,
                         struct leat_error *err) {
    if (connection->request.patience_ns == 0)
        return err->code;
    end_session(connection);
    leat_outage_begin(&connection->outage, place, &connection->request, err);
    *err = LEAT_ERROR_INIT;
    return 0;
}

void leat_connection_reopen(struct leat_connection *connection,
                            const struct leat_batch_place *place) {
    end_session(connection);
    leat_outage_begin_reopening(&connection->outage, place, &connection->request);
}

int leat_connection_drain(struct leat_connection *connection, struct leat_error *err) {
    int r;

    if (connection->wire.fd < 0)
        return 0;
    if (connection->n_held > 0 && connection->draining.wire.fd >= 0)
        return leat_error_set(err, -EBUSY,
                              "you still hold %u batches from before your last two seeks: release "
                              "the oldest ones before you seek again",
                              connection->n_held + connection->draining.n_held);
    r = leat_connection_tell_releases(connection, err);
    if (r < 0)
        return r;
    leat_watch_drop(&connection->watch, connection->wire.fd);
    begin_draining(&connection->draining, &connection->wire, connection->session,
                   connection->n_held);
    connection->session++;
    connection->n_held = 0;
    return 0;
}

/* ---- attempts to connect ---- */

/* Errors of a daemon that is gone, or says that it goes, and of a machine that is short of
 * something: all of these may be over soon. */
static bool is_temporary(int code) {
    switch (code) {
    case -ECONNRESET:
    case -ETIMEDOUT:
    case -ESHUTDOWN:
    case -EDQUOT: /* the daemon may not have freed yet what the old sessions had */
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
    case -EAGAIN:
    case -EBUSY:
        return true;
    default:
        return false;
    }
}

/* No daemon may listen yet, but permissions do not come by waiting. */
static bool is_connecting_hopeless(int code) {
    return code == -EACCES || code == -EPERM || code == -EPROTOTYPE;
}

/* The attempt failed with `failure`. 0: another one follows; else its code, and *err is set. */
static int fail_attempt(struct leat_connection *connection, const struct leat_error *failure,
                        bool is_worth_repeating, struct leat_error *err) {
    end_session(connection);
    if (!is_worth_repeating || connection->request.patience_ns == 0) {
        *err = *failure;
        return err->code;
    }
    leat_outage_fail_attempt(&connection->outage, &connection->request, failure);
    return 0;
}

/* 0 or -errno, as fail_attempt(). */
static int begin_attempt(struct leat_connection *connection, struct leat_error *err) {
    const struct leat_request *request = &connection->request;
    struct leat_error failure = LEAT_ERROR_INIT;
    int fd, r;

    leat_outage_begin_attempt(&connection->outage, request);
    r = leat_address_connect_again(&request->place, connection->transport.ops->socket_type,
                                   request->open_timeout_ms, &fd);
    if (r < 0) {
        leat_error_set(&failure, r, "cannot connect to %s: %s", request->place.sun_path,
                       strerror(-r));
        return fail_attempt(connection, &failure, !is_connecting_hopeless(r), err);
    }
    r = leat_connection_begin(connection, fd, &failure);
    if (r < 0)
        return fail_attempt(connection, &failure, is_temporary(r), err);
    leat_watch_add(&connection->watch, connection->wire.fd);
    return 0;
}

static int greet_again(struct leat_connection *connection, struct leat_error *err) {
    struct leat_error failure = LEAT_ERROR_INIT;
    int r = leat_connection_greet(connection, &failure);

    if (r < 0)
        return fail_attempt(connection, &failure, is_temporary(r), err);
    if (connection->handshake.phase > LEAT_PHASE_GREETING)
        leat_outage_on_answer(&connection->outage);
    if (r > 0) {
        leat_outage_end_attempt(&connection->outage, &connection->request);
        return r;
    }
    if (!leat_outage_is_late(&connection->outage))
        return 0;
    leat_error_set(&failure, -ETIMEDOUT,
                   "the daemon does not answer: check whether it is stopped or suspended");
    return fail_attempt(connection, &failure, true, err);
}

int leat_connection_advance(struct leat_connection *connection, struct leat_error *err) {
    int r;

    if (connection->handshake.phase == LEAT_PHASE_CLOSED) {
        struct leat_error failure = LEAT_ERROR_INIT;

        if (leat_outage_is_hopeless(&connection->outage, &connection->request, &failure)) {
            *err = failure;
            return err->code;
        }
        if (!leat_outage_is_due(&connection->outage))
            return 0;
        r = begin_attempt(connection, err);
        if (r < 0 || connection->handshake.phase == LEAT_PHASE_CLOSED)
            return r;
    }
    return greet_again(connection, err);
}

uint64_t leat_connection_wake_ns(const struct leat_connection *connection) {
    if (leat_wire_has_packets(&connection->wire))
        return 1; /* at once */
    return leat_outage_wake_ns(&connection->outage, connection->handshake.phase);
}

/* ---- while a session is open ---- */

int leat_connection_take_batch(struct leat_connection *connection, struct leat_content *content,
                               struct leat_error *err) {
    int r = leat_content_take(content, &connection->transport, &connection->wire.packet,
                              connection->wire.payload, err);

    if (r == 0)
        connection->n_held++;
    return r;
}

int leat_connection_take_ring(struct leat_connection *connection, struct leat_error *err) {
    struct leat_transport *transport = &connection->transport;

    return transport->ops->add_ring(transport, &connection->wire.packet, connection->wire.passed_fd,
                                    err);
}

void leat_connection_tell_epoch(struct leat_connection *connection, uint64_t epoch) {
    struct leat_packet reached = {.kind = LEAT_PACKET_REACHED, .batch = {.epoch = epoch}};

    connection->reached = epoch;
    (void)leat_wire_send(&connection->wire, &reached, NULL);
}

int leat_connection_tell_releases(struct leat_connection *connection, struct leat_error *err) {
    size_t n = connection->n_released;

    connection->n_released = 0;
    if (n == 0 || leat_wire_send_many(&connection->wire, connection->released, n) != -EAGAIN)
        return 0;
    *err = LEAT_ERROR_INIT;
    return leat_error_set(
        err, -ETIMEDOUT,
        "the daemon does not take back released batches: check whether it is stopped or suspended");
}

/* Waking the daemon costs more than a release, so releases are sent for a quarter of the window at
 * a time, and before the trainer waits. With an event loop, which may not call again before the
 * next batch, each is sent at once. */
static int add_release(struct leat_connection *connection, const struct leat_packet *packet,
                       struct leat_error *err) {
    size_t n_most = connection->watch.fd >= 0 ? 1 : connection->opened.window / 4;

    connection->released[connection->n_released++] =
        (struct leat_packet){.kind = LEAT_PACKET_RELEASE, .batch = packet->batch};
    if (connection->n_released < n_most && connection->n_released < LEAT_MAX_RELEASED)
        return 0;
    return leat_connection_tell_releases(connection, err);
}

int leat_connection_release(struct leat_connection *connection, uint64_t session,
                            const struct leat_packet *packet, bool is_over,
                            struct leat_error *err) {
    bool is_own = leat_connection_is_own(connection);

    if (session != connection->session) {
        if (is_own)
            release_draining(&connection->draining, session, packet);
        return 0;
    }
    connection->n_held--;
    if (is_over || !is_own || !leat_connection_is_open(connection))
        return 0;
    return add_release(connection, packet, err);
}

void leat_connection_say_bye(struct leat_connection *connection) {
    if (leat_connection_is_own(connection))
        say_bye(&connection->wire);
}

/* ---- for event loops ---- */

int leat_connection_fd(struct leat_connection *connection) {
    struct leat_watch *watch = &connection->watch;
    int r;

    if (watch->fd >= 0)
        return watch->fd;
    r = leat_watch_init(watch);
    if (r < 0)
        return r;
    if (connection->wire.fd >= 0)
        leat_watch_add(watch, connection->wire.fd);
    return watch->fd;
}

void leat_connection_forget(struct leat_connection *connection) {
    leat_wire_forget(&connection->wire);
    leat_wire_forget(&connection->draining.wire);
    leat_watch_forget(&connection->watch);
}
