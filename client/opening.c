/* opening.c: the first session of a stream, waited for. See stream.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/address.h"
#include "client/stream.h"

static bool goes_on(const struct leat_open_options *options) {
    return options->on_interrupt && options->on_interrupt(options->on_interrupt_user) == 0;
}

static int wait_for_session(struct leat_stream *stream, const struct leat_open_options *options,
                            struct leat_error *err) {
    uint64_t deadline_ns = leat_wire_deadline(stream->request.open_timeout_ms);
    int r;

    while ((r = leat_session_step(stream, err)) == 0) {
        do
            r = leat_wire_wait(&stream->wire, POLLIN, -1, deadline_ns);
        while (r == -EINTR && goes_on(options));
        if (r == -ETIMEDOUT)
            return leat_error_set(err, r, "the daemon did not answer in time %s",
                                  stream->phase == LEAT_PHASE_GREETING
                                      ? "at the greeting"
                                      : "when asked for the stream");
        if (r < 0)
            return leat_error_set(err, r, "waiting for the daemon: %s", strerror(-r));
    }
    return r < 0 ? r : 0;
}

/* A daemon that is restarted hangs up on those who come, or tells them that it goes. */
static bool is_restarting(int code) {
    return code == -ESHUTDOWN || code == -ECONNRESET;
}

/* The next daemon is looked for as for a stream that lost its connection. */
static int wait_for_daemon(struct leat_stream *stream, const struct leat_open_options *options,
                           struct leat_error *err) {
    int r;

    stream->error = *err;
    r = leat_reconnect_lose(stream);
    while (r == 0 && (r = leat_reconnect_step(stream)) == 0) {
        r = leat_wire_wait(&stream->wire, POLLIN, -1, leat_reconnect_wake_ns(stream));
        if (r == -EINTR && !goes_on(options))
            return leat_error_set(err, r, "waiting for the daemon: %s", strerror(-r));
        r = 0;
    }
    if (r > 0)
        leat_reconnect_over(stream);
    else
        *err = stream->error;
    return r < 0 ? r : 0;
}

int leat_stream_attach(int take_fd, const struct sockaddr_un *place,
                       const Leat__OpenRequest *message, const struct leat_open_options *options,
                       struct leat_stream **ret_stream, struct leat_error *err) {
    struct leat_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream) {
        (void)close(take_fd);
        return leat_error_oom(err);
    }
    stream->wire = (struct leat_wire){.fd = take_fd, .passed_fd = -1};
    stream->retired = (struct leat_retired)LEAT_RETIRED_INIT;
    stream->watch = LEAT_WATCH_INIT;
    stream->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stream->pid = getpid();
    stream->rank = message->rank;
    stream->world_size = message->world_size;
    stream->rank_source = "";
    leat_stream_place(stream, message->start->epoch, message->start->step);
    if (stream->wake_fd < 0)
        r = leat_error_set(err, -errno, "eventfd: %s", strerror(errno));
    else
        r = leat_request_init(&stream->request, message, options, err);
    if (r == 0) {
        stream->request.place = *place;
        r = leat_session_begin(stream, take_fd, err);
    }
    if (r == 0)
        r = wait_for_session(stream, options, err);
    if (is_restarting(r))
        r = wait_for_daemon(stream, options, err);
    if (r < 0) {
        leat_stream_free(stream);
        return r;
    }
    *ret_stream = stream;
    return 0;
}

int leat_stream_open(const char *address, const Leat__OpenRequest *message,
                     const struct leat_open_options *options, struct leat_stream **ret_stream,
                     struct leat_error *err) {
    bool is_copy = options->delivery == LEAT_DELIVERY_COPY;
    struct sockaddr_un place;
    int fd = -1;
    int r = leat_address_connect(address, is_copy ? LEAT_SOCKET_COPY : LEAT_SOCKET_TRAINER,
                                 is_copy ? SOCK_STREAM : SOCK_SEQPACKET, options->open_timeout_ms,
                                 &fd, &place, err);

    return r < 0 ? r : leat_stream_attach(fd, &place, message, options, ret_stream, err);
}
