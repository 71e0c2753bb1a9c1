/* body.h: the body of a record batch, and its buffers: in memory, or read as they are needed.
 *
 * A body that came through a pipe, is small, or belongs to a dictionary, is in memory whole. Of a
 * large one of a file only those parts of buffers are read that are asked for, each through a
 * window that moves over its buffer; so a batch of any size is read once, in little memory. A
 * buffer that is compressed on its own ("Compression") is decompressed whole when its batch begins.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/message.h"

/* Owner of nothing. */
struct leat_arrow_body {
    struct leat_input *file;
    uint64_t at, n_bytes; /* in the file */
    const uint8_t *whole; /* not NULL: all of it */
    size_t window_bytes;  /* of each buffer, unless more is asked for at once */
    enum leat_arrow_codec codec;
    uint64_t max_memory; /* that buffers may have when they are decompressed, all together */
    uint64_t n_memory;
};

/* A buffer of a body. */
struct leat_arrow_bytes {
    uint64_t at, n_bytes; /* in the body; once decompressed: at 0 of `memory` */
    bool is_decompressed;
    uint8_t *memory; /* decompressed, or the window */
    size_t capacity;
    uint64_t window_at, window_bytes; /* of the buffer, that are in memory */
};

void leat_arrow_bytes_deinit(struct leat_arrow_bytes *bytes);

/* Another buffer, of another batch perhaps; the memory is used again. 0, -ENOMEM, -EBADMSG, or
 * another error of reading, after which the buffer has no bytes. */
int leat_arrow_bytes_set(struct leat_arrow_bytes *bytes, struct leat_arrow_body *body, uint64_t at,
                         uint64_t n_bytes, struct leat_error *err);

/* n bytes from `from` on; good until the next call. -EBADMSG: the buffer does not have them, or an
 * error of reading. Arrow data is reached through this function only. */
int leat_arrow_bytes_get(struct leat_arrow_bytes *bytes, const struct leat_arrow_body *body,
                         uint64_t from, uint64_t n, const uint8_t **ret_data,
                         struct leat_error *err);
