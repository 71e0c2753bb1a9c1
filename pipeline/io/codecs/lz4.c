/* lz4.c: frames of LZ4 (its frame format 1.6), by liblz4; those that hold no data are passed over.
 *
 * As with lz4 itself, anything else behind the last frame is an error. The legacy format, which has
 * neither sizes nor checksums, is told apart and refused.
 */
#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/codec.h"

#define FLAGS_VERSION_MASK 0xc0
#define FLAGS_VERSION      0x40
#define FLAGS_RESERVED     0x02
#define BLOCKS_RESERVED    0x8f /* of the byte that holds the size of blocks, 4..7 << 4 */
#define BLOCKS_MIN         0x40

struct lz4 {
    LZ4F_dctx *context;
    bool is_within; /* a frame */
};

static bool is_frame(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 4 && head[0] == 0x04 && head[1] == 0x22 && head[2] == 0x4d && head[3] == 0x18;
}

static bool is_legacy(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 4 && head[0] == 0x02 && head[1] == 0x21 && head[2] == 0x4c && head[3] == 0x18;
}

static bool begins(const uint8_t *head, size_t n_bytes) {
    return is_frame(head, n_bytes) || is_legacy(head, n_bytes);
}

static bool may_begin(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 7 && is_frame(head, n_bytes) &&
           (head[4] & FLAGS_VERSION_MASK) == FLAGS_VERSION && !(head[4] & FLAGS_RESERVED) &&
           !(head[5] & BLOCKS_RESERVED) && head[5] >= BLOCKS_MIN;
}

/* Blocks are 4 MiB at most, what they reach back is 64 KiB. */
static int start(uint64_t max_window_bytes, void **ret_state) {
    struct lz4 *self = calloc(1, sizeof(*self));

    (void)max_window_bytes;
    if (!self || LZ4F_isError(LZ4F_createDecompressionContext(&self->context, LZ4F_VERSION))) {
        free(self);
        return -ENOMEM;
    }
    *ret_state = self;
    return 0;
}

static void stop(void *state) {
    struct lz4 *self = state;

    (void)LZ4F_freeDecompressionContext(self->context);
    free(self);
}

static int decode(void *state, struct leat_codec_io *io, const char **ret_reason) {
    struct lz4 *self = state;
    size_t n_in = io->n_in, n_out = io->n_out, r;

    if (!self->is_within && is_legacy(io->in, io->n_in)) {
        *ret_reason = "leat does not read lz4's legacy format: compress the file again, without -l";
        return -EBADMSG;
    }
    r = LZ4F_decompress(self->context, io->out, &n_out, io->in, &n_in, NULL);
    if (LZ4F_isError(r)) {
        *ret_reason = LZ4F_getErrorName(r);
        return strcmp(*ret_reason, "ERROR_allocation_failed") == 0 ? -ENOMEM : -EBADMSG;
    }
    self->is_within = r != 0 && (self->is_within || n_in > 0);
    leat_codec_io_move(io, io->n_in - n_in, io->n_out - n_out);
    return r == 0 ? LEAT_CODEC_BOUNDARY : 0;
}

const struct leat_codec_ops leat_codec_lz4 = {
    .name = "lz4",
    .frame = "frame",
    .first_byte = 0x04,
    .has_skippables = true,
    .state_bytes = 9U << 20,
    .begins = begins,
    .may_begin = may_begin,
    .start = start,
    .stop = stop,
    .decode = decode,
};
