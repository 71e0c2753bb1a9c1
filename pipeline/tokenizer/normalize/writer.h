/* writer.h: one rewriting of a text, and the memory that rewritings take turns in.
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
 *
 * Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/text.h"

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

/* The next n bytes of the source stay. */
static inline void leat_writer_keep(struct leat_writer *writer, uint32_t n_bytes) {
    writer->at += n_bytes;
}

/* Copies what stays so far, and makes room for n bytes. Each 0, -ENOMEM or -E2BIG. */
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

/* The rest of the source is dropped. *text, which the source was, is the result. */
int leat_writer_end(struct leat_writer *writer, struct leat_text_view *text);
