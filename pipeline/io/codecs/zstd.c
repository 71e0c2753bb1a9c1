/* zstd.c: frames of Zstandard (RFC 8878), by libzstd; those that hold no data are passed over.
 *
 * As with zstd itself, anything else behind the last frame is an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "pipeline/io/codec.h"

#define DESCRIPTOR_RESERVED 0x08 /* of a frame's header */

static bool begins(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd;
}

static bool may_begin(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 6 && begins(head, n_bytes) && !(head[4] & DESCRIPTOR_RESERVED);
}

static int floor_log2(uint64_t value) {
    return 63 - __builtin_clzll(value | 1);
}

static int start(uint64_t max_window_bytes, void **ret_state) {
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    int log = floor_log2(max_window_bytes);

    if (!context)
        return -ENOMEM;
    log = log < bounds.lowerBound ? bounds.lowerBound : log;
    log = log > bounds.upperBound ? bounds.upperBound : log;
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, log);
    *ret_state = context;
    return 0;
}

static void stop(void *state) {
    (void)ZSTD_freeDCtx(state);
}

static size_t memory(const void *state) {
    return ZSTD_sizeof_DCtx(state);
}

static int decode(void *state, struct leat_codec_io *io, const char **ret_reason) {
    ZSTD_inBuffer in = {.src = io->in, .size = io->n_in};
    ZSTD_outBuffer out = {.dst = io->out, .size = io->n_out};
    size_t r = ZSTD_decompressStream(state, &out, &in);

    leat_codec_io_move(io, in.size - in.pos, out.size - out.pos);
    if (!ZSTD_isError(r))
        return r == 0 ? LEAT_CODEC_BOUNDARY : 0;
    *ret_reason = ZSTD_getErrorName(r);
    if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge ? -EFBIG : -EBADMSG;
}

const struct leat_codec_ops leat_codec_zstd = {
    .name = "zstd",
    .frame = "frame",
    .first_byte = 0x28,
    .has_skippables = true,
    .begins = begins,
    .may_begin = may_begin,
    .start = start,
    .stop = stop,
    .memory = memory,
    .decode = decode,
};
