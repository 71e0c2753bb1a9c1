/* step.h: one step of decoding: a list of strings to another. A Sequence is a list of steps.
 *
 * A step is immutable once read: any thread.
 */
#pragma once

#include "pipeline/tokenizer/decode/pieces.h"

struct leat_regex;

struct leat_string {
    uint8_t *bytes;
    uint32_t n_bytes;
};

struct leat_decode_step;

/* One type of decoder. */
struct leat_decode_ops {
    const char *type; /* of the file */
    /* Reads its fields; what the step owns then is freed with it, also after an error. */
    int (*read)(const struct leat_component *component, struct leat_decode_step *step,
                struct leat_error *err);
    /* Appends to empty `out`. 0, -ENOMEM, -E2BIG, or another errno with err set. */
    int (*run)(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
               size_t n_tokens, struct leat_pieces *out, struct leat_error *err);
    bool grows; /* it may write more bytes than it reads; then `out` may only count */
};

struct leat_decode_step {
    const struct leat_decode_ops *ops;
    struct leat_string text;       /* prefix, suffix, pattern, character, padding token */
    struct leat_string content;    /* replacement, word delimiter */
    struct leat_regex *regex;      /* Replace */
    uint64_t n_at_start, n_at_end; /* Strip */
    bool cleans_up;                /* WordPiece, CTC */
    bool keeps_first;              /* Metaspace: a blank is left in the first token */
};

extern const struct leat_decode_ops leat_decode_byte_level;
extern const struct leat_decode_ops leat_decode_wordpiece;
extern const struct leat_decode_ops leat_decode_metaspace;
extern const struct leat_decode_ops leat_decode_bpe;
extern const struct leat_decode_ops leat_decode_ctc;
extern const struct leat_decode_ops leat_decode_replace;
extern const struct leat_decode_ops leat_decode_fuse;
extern const struct leat_decode_ops leat_decode_strip;
extern const struct leat_decode_ops leat_decode_byte_fallback;

/* A copy of a required string of the component. 0, -ENOMEM, -EINVAL. */
int leat_decode_read_string(const struct leat_component *component, const char *key,
                            struct leat_string *ret_string, struct leat_error *err);
/* The same, of just one character. */
int leat_decode_read_character(const struct leat_component *component, const char *key,
                               struct leat_string *ret_string, struct leat_error *err);
