/* stream_move.c: how a stream goes elsewhere, or becomes another one. See stream.h and leat.h. */
#include <errno.h>

#include "client/stream/stream.h"

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
    leat_stream_restart(stream);
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
