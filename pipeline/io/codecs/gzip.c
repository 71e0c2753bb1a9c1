/* gzip.c: members of gzip (RFC 1952), by zlib; BGZF and what pigz writes are members too.
 *
 * As with gzip itself, what stands behind the last member and begins none is passed over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pipeline/io/codec.h"

#define HEADER_BYTES 10

struct gzip {
    z_stream stream;
    bool has_ended; /* a member; the next needs a reset */
};

static bool begins(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == Z_DEFLATED;
}

/* Reserved flags are clear, and the last two bytes of the header are what compressors write. */
static bool may_begin(const uint8_t *head, size_t n_bytes) {
    if (n_bytes < HEADER_BYTES || !begins(head, n_bytes) || (head[3] & 0xe0))
        return false;
    return (head[8] == 0 || head[8] == 2 || head[8] == 4) && (head[9] <= 13 || head[9] == 255);
}

/* The window is 32 KiB at most. */
static int start(uint64_t max_window_bytes, void **ret_state) {
    struct gzip *self = calloc(1, sizeof(*self));

    (void)max_window_bytes;
    if (!self || inflateInit2(&self->stream, MAX_WBITS + 16) != Z_OK) {
        free(self);
        return -ENOMEM;
    }
    *ret_state = self;
    return 0;
}

static void stop(void *state) {
    struct gzip *self = state;

    (void)inflateEnd(&self->stream);
    free(self);
}

static int decode(void *state, struct leat_codec_io *io, const char **ret_reason) {
    struct gzip *self = state;
    z_stream *stream = &self->stream;
    int r;

    if (self->has_ended)
        (void)inflateReset(stream);
    self->has_ended = false;
    stream->next_in = (z_const Bytef *)(uintptr_t)io->in;
    stream->avail_in = (uInt)io->n_in;
    stream->next_out = io->out;
    stream->avail_out = (uInt)io->n_out;
    r = inflate(stream, Z_NO_FLUSH);
    leat_codec_io_move(io, stream->avail_in, stream->avail_out);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    if (r == Z_STREAM_END) {
        self->has_ended = true;
        return LEAT_CODEC_BOUNDARY;
    }
    if (r == Z_OK || r == Z_BUF_ERROR)
        return 0;
    *ret_reason = stream->msg ? stream->msg : "the compressed data is not deflate";
    return -EBADMSG;
}

const struct leat_codec_ops leat_codec_gzip = {
    .name = "gzip",
    .frame = "member",
    .first_byte = 0x1f,
    .allows_garbage = true,
    .state_bytes = 64U << 10,
    .begins = begins,
    .may_begin = may_begin,
    .start = start,
    .stop = stop,
    .decode = decode,
};
