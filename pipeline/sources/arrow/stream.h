/* stream.h: the messages of an Arrow file ("Encapsulated message format"), one behind the other, or
 * where the footer says that they are.
 *
 * Of a file that is as it is, only the metadata is read here. What comes through a pipe or a
 * decompressor is read with its body.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/message.h"

#define LEAT_ARROW_END 4 /* from next: there are no more messages */

struct leat_arrow_stream {
    struct leat_input *file;
    uint64_t max_memory; /* of a body */
    bool is_begun;
    bool can_jump;       /* the file can be entered anywhere */
    uint64_t at;         /* of the next message, in the file (or what is decompressed of it) */
    uint64_t file_bytes; /* can_jump */
    uint8_t *bytes;      /* from `at` on */
    size_t n_bytes, capacity;

    struct leat_arrow_message message;
    uint64_t message_at, body_at;
    const uint8_t *body; /* NULL: in the file */

    uint8_t *footer_bytes; /* NULL: the file has none, or none that can be reached */
    struct leat_arrow_footer footer;
};

void leat_arrow_stream_deinit(struct leat_arrow_stream *stream);

/* Finds out what the file is, and goes to its first message. 0, LEAT_INPUT_WAITING, -EBADMSG: it is
 * none of Arrow's, or another error. */
int leat_arrow_stream_begin(struct leat_arrow_stream *stream, struct leat_error *err);
/* The message at `at`, which becomes that of the one behind it. 0, LEAT_INPUT_WAITING,
 * LEAT_ARROW_END, or -errno. */
int leat_arrow_stream_next(struct leat_arrow_stream *stream, struct leat_error *err);
/* can_jump: the same from there on. */
int leat_arrow_stream_next_at(struct leat_arrow_stream *stream, uint64_t at,
                              struct leat_error *err);
