/* text.h: a text on its way from the user to the model, and where each of its bytes comes from.
 *
 * A view (leat_text_view) is bytes of valid UTF-8 with at least LEAT_TEXT_PADDING readable bytes
 * behind them, so that 16-, 32- and 64-byte loads need no care at the end. If offsets are wanted,
 * origins[i] is the range of the user's text, in bytes, that byte i stands for; all bytes of one
 * character have the same origin. If not, origins is NULL and nothing is spent on them.
 *
 * A buffer (leat_text_buffer) is what a rewriting writes to. Rewriting goes through the source from
 * left to right; each step says what becomes of the origin, as `NormalizedString::transform` of
 * Hugging Face `tokenizers` does:
 *   keep     the next bytes stay as they are
 *   replace  other bytes take the place, and the origin, of the next character
 *   insert   new bytes with the origin of the byte before the current place (0..0 at the start)
 *   skip     the next bytes vanish
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

/* Room for n_more bytes behind what is there (and their origins). 0, -ENOMEM, -E2BIG. */
int leat_text_buffer_reserve(struct leat_text_buffer *buffer, size_t n_more, bool wants_origins);

/* The view of what is in the buffer. Valid until the buffer changes. */
struct leat_text_view leat_text_buffer_view(const struct leat_text_buffer *buffer,
                                            bool has_origins);

/* A part of a view: bytes start..end - 1. */
static inline struct leat_text_view leat_text_view_part(const struct leat_text_view *text,
                                                        struct leat_range range) {
    return (struct leat_text_view){.bytes = text->bytes + range.start,
                                   .origins = text->origins ? text->origins + range.start : NULL,
                                   .n_bytes = range.end - range.start};
}

/* A rewriting under way. source and target outlive it; the target must not hold the source. */
struct leat_rewrite {
    const struct leat_text_view *source;
    struct leat_text_buffer *target;
    uint32_t at; /* the next byte of the source */
};

/* Starts with an empty target that has room for the source. */
int leat_rewrite_begin(struct leat_rewrite *rewrite, const struct leat_text_view *source,
                       struct leat_text_buffer *target);

/* Each 0, -ENOMEM or -E2BIG. n_source: bytes of the source, within it. */
int leat_rewrite_keep(struct leat_rewrite *rewrite, uint32_t n_source);
int leat_rewrite_replace(struct leat_rewrite *rewrite, uint32_t n_source, const void *bytes,
                         uint32_t n_bytes);
int leat_rewrite_insert(struct leat_rewrite *rewrite, const void *bytes, uint32_t n_bytes);
/* Bytes with the origin of the byte at the current place, which stays (HF's prepend). */
int leat_rewrite_prepend(struct leat_rewrite *rewrite, const void *bytes, uint32_t n_bytes);

static inline void leat_rewrite_skip(struct leat_rewrite *rewrite, uint32_t n_source) {
    rewrite->at += n_source;
}

/* What has been written. */
struct leat_text_view leat_rewrite_end(const struct leat_rewrite *rewrite);
