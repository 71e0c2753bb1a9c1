/* codec.h: decodes a compressed format, one frame after the other. input.h reads the file.
 *
 * A frame can be decoded without what stands before it: a member of gzip, a frame of zstd or lz4, a
 * stream of bzip2, a block of xz. Between two frames is a boundary. A format is one file in
 * pipeline/io/codecs/ that ends in one `const struct leat_codec_ops`, and one line in codec.c.
 *
 * Owner: the job that decodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_CODEC_HEAD 1024 /* these bytes suffice to tell what begins there */

enum {
    LEAT_CODEC_BOUNDARY = 1, /* of decode: a frame has ended */
    LEAT_CODEC_GARBAGE = 2,  /* of between: the data ends here; what follows is passed over */
    LEAT_CODEC_PAUSE = 3,    /* of between: a state that knows the frames before must go on */
};

/* Moves forward by what was used and made. */
struct leat_codec_io {
    const uint8_t *in;
    size_t n_in;
    uint8_t *out;
    size_t n_out;
};

struct leat_codec_ops {
    const char *name;    /* "gzip" */
    const char *frame;   /* "member" */
    uint8_t first_byte;  /* of frames with data; 0: any, */
    size_t alignment;    /* and then they are aligned to so many bytes within the file */
    bool has_skippables; /* frames that hold no data may stand anywhere */
    bool allows_garbage; /* what begins no frame behind the last one is passed over, as by its
                           tool */

    /* True if a file of the format begins so. n_bytes is LEAT_CODEC_HEAD unless the file ends. */
    bool (*begins)(const uint8_t *head, size_t n_bytes);
    /* True if a frame with data may begin here: a guess, for places in the middle of a file. */
    bool (*may_begin)(const uint8_t *head, size_t n_bytes);

    /* 0 or -ENOMEM. A frame may reach back at most max_window_bytes. */
    int (*start)(uint64_t max_window_bytes, void **ret_state);
    void (*stop)(void *state);
    size_t state_bytes; /* the state takes at most; besides, what this says: */
    size_t (*memory)(const void *state);
    /* Tells a state that starts in the middle of a file what the file's first bytes say. May be
     * NULL: nothing is needed. */
    bool (*enter)(void *state, const uint8_t *file_head, const uint8_t *head);
    /* Uses and makes what it can. 0, LEAT_CODEC_BOUNDARY; -EBADMSG: damaged, -EFBIG: the window is
     * too large, with *ret_reason; -ENOMEM. If neither in nor out move, it needs more input. */
    int (*decode)(void *state, struct leat_codec_io *io, const char **ret_reason);
    /* As leat_codec_between(), which calls it. NULL: every frame begins as a file does. */
    int (*between)(void *state, const uint8_t *in, size_t n_in, size_t *ret_skip,
                   const char **ret_reason);
    /* Takes over what `before` knows, which is at the boundary at which `state` entered. False: it
     * cannot. May be NULL: there is nothing to know. */
    bool (*adopt)(void *state, void *before);
};

static inline uint32_t leat_codec_number(const uint8_t *bytes) { /* little endian */
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* The format of a file that begins so; NULL: it is not compressed. */
const struct leat_codec_ops *leat_codec_find(const uint8_t *head, size_t n_bytes);

/* Tells what follows at a boundary, as the format's own tool sees it; n_in is LEAT_CODEC_HEAD
 * unless the file ends, 0 at its end. 0: a frame, behind *ret_skip bytes of padding (if that is not
 * 0, to be asked again behind them); GARBAGE: nothing more of the format; PAUSE; -EBADMSG. */
int leat_codec_between(const struct leat_codec_ops *codec, void *state, const uint8_t *in,
                       size_t n_in, size_t *ret_skip, const char **ret_reason);

/* Moves what the library of the format left over. */
static inline void leat_codec_io_move(struct leat_codec_io *io, size_t n_in_left,
                                      size_t n_out_left) {
    io->in += io->n_in - n_in_left;
    io->out += io->n_out - n_out_left;
    io->n_in = n_in_left;
    io->n_out = n_out_left;
}
