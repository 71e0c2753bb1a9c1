/* stream.h: the messages of an Arrow file ("Encapsulated message format"), in their order or where
 * the footer says that they are.
 *
 * Only the metadata of a plain file is read here; a pipe or compressed file is read with the
 * bodies.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/groups.h"
#include "pipeline/sources/arrow/message.h"

struct leat_arrow_stream {
    struct leat_input *file;
    uint64_t max_memory; /* of a body */
    bool is_begun;
    bool can_seek;       /* the file can be read from any place */
    uint64_t at;         /* of the next message in the decompressed file */
    uint64_t file_bytes; /* if can_seek */
    uint8_t *bytes;      /* from `at` on */
    size_t n_bytes, capacity;

    struct leat_arrow_message message;
    uint64_t message_at, body_at;
    const uint8_t *body; /* NULL: in the file */

    uint8_t *footer_bytes; /* NULL: there is no footer, or the file cannot seek */
    struct leat_arrow_footer footer;
};

void leat_arrow_stream_deinit(struct leat_arrow_stream *stream);

/* Detects the format and goes to the first message. 0, LEAT_INPUT_WAITING, -EBADMSG: it is no Arrow
 * file, or another error. */
int leat_arrow_stream_begin(struct leat_arrow_stream *stream, struct leat_error *err);
/* Reads the message at `at`, and moves `at` behind it. 0, LEAT_INPUT_WAITING, LEAT_ARROW_END, or
 * -errno. */
int leat_arrow_stream_next(struct leat_arrow_stream *stream, struct leat_error *err);
/* The same from another place; only if can_seek. */
int leat_arrow_stream_next_at(struct leat_arrow_stream *stream, uint64_t at,
                              struct leat_error *err);
