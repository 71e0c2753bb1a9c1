/* text.h: a text on its way from the user to the model, and where each of its bytes comes from.
 *
 * A view (leat_text_view) is bytes of valid UTF-8 with at least LEAT_TEXT_PADDING readable bytes
 * after them, so that 16-, 32- and 64-byte loads need no care at the end. If offsets are wanted,
 * origins[i] is the range of the user's text, in bytes, that byte i stands for; all bytes of one
 * character have the same origin. If not, origins is NULL and nothing is spent on them.
 *
 * A buffer (leat_text_buffer) is what a rewriting writes to; a writer (leat_writer) carries out one
 * rewriting.
 *
 * Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pipeline/tokenizer/range.h"
#include "proto/base/error.h"

#define LEAT_TEXT_PADDING   64
#define LEAT_TEXT_BYTES_MAX (UINT32_C(1) << 30) /* of a document, also when rewritten */

struct leat_text_view {
    const uint8_t *bytes;
    const struct leat_range *origins; /* [n_bytes], or NULL */
    uint32_t n_bytes;
};

struct leat_text_buffer {
    uint8_t *bytes; /* capacity + LEAT_TEXT_PADDING */
    struct leat_range *origins;
    uint32_t n_bytes;
    uint32_t capacity;
    uint32_t origins_capacity;
};

void leat_text_buffer_deinit(struct leat_text_buffer *buffer); /* of a zeroed one too */

/* Makes room for n_more more bytes (and their origins). 0, -ENOMEM, -E2BIG. */
int leat_text_buffer_reserve(struct leat_text_buffer *buffer, size_t n_more, bool wants_origins);

/* The view of the buffer's content, valid until the buffer changes. */
struct leat_text_view leat_text_buffer_view(const struct leat_text_buffer *buffer,
                                            bool has_origins);

/* A part of a view: bytes start..end - 1. */
static inline struct leat_text_view leat_text_view_part(const struct leat_text_view *text,
                                                        struct leat_range range) {
    return (struct leat_text_view){.bytes = text->bytes + range.start,
                                   .origins = text->origins ? text->origins + range.start : NULL,
                                   .n_bytes = range.end - range.start};
}

/* ---- writers
 *
 * A writer goes through its source from left to right. What stays is not copied before something
 * else changes, so a text without changes costs no copy. Where a byte comes from follows
 * `NormalizedString::transform` of Hugging Face `tokenizers`, whose unit is a character with a
 * change:
 *     0        the character takes the place, and the origin, of the next one of the source
 *     -n       likewise, and n more characters of the source vanish
 *     above 0  the character is new; it has the origin of the byte before the place
 * The place in the source is moved by changes alone: a stream of them may run behind its
 * characters, and the origins with it.
 *
 * A writer can also measure: it goes through the source alike, but what it writes is counted and
 * dropped, and *text stays. So a result that is too long is refused before it takes memory.
 */

struct leat_writer_memory {
    struct leat_text_buffer buffers[2]; /* one holds the source, the other the target */
    uint32_t start;                     /* of the text's origins, before the first rewriting */
    bool measures;                      /* writers that begin now only measure */
    size_t n_measured;                  /* bytes of the result, where one has; else 0 */
};

struct leat_writer {
    struct leat_text_view source;
    struct leat_writer_memory *memory;
    struct leat_text_buffer *target;
    uint32_t start;
    uint32_t kept; /* bytes kept..at - 1 of the source stay, and are not copied yet */
    uint32_t at;
    bool has_changed;
};

void leat_writer_memory_deinit(struct leat_writer_memory *memory);

void leat_writer_begin(struct leat_writer *writer, struct leat_writer_memory *memory,
                       const struct leat_text_view *source);

/* The number of bytes of the result before the place. */
static inline uint32_t leat_writer_position(const struct leat_writer *writer) {
    return writer->target->n_bytes + (writer->at - writer->kept);
}

/* The next n bytes of the source stay. */
static inline void leat_writer_keep(struct leat_writer *writer, uint32_t n_bytes) {
    writer->at += n_bytes;
}

/* Copies the bytes that stay up to here, and makes room for n_more bytes. This and the following
 * return 0, -ENOMEM or -E2BIG. */
int leat_writer_flush(struct leat_writer *writer, size_t n_more);
/* The next n bytes of the source vanish. */
int leat_writer_skip(struct leat_writer *writer, uint32_t n_bytes);
/* New bytes, with the origin of the byte before the place. */
int leat_writer_insert(struct leat_writer *writer, const void *bytes, uint32_t n_bytes);
/* Other bytes for the next n_source of the source, with the origin of the first of them. */
int leat_writer_replace(struct leat_writer *writer, uint32_t n_source, const void *bytes,
                        uint32_t n_bytes);
/* A character with a change. */
int leat_writer_put(struct leat_writer *writer, uint32_t code_point, int32_t change);

/* Drops the rest of the source and sets *text to the result. */
int leat_writer_end(struct leat_writer *writer, struct leat_text_view *text);
