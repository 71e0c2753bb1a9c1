/* stream.c: see stream.h and leat.h.
 *
 * Everything from the daemon is checked before it is used: a batch must be the one that comes next
 * for this rank, in a known ring, in a slot that is not held. */
#include "client/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "proto/base/file.h"

/* ---- its life ---- */

int leat_stream_new(const Leat__OpenRequest *message, const struct leat_open_options *options,
                    const struct sockaddr_un *place, struct leat_stream **ret_stream,
                    struct leat_error *err) {
    struct leat_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream)
        return leat_error_oom(err);
    leat_cursor_init(&stream->cursor, message->rank, message->world_size);
    leat_cursor_move(&stream->cursor, message->start->epoch, message->start->step);
    r = leat_connection_init(&stream->connection, message, options, place, err);
    stream->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r == 0 && stream->wake_fd < 0)
        r = leat_error_set(err, -errno, "eventfd: %s", strerror(errno));
    if (r < 0)
        leat_stream_free(stream);
    else
        *ret_stream = stream;
    return r;
}

struct leat_stream *leat_stream_free(struct leat_stream *stream) {
    struct leat_batch *batch;

    if (!stream)
        return NULL;
    while ((batch = leat_batch_pop(&stream->spare)))
        leat_batch_free(batch);
    leat_connection_deinit(&stream->connection);
    leat_file_close(&stream->wake_fd);
    free(stream);
    return NULL;
}

/* ---- ends and failures ---- */

/* Codes that say that the caller may go on, and so must not end a stream. */
static bool may_go_on_after(int code) {
    return code == -EAGAIN || code == -ETIMEDOUT || code == -EINTR || code == -ENOBUFS;
}

int leat_stream_fail(struct leat_stream *stream) {
    if (may_go_on_after(stream->error.code))
        stream->error.code = -ECONNRESET;
    stream->failure = stream->error.code;
    return stream->failure;
}

/* A negative r fails the stream, LEAT_END ends it. */
static int end_by(struct leat_stream *stream, int r) {
    if (r < 0)
        return leat_stream_fail(stream);
    if (r > 0)
        stream->failure = r;
    return r;
}

bool leat_stream_check_end(struct leat_stream *stream) {
    if (stream->failure == 0 && leat_request_is_done(&stream->connection.request,
                                                     stream->cursor.epoch, stream->cursor.n_taken))
        stream->failure = LEAT_END;
    return stream->failure != 0;
}

int leat_stream_check_process(struct leat_stream *stream) {
    if (leat_connection_is_own(&stream->connection))
        return 0;
    stream->error = LEAT_ERROR_INIT;
    return leat_error_set(&stream->error, -EPERM,
                          "this stream belongs to process %d, which called fork(): open the stream "
                          "again in the child process",
                          (int)stream->connection.pid);
}

/* ---- packets ---- */

static int check_expected(const struct leat_cursor *cursor, const struct leat_packet *packet,
                          struct leat_error *err) {
    if (leat_cursor_expects(cursor, packet->batch.epoch, packet->batch.step))
        return 0;
    return leat_error_set(
        err, -EPROTO,
        "the daemon sent the batch of epoch %llu, step %llu, but epoch %llu, step %llu comes next",
        (unsigned long long)packet->batch.epoch, (unsigned long long)packet->batch.step,
        (unsigned long long)cursor->epoch, (unsigned long long)cursor->step);
}

static int take_batch(struct leat_stream *stream, struct leat_batch **ret_batch) {
    struct leat_connection *connection = &stream->connection;
    const struct leat_packet *packet = &connection->wire.packet;
    struct leat_batch *batch;
    int r = check_expected(&stream->cursor, packet, &stream->error);

    if (r < 0)
        return r;
    batch = leat_batch_pop(&stream->spare);
    if (!batch)
        batch = leat_batch_new(stream, connection);
    if (!batch)
        return leat_error_oom(&stream->error);
    r = leat_connection_take_batch(connection, &batch->content, &stream->error);
    if (r < 0) {
        leat_batch_push(batch, &stream->spare);
        return r;
    }
    leat_batch_begin(batch);
    stream->n_held++;
    leat_cursor_take(&stream->cursor, packet->batch.step);
    if (packet->batch.epoch > connection->reached)
        leat_connection_tell_epoch(connection, packet->batch.epoch);
    *ret_batch = batch;
    return 0;
}

static int take_end(struct leat_stream *stream) {
    struct leat_connection *connection = &stream->connection;
    const struct leat_packet *packet = &connection->wire.packet;
    struct leat_cursor *cursor = &stream->cursor;

    if (packet->end.epoch != cursor->epoch)
        return leat_error_set(
            &stream->error, -EPROTO, "the daemon ended epoch %llu, but the stream is in epoch %llu",
            (unsigned long long)packet->end.epoch, (unsigned long long)cursor->epoch);
    if (packet->end.is_last)
        stream->failure = LEAT_END;
    if (packet->end.is_last &&
        leat_request_is_done(&connection->request, cursor->epoch, cursor->n_taken))
        return LEAT_END; /* after n_steps batches: perhaps before the epoch's end */
    if (connection->opened.has_constant_steps && leat_cursor_has_whole_rounds(cursor))
        leat_opened_set_steps(&connection->opened, packet->end.n_steps);
    leat_cursor_next_epoch(cursor);
    return packet->end.is_last ? LEAT_END : LEAT_END_EPOCH;
}

static int lose_connection(struct leat_stream *stream) {
    return end_by(stream, leat_stream_lose(stream, &stream->error));
}

/* The daemon goes, to be back soon. It fills no slot any more, so it need not wait for releases:
 * BYE lets it end at once. */
static int leave_daemon(struct leat_stream *stream) {
    if (stream->connection.request.patience_ns > 0)
        leat_connection_say_bye(&stream->connection);
    return lose_connection(stream);
}

static int take_notice(const struct leat_stream *stream, struct leat_error *err) {
    const struct leat_request *request = &stream->connection.request;
    struct leat_error notice = LEAT_ERROR_INIT;
    char text[LEAT_ERROR_PRINT_MAX];

    if (leat_wire_read_error(&stream->connection.wire, &notice) == -EPROTO)
        return leat_error_set(err, -EPROTO, "%s", notice.message);
    (void)leat_error_print(&notice, text, sizeof(text));
    if (request->on_notice)
        request->on_notice(request->on_notice_user, text);
    return 0;
}

/* Handles one packet. 0 and perhaps a batch, LEAT_END_EPOCH, LEAT_END, or the stream's failure. */
static int take_packet(struct leat_stream *stream, struct leat_batch **ret_batch) {
    struct leat_connection *connection = &stream->connection;
    uint16_t kind = connection->wire.packet.kind;
    int r;

    switch (kind) {
    case LEAT_PACKET_BATCH:
        r = take_batch(stream, ret_batch);
        leat_outage_end(&connection->outage);
        break;
    case LEAT_PACKET_RING:
        r = leat_connection_take_ring(connection, &stream->error);
        break;
    case LEAT_PACKET_END:
        r = take_end(stream);
        leat_outage_end(&connection->outage);
        break;
    case LEAT_PACKET_GOAWAY:
        r = leat_wire_read_error(&connection->wire, &stream->error);
        if (r == -ESHUTDOWN)
            return leave_daemon(stream);
        if (r == LEAT_GOAWAY_CHANGED)
            return end_by(stream, leat_stream_renew(stream));
        break;
    case LEAT_PACKET_NOTICE:
        r = take_notice(stream, &stream->error);
        break;
    default:
        if (kind & 0x8000)
            return 0;
        r = leat_error_set(&stream->error, -EPROTO, "the daemon sent a packet of unknown kind %u",
                           kind);
    }
    return r < 0 ? leat_stream_fail(stream) : r;
}

/* 1: a packet; 0: the connection was lost, and is tried for; LEAT_END; -EAGAIN; the failure. */
static int receive_packet(struct leat_stream *stream) {
    int r = leat_wire_receive(&stream->connection.wire);

    if (r > 0 || r == -EAGAIN)
        return r;
    if (r == 0 || r == -ECONNRESET) {
        leat_error_set(&stream->error, -ECONNRESET,
                       "the daemon closed the connection at epoch %llu, step %llu: check that "
                       "leatd runs; its log says why",
                       (unsigned long long)stream->cursor.epoch,
                       (unsigned long long)stream->cursor.step);
        return lose_connection(stream);
    }
    if (r == -EPROTO)
        leat_error_set(&stream->error, r, "the daemon sent a packet of the wrong size");
    else
        leat_error_set(&stream->error, r, "cannot receive from the daemon: %s", strerror(-r));
    return leat_stream_fail(stream);
}

/* ---- next ---- */

static int check_next(struct leat_stream *stream) {
    uint32_t window = stream->connection.opened.window;
    int r = leat_stream_check_process(stream);

    if (r == 0)
        r = stream->failure;
    if (r != 0)
        return r;
    if (stream->error.code)
        stream->error = LEAT_ERROR_INIT;
    if (stream->n_held >= window)
        return leat_error_set(&stream->error, -ENOBUFS,
                              "you hold %u batches, and `window` allows no more: release one first",
                              window);
    return 0;
}

static int wait_for_packet(struct leat_stream *stream, int timeout_ms, uint64_t deadline_ns) {
    uint64_t wake_ns = leat_connection_wake_ns(&stream->connection);
    int r;

    if (timeout_ms == 0)
        return leat_error_set(&stream->error, -EAGAIN, "no batch is ready yet");
    r = leat_wire_wait(&stream->connection.wire, stream->wake_fd,
                       wake_ns < deadline_ns ? wake_ns : deadline_ns);
    if (r == -ETIMEDOUT && wake_ns < deadline_ns)
        return 0;
    if (r == -ETIMEDOUT)
        return leat_error_set(&stream->error, r, "no batch came within %d ms", timeout_ms);
    if (r < 0)
        return leat_error_set(&stream->error, r, "cannot wait for a batch: %s", strerror(-r));
    return 0;
}

/* Advances without blocking: 0 and a batch, an outcome, the stream's failure, or -EAGAIN. */
static int advance_stream(struct leat_stream *stream, struct leat_batch **ret_batch) {
    for (;;) {
        int r;

        if (!leat_connection_is_open(&stream->connection)) {
            r = leat_connection_advance(&stream->connection, &stream->error);
            if (r < 0)
                return leat_stream_fail(stream);
            if (r == 0)
                return -EAGAIN;
        }
        r = receive_packet(stream);
        if (r > 0 && r != LEAT_END)
            r = take_packet(stream, ret_batch);
        if (r != 0 || *ret_batch)
            return r;
    }
}

static int next_batch(struct leat_stream *stream, int timeout_ms, struct leat_batch **ret_batch) {
    uint64_t deadline_ns = 0;

    for (;;) {
        int r = advance_stream(stream, ret_batch);

        if (r != -EAGAIN)
            return r;
        if (leat_connection_tell_releases(&stream->connection, &stream->error) < 0)
            return leat_stream_fail(stream);
        if (deadline_ns == 0)
            deadline_ns = leat_wire_deadline(timeout_ms);
        r = wait_for_packet(stream, timeout_ms, deadline_ns);
        if (r < 0)
            return r;
    }
}

int leat_stream_next(struct leat_stream *stream, int timeout_ms, struct leat_batch **ret_batch) {
    int r;

    *ret_batch = NULL;
    r = check_next(stream);
    if (r != 0)
        return r;
    r = next_batch(stream, timeout_ms, ret_batch);
    leat_stream_update_timer(stream);
    return r;
}

void leat_stream_wake(const struct leat_stream *stream) {
    if (leat_connection_is_own(&stream->connection))
        (void)eventfd_write(stream->wake_fd, 1);
}

void leat_stream_update_timer(struct leat_stream *stream) {
    leat_watch_set_timer(&stream->connection.watch,
                         stream->failure ? UINT64_MAX
                                         : leat_connection_wake_ns(&stream->connection));
}

int leat_stream_fd(struct leat_stream *stream) {
    int fd = leat_connection_fd(&stream->connection);

    if (fd >= 0)
        leat_stream_update_timer(stream);
    return fd;
}

/* ---- releases, and the end ---- */

/* After a close the connection lives until the last batch is released: the daemon must not fill the
 * slots that are still read. */
static void free_if_released(struct leat_stream *stream) {
    if (!stream->is_closed || stream->n_held > 0)
        return;
    leat_connection_say_bye(&stream->connection);
    leat_stream_free(stream);
}

void leat_batch_release(struct leat_batch *batch) {
    struct leat_stream *stream;

    if (!batch || !batch->is_held)
        return;
    stream = batch->stream;
    stream->n_held--;
    leat_batch_end(batch);
    if (leat_connection_release(&stream->connection, batch->session, &batch->content.packet,
                                stream->is_closed || stream->failure < 0, &stream->error) < 0)
        leat_stream_fail(stream);
    leat_batch_push(batch, &stream->spare);
    free_if_released(stream);
}

struct leat_stream *leat_stream_close(struct leat_stream *stream) {
    struct leat_connection *connection;

    if (!stream)
        return NULL;
    connection = &stream->connection;
    if (stream->n_held > 0 && stream->failure >= 0 && leat_connection_is_own(connection) &&
        leat_connection_tell_releases(connection, &stream->error) < 0)
        leat_stream_fail(stream);
    stream->is_closed = true;
    leat_watch_deinit(&connection->watch);
    leat_mapping_drop_list(&connection->transport.rings);
    free_if_released(stream);
    return NULL;
}

void leat_stream_forget(struct leat_stream *stream) {
    leat_connection_forget(&stream->connection);
    leat_file_close(&stream->wake_fd);
}
