/* stream_move.c: how a stream goes elsewhere, or becomes another one. See stream.h and leat.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/stream/stream.h"
#include "client/transport/address.h"

static int check_open(struct leat_stream *stream) {
    int r = leat_stream_check_process(stream);

    if (r == 0 && stream->failure < 0)
        r = stream->failure;
    if (r == 0)
        stream->error = LEAT_ERROR_INIT;
    return r;
}

static struct leat_batch_place place_of(const struct leat_stream *stream) {
    return (struct leat_batch_place){.epoch = stream->cursor.epoch, .step = stream->cursor.step};
}

/* Asks for the rest, from the stream's position on. */
static void move_request(struct leat_stream *stream) {
    leat_request_move(&stream->connection.request, stream->cursor.epoch,
                      leat_cursor_round(&stream->cursor), stream->cursor.n_taken);
}

/* Ends the session, or leaves it to the batches that are held of it. */
static int drain_session(struct leat_stream *stream) {
    int r = leat_connection_drain(&stream->connection, &stream->error);

    return r == -ETIMEDOUT ? leat_stream_fail(stream) : r;
}

static void reopen_session(struct leat_stream *stream) {
    struct leat_batch_place place = place_of(stream);

    leat_connection_reopen(&stream->connection, &place);
    leat_stream_update_timer(stream);
}

int leat_stream_lose(struct leat_stream *stream, struct leat_error *reason) {
    struct leat_batch_place place = place_of(stream);

    if (leat_request_is_done(&stream->connection.request, stream->cursor.epoch,
                             stream->cursor.n_taken))
        return LEAT_END;
    move_request(stream);
    return leat_connection_lose(&stream->connection, &place, reason);
}

int leat_stream_renew(struct leat_stream *stream) {
    struct leat_connection *connection = &stream->connection;
    int r;

    if (leat_request_is_done(&connection->request, stream->cursor.epoch, stream->cursor.n_taken))
        return LEAT_END;
    if (stream->cursor.step != stream->cursor.rank) { /* within an epoch: what was read is gone */
        stream->error.code = -ESTALE;
        return -ESTALE;
    }
    move_request(stream);
    leat_request_unfix(&connection->request, true);
    stream->error = LEAT_ERROR_INIT;
    leat_opened_allow_change(&connection->opened);
    leat_draining_end(&connection->draining);
    r = drain_session(stream);
    if (r == 0)
        reopen_session(stream);
    return r;
}

int leat_stream_seek(struct leat_stream *stream, uint64_t epoch, uint64_t step) {
    const struct leat_request *request = &stream->connection.request;
    bool is_counting = request->n_epochs > 0 || request->n_steps > 0;
    bool is_fresh = stream->cursor.n_taken == 0 && stream->cursor.first_epoch == epoch;
    int r = check_open(stream);

    if (r < 0 || (stream->failure == 0 && leat_cursor_is_at(&stream->cursor, epoch, step) &&
                  (!is_counting || is_fresh)))
        return r;
    r = drain_session(stream);
    if (r < 0)
        return r;
    stream->failure = 0; /* it may go on, after LEAT_END too */
    leat_cursor_move(&stream->cursor, epoch, step);
    leat_request_restart(&stream->connection.request, epoch, step);
    reopen_session(stream);
    return 0;
}

int leat_stream_pause(struct leat_stream *stream) {
    int r = check_open(stream);

    if (r < 0 || leat_stream_check_end(stream) || !leat_connection_is_open(&stream->connection))
        return r;
    r = drain_session(stream);
    if (r < 0)
        return r;
    move_request(stream);
    reopen_session(stream);
    return 0;
}

int leat_stream_skip_epoch(struct leat_stream *stream) {
    struct leat_request *request = &stream->connection.request;
    int r = check_open(stream);

    if (r < 0 || leat_stream_check_end(stream))
        return r;
    r = drain_session(stream);
    if (r < 0)
        return r;
    leat_cursor_next_epoch(&stream->cursor);
    if (leat_stream_check_end(stream))
        return 0;
    move_request(stream);
    if (!request->message->spec) {
        leat_request_unfix(request, false);
        leat_opened_allow_change(&stream->connection.opened);
    }
    reopen_session(stream);
    return 0;
}

/* ---- opening ---- */

/* True if the trainer wants to go on waiting after a signal. */
static bool goes_on(const struct leat_open_options *options) {
    return options->on_interrupt && options->on_interrupt(options->on_interrupt_user) == 0;
}

static int wait_for_session(struct leat_stream *stream, const struct leat_open_options *options,
                            struct leat_error *err) {
    struct leat_connection *connection = &stream->connection;
    uint64_t deadline_ns = leat_wire_deadline(connection->request.open_timeout_ms);
    int r;

    while ((r = leat_connection_greet(connection, err)) == 0) {
        do
            r = leat_wire_wait(&connection->wire, -1, deadline_ns);
        while (r == -EINTR && goes_on(options));
        if (r == -ETIMEDOUT)
            return leat_error_set(err, r, "the daemon did not answer in time %s",
                                  leat_handshake_place(&connection->handshake));
        if (r < 0)
            return leat_error_set(err, r, "cannot wait for the daemon: %s", strerror(-r));
    }
    return r < 0 ? r : 0;
}

/* A daemon that is being restarted closes new connections, or says that it shuts down. */
static bool is_restarting(int code) {
    return code == -ESHUTDOWN || code == -ECONNRESET;
}

/* Looks for the next daemon as a stream does that has lost its connection. */
static int wait_for_daemon(struct leat_stream *stream, const struct leat_open_options *options,
                           struct leat_error *err) {
    struct leat_connection *connection = &stream->connection;
    int r = leat_stream_lose(stream, err);

    while (r == 0 && (r = leat_connection_advance(connection, err)) == 0) {
        r = leat_wire_wait(&connection->wire, -1, leat_connection_wake_ns(connection));
        if (r == -EINTR && !goes_on(options))
            return leat_error_set(err, r, "cannot wait for the daemon: %s", strerror(-r));
        r = 0;
    }
    leat_outage_end(&connection->outage);
    return r < 0 ? r : 0;
}

int leat_stream_attach(int take_fd, const struct sockaddr_un *place,
                       const Leat__OpenRequest *message, const struct leat_open_options *options,
                       struct leat_stream **ret_stream, struct leat_error *err) {
    struct leat_stream *stream = NULL;
    int r = leat_stream_new(message, options, place, &stream, err);

    if (r < 0) {
        (void)close(take_fd);
        return r;
    }
    r = leat_connection_begin(&stream->connection, take_fd, err);
    if (r == 0)
        r = wait_for_session(stream, options, err);
    if (is_restarting(r))
        r = wait_for_daemon(stream, options, err);
    if (r < 0)
        leat_stream_free(stream);
    else
        *ret_stream = stream;
    return r;
}

int leat_stream_open(const char *address, const Leat__OpenRequest *message,
                     const struct leat_open_options *options, struct leat_stream **ret_stream,
                     struct leat_error *err) {
    bool is_copy = options->delivery == LEAT_DELIVERY_COPY;
    const struct leat_transport_ops *ops = is_copy ? &leat_transport_copy : &leat_transport_shared;
    struct sockaddr_un place;
    int fd = -1;
    int r = leat_address_connect(address, ops->socket_name, ops->socket_type,
                                 options->open_timeout_ms, &fd, &place, err);

    return r < 0 ? r : leat_stream_attach(fd, &place, message, options, ret_stream, err);
}
