/* place.c: where a stream stands, and how it goes elsewhere. See stream.h and leat.h. */
#include <errno.h>
#include <string.h>

#include "client/stream.h"

/* The first step of the rank at or after that step. */
static uint64_t first_step(const struct leat_stream *stream, uint64_t step) {
    uint64_t behind = step % stream->world_size;

    return step + (stream->rank >= behind ? stream->rank - behind
                                          : stream->world_size - behind + stream->rank);
}

void leat_stream_place(struct leat_stream *stream, uint64_t epoch, uint64_t step) {
    stream->epoch = stream->first_epoch = epoch;
    stream->first_step = step;
    stream->step = first_step(stream, step);
    stream->n_taken = 0;
}

/* It stands there, and what was asked for is all still to come. */
static bool is_there(const struct leat_stream *stream, uint64_t epoch, uint64_t step) {
    bool is_counting = stream->request.n_epochs > 0 || stream->request.n_steps > 0;

    return stream->failure == 0 && stream->epoch == epoch &&
           stream->step == first_step(stream, step) &&
           (!is_counting || (stream->n_taken == 0 && stream->first_epoch == epoch));
}

static int check_open(struct leat_stream *stream) {
    int r = leat_stream_check_process(stream);

    if (r == 0 && stream->failure < 0)
        r = stream->failure;
    if (r == 0)
        stream->error = LEAT_ERROR_INIT;
    return r;
}

int leat_stream_retire(struct leat_stream *stream) {
    if (stream->wire.fd < 0)
        return 0;
    if (stream->n_session_held > 0 && stream->retired.wire.fd >= 0)
        return leat_error_set(&stream->error, -EBUSY,
                              "%u batches are held, of two sessions: release those of the first "
                              "one before another place is sought",
                              stream->n_held);
    leat_stream_tell_releases(stream);
    if (stream->failure < 0)
        return stream->failure;
    leat_watch_drop(&stream->watch, stream->wire.fd);
    leat_retired_begin(&stream->retired, &stream->wire, stream->number, stream->n_session_held);
    stream->number++;
    stream->n_session_held = 0;
    return 0;
}

/* The next call of leat_stream_next() opens a session, as the request says. */
static void leap(struct leat_stream *stream) {
    leat_reconnect_leap(stream);
    leat_watch_wake(&stream->watch, leat_reconnect_wake_ns(stream));
}

int leat_stream_seek(struct leat_stream *stream, uint64_t epoch, uint64_t step) {
    int r = check_open(stream);

    if (r < 0 || is_there(stream, epoch, step))
        return r;
    r = leat_stream_retire(stream);
    if (r < 0)
        return r;
    stream->failure = 0;
    leat_stream_place(stream, epoch, step);
    leat_request_restart(&stream->request, epoch, step);
    leap(stream);
    return 0;
}

/* Nothing more was asked for. */
static bool is_done(struct leat_stream *stream) {
    if (stream->failure == 0 &&
        leat_request_is_done(&stream->request, stream->epoch, stream->n_taken))
        stream->failure = LEAT_END;
    return stream->failure != 0;
}

int leat_stream_pause(struct leat_stream *stream) {
    int r = check_open(stream);

    if (r < 0 || is_done(stream) || stream->phase != LEAT_PHASE_OPEN)
        return r;
    r = leat_stream_retire(stream);
    if (r < 0)
        return r;
    leat_request_move(&stream->request, stream->epoch, leat_stream_round(stream), stream->n_taken);
    leap(stream);
    return 0;
}

int leat_stream_skip_epoch(struct leat_stream *stream) {
    int r = check_open(stream);

    if (r < 0 || is_done(stream))
        return r;
    r = leat_stream_retire(stream);
    if (r < 0)
        return r;
    stream->epoch++;
    stream->step = stream->rank;
    if (is_done(stream))
        return 0;
    leat_request_move(&stream->request, stream->epoch, leat_stream_round(stream), stream->n_taken);
    if (!stream->request.message->spec) {
        leat_request_loosen(&stream->request, false);
        stream->is_renewed = true;
    }
    leap(stream);
    return 0;
}

void leat_stream_position_numbers(const struct leat_stream *stream, uint64_t *ret_epoch,
                                  uint64_t *ret_step) {
    *ret_epoch = stream->epoch;
    *ret_step = stream->step;
}

uint64_t leat_stream_round(const struct leat_stream *stream) {
    uint64_t first = stream->epoch == stream->first_epoch ? stream->first_step : 0;

    return leat_position_round(stream->step, first, stream->world_size);
}

bool leat_stream_has_even_rounds(const struct leat_stream *stream) {
    return stream->epoch != stream->first_epoch || stream->first_step % stream->world_size == 0;
}

const char *leat_stream_position(struct leat_stream *stream) {
    struct leat_position position = {
        .seed = stream->seed,
        .epoch = stream->epoch,
        .step = leat_stream_round(stream),
        .world_size = stream->world_size,
    };

    memcpy(position.spec, stream->digest, sizeof(position.spec));
    memcpy(position.data, stream->data_digest, sizeof(position.data));
    (void)leat_position_print(&position, stream->position);
    return stream->position;
}

int leat_position_parse(const char *text, uint64_t *ret_epoch, uint64_t *ret_step,
                        uint64_t *ret_seed, uint32_t *ret_world_size) {
    struct leat_position position;
    int r = text ? leat_position_read(text, &position, LEAT_ERROR_IGNORED) : -EINVAL;

    if (r < 0)
        return r;
    if (ret_epoch)
        *ret_epoch = position.epoch;
    if (ret_step)
        *ret_step = position.step;
    if (ret_seed)
        *ret_seed = position.seed;
    if (ret_world_size)
        *ret_world_size = position.world_size;
    return 0;
}
