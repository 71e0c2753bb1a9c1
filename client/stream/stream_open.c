/* stream_open.c: the first session of a stream, for which its opener waits. See stream.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/stream/stream.h"
#include "client/transport/address.h"

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
            r = leat_wire_wait(&connection->wire, POLLIN, -1, deadline_ns);
        while (r == -EINTR && goes_on(options));
        if (r == -ETIMEDOUT)
            return leat_error_set(err, r, "the daemon did not answer in time %s",
                                  leat_handshake_place(&connection->handshake));
        if (r < 0)
            return leat_error_set(err, r, "waiting for the daemon: %s", strerror(-r));
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
        r = leat_wire_wait(&connection->wire, POLLIN, -1, leat_connection_wake_ns(connection));
        if (r == -EINTR && !goes_on(options))
            return leat_error_set(err, r, "waiting for the daemon: %s", strerror(-r));
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
