/* body.h: the body of a record batch and its buffers: in memory, or read as they are needed.
 *
 * A body that came through a pipe, is small, or belongs to a dictionary is in memory as a whole. Of
 * a large body in a file only the needed parts are read, through a window that moves over each
 * buffer. So a batch of any size is read once, in little memory. A compressed buffer
 * ("Compression") is decompressed as a whole when its batch begins.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/message.h"

/* Owns nothing. */
struct leat_arrow_body {
    struct leat_input *file;
    uint64_t at, n_bytes; /* in the file */
    const uint8_t *whole; /* NULL: it is not in memory */
    size_t window_bytes;  /* of each buffer, unless more is asked for at once */
    enum leat_arrow_codec codec;
    uint64_t max_memory; /* of all decompressed buffers together, at most */
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

/* Points it at another buffer; it keeps the memory. After an error the buffer has no bytes. */
int leat_arrow_bytes_set(struct leat_arrow_bytes *bytes, struct leat_arrow_body *body, uint64_t at,
                         uint64_t n_bytes, struct leat_error *err);

/* Gets n bytes from `from` on, valid until the next call. -EBADMSG: the buffer is shorter. All
 * Arrow data is read through this function. */
int leat_arrow_bytes_get(struct leat_arrow_bytes *bytes, const struct leat_arrow_body *body,
                         uint64_t from, uint64_t n, const uint8_t **ret_data,
                         struct leat_error *err);
