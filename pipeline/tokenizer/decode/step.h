/* step.h: one step of decoding: a list of strings to another. A Sequence is a list of steps.
 *
 * A step is immutable once read: any thread.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/decode/pieces.h"

struct leat_regex;

struct leat_decode_step;

/* One type of decoder. */
struct leat_decode_ops {
    const char *type; /* of the file */
    /* Reads its fields, NULL: it has none; what the step owns then is freed with it, also after an
     * error. */
    int (*read)(const struct leat_component *component, struct leat_decode_step *step,
                struct leat_error *err);
    /* Either appends all to empty `out`; 0, -ENOMEM, -E2BIG, or another errno with err set. */
    int (*run)(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
               size_t n_tokens, struct leat_pieces *out, struct leat_error *err);
    /* Or, with `run` NULL, appends what tokens[i] becomes, which is a piece by itself. */
    int (*put)(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
               size_t n_tokens, size_t i, struct leat_pieces *out);
    bool grows; /* it may write more bytes than it reads; then `out` may only count */
};

struct leat_decode_step {
    const struct leat_decode_ops *ops;
    struct leat_decoder_token text;    /* prefix, suffix, pattern, character, padding token */
    struct leat_decoder_token content; /* replacement, word delimiter */
    struct leat_regex *regex;          /* Replace */
    uint64_t n_at_start, n_at_end;     /* Strip */
    bool cleans_up;                    /* WordPiece, CTC */
    bool keeps_first;                  /* Metaspace: a blank is left in the first token */
};

extern const struct leat_decode_ops leat_decode_byte_level, leat_decode_wordpiece,
    leat_decode_metaspace, leat_decode_bpe, leat_decode_ctc, leat_decode_replace, leat_decode_fuse,
    leat_decode_strip, leat_decode_byte_fallback;

/* A copy of a required string of the component. 0, -ENOMEM, -EINVAL. */
int leat_decode_read_string(const struct leat_component *component, const char *key,
                            struct leat_decoder_token *ret_string, struct leat_error *err);
/* The same, of just one character. */
int leat_decode_read_character(const struct leat_component *component, const char *key,
                               struct leat_decoder_token *ret_string, struct leat_error *err);
