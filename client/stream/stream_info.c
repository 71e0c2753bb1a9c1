/* stream_info.c: the description and the position of a stream, for its callers. See leat.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/stream/stream.h"

const struct leat_error *leat_stream_error(const struct leat_stream *stream) {
    return &stream->error;
}

const char *leat_stream_name(const struct leat_stream *stream) {
    return stream->connection.opened.name;
}

uint64_t leat_stream_version(const struct leat_stream *stream) {
    return stream->connection.opened.version;
}

bool leat_stream_is_connected(const struct leat_stream *stream) {
    return leat_connection_is_open(&stream->connection);
}

size_t leat_stream_n_tensors(const struct leat_stream *stream) {
    return stream->connection.opened.n_tensors;
}

const struct leat_tensor_info *leat_stream_tensor(const struct leat_stream *stream, size_t index) {
    const struct leat_opened *opened = &stream->connection.opened;

    return index < opened->n_tensors ? &opened->tensors[index] : NULL;
}

uint64_t leat_stream_batch_size(const struct leat_stream *stream) {
    return stream->connection.opened.batch_size;
}

uint32_t leat_stream_window(const struct leat_stream *stream) {
    return stream->connection.opened.window;
}

uint32_t leat_stream_rank(const struct leat_stream *stream) {
    return stream->cursor.rank;
}

uint32_t leat_stream_world_size(const struct leat_stream *stream) {
    return stream->cursor.world_size;
}

const char *leat_stream_rank_source(const struct leat_stream *stream) {
    return stream->connection.request.message->rank_source;
}

const uint8_t *leat_stream_digest(const struct leat_stream *stream) {
    return stream->connection.opened.digest;
}

int leat_stream_n_steps(const struct leat_stream *stream, uint64_t *ret_n_steps) {
    const struct leat_opened *opened = &stream->connection.opened;

    *ret_n_steps = opened->epoch_steps;
    return opened->has_epoch_steps ? 0 : -ENODATA;
}

const char *leat_stream_steps_reason(const struct leat_stream *stream) {
    return stream->connection.opened.steps_reason;
}

const char *leat_stream_left_out(const struct leat_stream *stream) {
    return stream->connection.opened.left_out;
}

/* ---- positions ---- */

void leat_stream_position_numbers(const struct leat_stream *stream, uint64_t *ret_epoch,
                                  uint64_t *ret_step) {
    *ret_epoch = stream->cursor.epoch;
    *ret_step = stream->cursor.step;
}

const char *leat_stream_position(struct leat_stream *stream) {
    const struct leat_opened *opened = &stream->connection.opened;
    struct leat_position position = {
        .seed = opened->seed,
        .epoch = stream->cursor.epoch,
        .step = leat_cursor_round(&stream->cursor),
        .world_size = stream->cursor.world_size,
    };

    memcpy(position.spec, opened->digest, sizeof(position.spec));
    memcpy(position.data, opened->data_digest, sizeof(position.data));
    (void)leat_position_print(&position, stream->position);
    return stream->position;
}

const char *leat_stream_fingerprint(struct leat_stream *stream) {
    (void)snprintf(stream->fingerprint, sizeof(stream->fingerprint), "%s:order=%" PRIu32,
                   leat_stream_position(stream), stream->connection.opened.order_version);
    return stream->fingerprint;
}

const char *leat_stream_files(const struct leat_stream *stream) {
    return stream->connection.opened.files;
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
