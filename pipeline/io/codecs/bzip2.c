/* bzip2.c: streams of bzip2, by libbz2; pbzip2 writes one of them for each 900 kB.
 *
 * As with bzip2 itself, what stands behind the last stream and begins none is passed over.
 */
#include <bzlib.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/codec.h"

#define MAGIC_BYTES 4 /* "BZh" and the size of blocks */
#define HEAD_BYTES  10

struct bzip2 {
    bz_stream stream;
    bool is_open;
};

/* A block, or the end of an empty stream, follows the magic: so a text that happens to begin with
 * BZh1 is not taken for one. */
static bool begins(const uint8_t *head, size_t n_bytes) {
    static const uint8_t block[] = {0x31, 0x41, 0x59, 0x26, 0x53, 0x59};
    static const uint8_t end[] = {0x17, 0x72, 0x45, 0x38, 0x50, 0x90};
    size_t n = n_bytes < HEAD_BYTES ? n_bytes : HEAD_BYTES;

    if (n < MAGIC_BYTES || memcmp(head, "BZh", 3) != 0 || head[3] < '1' || head[3] > '9')
        return false;
    return memcmp(head + MAGIC_BYTES, block, n - MAGIC_BYTES) == 0 ||
           memcmp(head + MAGIC_BYTES, end, n - MAGIC_BYTES) == 0;
}

static bool may_begin(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= HEAD_BYTES && begins(head, n_bytes);
}

/* A block is 900 kB at most. */
static int start(uint64_t max_window_bytes, void **ret_state) {
    struct bzip2 *self = calloc(1, sizeof(*self));

    (void)max_window_bytes;
    *ret_state = self;
    return self ? 0 : -ENOMEM;
}

static void close_stream(struct bzip2 *self) {
    if (self->is_open)
        (void)BZ2_bzDecompressEnd(&self->stream);
    self->is_open = false;
}

static void stop(void *state) {
    close_stream(state);
    free(state);
}

static int decode(void *state, struct leat_codec_io *io, const char **ret_reason) {
    struct bzip2 *self = state;
    bz_stream *stream = &self->stream;
    int r;

    if (!self->is_open) {
        *stream = (bz_stream){.opaque = NULL};
        if (BZ2_bzDecompressInit(stream, 0, 0) != BZ_OK)
            return -ENOMEM;
        self->is_open = true;
    }
    stream->next_in = (char *)(uintptr_t)io->in;
    stream->avail_in = (unsigned)io->n_in;
    stream->next_out = (char *)io->out;
    stream->avail_out = (unsigned)io->n_out;
    r = BZ2_bzDecompress(stream);
    leat_codec_io_move(io, stream->avail_in, stream->avail_out);
    if (r == BZ_OK)
        return 0;
    if (r == BZ_STREAM_END) {
        close_stream(self);
        return LEAT_CODEC_BOUNDARY;
    }
    *ret_reason = "a checksum or code is wrong";
    return r == BZ_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

const struct leat_codec_ops leat_codec_bzip2 = {
    .name = "bzip2",
    .frame = "stream",
    .first_byte = 'B',
    .allows_garbage = true,
    .state_bytes = 4U << 20,
    .begins = begins,
    .may_begin = may_begin,
    .start = start,
    .stop = stop,
    .decode = decode,
};
