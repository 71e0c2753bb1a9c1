/* xz.c: blocks of xz (the .xz file format 1.2), by liblzma.
 *
 * A stream is a header, blocks, an index of their sizes, and a footer; zeros may stand between
 * streams. liblzma decodes each of these parts; what is here goes from one to the next, so that a
 * block of the middle of a file can be decoded alone: it must know only the kind of checksum, which
 * the stream's header tells, and its sizes are held against the index later, by the state that
 * adopted it. As with xz itself, anything but zeros behind the last stream is an error.
 */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/codec.h"
#include "proto/base/array.h"

#define BLOCK_FLAGS_RESERVED 0x3c
#define MEMORY_BASE          (1U << 20) /* what liblzma wants besides the window, and more */

enum stage { STAGE_HEADER, STAGE_BLOCK_HEADER, STAGE_BLOCK, STAGE_INDEX, STAGE_FOOTER };

struct block_size {
    lzma_vli unpadded, uncompressed;
};

struct xz {
    uint64_t max_window_bytes, memory;
    enum stage stage;
    lzma_stream_flags flags;
    lzma_stream stream; /* of the block */
    lzma_block block;
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_index_hash *hash;
    uint8_t bytes[LZMA_BLOCK_HEADER_SIZE_MAX]; /* of a header that came in pieces */
    size_t n_bytes;

    /* entered in the middle: without the sizes of the blocks before, but with those since */
    bool is_detached;
    struct block_size *sizes;
    size_t n_sizes, capacity;
};

static bool begins(const uint8_t *head, size_t n_bytes) {
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};

    return n_bytes >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

/* A block's header has no magic, but a checksum of its own. */
static bool may_begin(const uint8_t *head, size_t n_bytes) {
    size_t n = n_bytes ? ((size_t)head[0] + 1) * 4 : 0;

    if (begins(head, n_bytes))
        return true;
    if (n_bytes < 2 || head[0] == 0 || n > n_bytes || (head[1] & BLOCK_FLAGS_RESERVED))
        return false;
    return lzma_crc32(head, n - 4, 0) == leat_codec_number(head + n - 4);
}

static int start(uint64_t max_window_bytes, void **ret_state) {
    struct xz *self = calloc(1, sizeof(*self));

    if (!self)
        return -ENOMEM;
    self->max_window_bytes = max_window_bytes;
    self->stream = (lzma_stream)LZMA_STREAM_INIT;
    *ret_state = self;
    return 0;
}

static void stop(void *state) {
    struct xz *self = state;

    lzma_end(&self->stream);
    lzma_index_hash_end(self->hash, NULL);
    free(self->sizes);
    free(self);
}

static size_t memory(const void *state) {
    return (size_t)((const struct xz *)state)->memory;
}

static bool enter(void *state, const uint8_t *file_head, const uint8_t *head) {
    struct xz *self = state;

    if (begins(head, LEAT_CODEC_HEAD))
        return true;
    self->stage = STAGE_BLOCK_HEADER;
    self->is_detached = true;
    return lzma_stream_header_decode(&self->flags, file_head) == LZMA_OK;
}

static int fail_damaged(const char *reason, const char **ret_reason) {
    *ret_reason = reason;
    return -EBADMSG;
}

static int convert_result(lzma_ret r, const char **ret_reason) {
    switch (r) {
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return 0;
    case LZMA_MEM_ERROR:
        return -ENOMEM;
    case LZMA_FORMAT_ERROR:
        return fail_damaged("the xz header is invalid", ret_reason);
    case LZMA_OPTIONS_ERROR:
    case LZMA_UNSUPPORTED_CHECK:
        return fail_damaged(
            "the file uses a filter or checksum that the installed liblzma does not support",
            ret_reason);
    default:
        return fail_damaged("a checksum, size or code is wrong", ret_reason);
    }
}

/* True: n bytes of the header are together. */
static bool gather_header(struct xz *self, struct leat_codec_io *io, size_t n) {
    size_t n_more = n - self->n_bytes < io->n_in ? n - self->n_bytes : io->n_in;

    if (n_more)
        memcpy(self->bytes + self->n_bytes, io->in, n_more);
    self->n_bytes += n_more;
    io->in += n_more;
    io->n_in -= n_more;
    if (self->n_bytes < n)
        return false;
    self->n_bytes = 0;
    return true;
}

static int read_header(struct xz *self, struct leat_codec_io *io, const char **ret_reason) {
    lzma_index_hash *hash;
    int r;

    if (!gather_header(self, io, LZMA_STREAM_HEADER_SIZE))
        return 0;
    r = convert_result(lzma_stream_header_decode(&self->flags, self->bytes), ret_reason);
    if (r == 0 && !lzma_check_is_supported(self->flags.check)) /* it would not be checked */
        r = convert_result(LZMA_UNSUPPORTED_CHECK, ret_reason);
    if (r < 0)
        return r;
    hash = lzma_index_hash_init(self->hash, NULL);
    self->hash = hash;
    self->stage = STAGE_BLOCK_HEADER;
    return hash ? 0 : -ENOMEM;
}

static int start_block(struct xz *self, const char **ret_reason) {
    self->memory = lzma_raw_decoder_memusage(self->filters);
    if (self->memory == UINT64_MAX)
        return convert_result(LZMA_OPTIONS_ERROR, ret_reason);
    if (self->memory > self->max_window_bytes + MEMORY_BASE) {
        *ret_reason = "the dictionary is too large";
        return -EFBIG;
    }
    return convert_result(lzma_block_decoder(&self->stream, &self->block), ret_reason);
}

static int read_block_header(struct xz *self, struct leat_codec_io *io, const char **ret_reason) {
    int r;

    if (self->n_bytes == 0 && io->n_in == 0)
        return 0;
    if (self->n_bytes == 0 && io->in[0] == 0) {
        self->stage = STAGE_INDEX;
        return 0;
    }
    if (self->n_bytes == 0) { /* tells how many there are */
        self->bytes[self->n_bytes++] = *io->in++;
        io->n_in--;
    }
    if (!gather_header(self, io, lzma_block_header_size_decode(self->bytes[0])))
        return 0;
    self->block = (lzma_block){
        .version = 1,
        .header_size = lzma_block_header_size_decode(self->bytes[0]),
        .check = self->flags.check,
        .filters = self->filters,
    };
    r = convert_result(lzma_block_header_decode(&self->block, NULL, self->bytes), ret_reason);
    if (r < 0)
        return r;
    r = start_block(self, ret_reason);
    lzma_filters_free(self->filters, NULL);
    self->stage = STAGE_BLOCK;
    return r;
}

static int note_block(struct xz *self, const char **ret_reason) {
    struct block_size size = {lzma_block_unpadded_size(&self->block),
                              self->block.uncompressed_size};

    if (!self->is_detached)
        return convert_result(lzma_index_hash_append(self->hash, size.unpadded, size.uncompressed),
                              ret_reason);
    if (!leat_array_reserve(&self->sizes, self->n_sizes + 1, &self->capacity))
        return -ENOMEM;
    self->sizes[self->n_sizes++] = size;
    return 0;
}

static int read_block(struct xz *self, struct leat_codec_io *io, const char **ret_reason) {
    lzma_ret result;
    int r;

    self->stream.next_in = io->in;
    self->stream.avail_in = io->n_in;
    self->stream.next_out = io->out;
    self->stream.avail_out = io->n_out;
    result = lzma_code(&self->stream, LZMA_RUN);
    leat_codec_io_move(io, self->stream.avail_in, self->stream.avail_out);
    if (result != LZMA_STREAM_END)
        return convert_result(result, ret_reason);
    r = note_block(self, ret_reason);
    self->stage = STAGE_BLOCK_HEADER;
    return r < 0 ? r : LEAT_CODEC_BOUNDARY;
}

static int read_index(struct xz *self, struct leat_codec_io *io, const char **ret_reason) {
    size_t at = 0;
    lzma_ret result;

    if (io->n_in == 0)
        return 0;
    result = lzma_index_hash_decode(self->hash, io->in, &at, io->n_in);
    io->in += at;
    io->n_in -= at;
    if (result == LZMA_STREAM_END) {
        self->stage = STAGE_FOOTER;
        return 0;
    }
    return convert_result(result, ret_reason);
}

static int read_footer(struct xz *self, struct leat_codec_io *io, const char **ret_reason) {
    lzma_stream_flags flags;
    int r;

    if (!gather_header(self, io, LZMA_STREAM_HEADER_SIZE))
        return 0;
    r = convert_result(lzma_stream_footer_decode(&flags, self->bytes), ret_reason);
    if (r == 0 && flags.backward_size != lzma_index_hash_size(self->hash))
        r = convert_result(LZMA_DATA_ERROR, ret_reason);
    if (r == 0)
        r = convert_result(lzma_stream_flags_compare(&self->flags, &flags), ret_reason);
    self->stage = STAGE_HEADER;
    return r < 0 ? r : LEAT_CODEC_BOUNDARY;
}

static int decode(void *state, struct leat_codec_io *io, const char **ret_reason) {
    static int (*const steps[])(struct xz *, struct leat_codec_io *, const char **) = {
        [STAGE_HEADER] = read_header, [STAGE_BLOCK_HEADER] = read_block_header,
        [STAGE_BLOCK] = read_block,   [STAGE_INDEX] = read_index,
        [STAGE_FOOTER] = read_footer,
    };
    struct xz *self = state;
    enum stage stage;
    int r;

    do {
        stage = self->stage;
        r = steps[stage](self, io, ret_reason);
    } while (r == 0 && self->stage != stage);
    return r;
}

static int between(void *state, const uint8_t *in, size_t n_in, size_t *ret_skip,
                   const char **ret_reason) {
    const struct xz *self = state;

    if (self->stage == STAGE_BLOCK_HEADER)
        return self->is_detached && (n_in == 0 || in[0] == 0) ? LEAT_CODEC_PAUSE : 0;
    if (n_in == 0)
        return LEAT_CODEC_GARBAGE;
    if (n_in >= 4 && leat_codec_number(in) == 0) {
        *ret_skip = 4;
        return 0;
    }
    if (begins(in, n_in))
        return 0;
    return fail_damaged("unknown data follows the last stream", ret_reason);
}

static bool adopt(void *state, void *before) {
    struct xz *self = state, *other = before;
    const char *reason; /* what does not add up is seen when the index comes */

    if (!self->is_detached)
        return other->stage == STAGE_HEADER;
    if (other->stage != STAGE_BLOCK_HEADER || other->is_detached ||
        other->flags.check != self->flags.check)
        return false;
    self->hash = other->hash;
    other->hash = NULL;
    self->flags = other->flags;
    self->is_detached = false;
    for (size_t i = 0; i < self->n_sizes; i++)
        (void)convert_result(lzma_index_hash_append(self->hash, self->sizes[i].unpadded,
                                                    self->sizes[i].uncompressed),
                             &reason);
    return true;
}

const struct leat_codec_ops leat_codec_xz = {
    .name = "xz",
    .frame = "block",
    .alignment = 4,
    .begins = begins,
    .may_begin = may_begin,
    .start = start,
    .stop = stop,
    .memory = memory,
    .enter = enter,
    .decode = decode,
    .between = between,
    .adopt = adopt,
};
