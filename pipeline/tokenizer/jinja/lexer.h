/* lexer.h: cuts a template into tokens, as jinja2 3.1 does with trim_blocks and lstrip_blocks. */
#pragma once

#include "pipeline/tokenizer/jinja/value.h"

enum leat_jinja_token_kind {
    LEAT_JINJA_T_DATA, /* text between tags: value */
    LEAT_JINJA_T_BLOCK_BEGIN,
    LEAT_JINJA_T_BLOCK_END,
    LEAT_JINJA_T_PRINT_BEGIN,
    LEAT_JINJA_T_PRINT_END,
    LEAT_JINJA_T_NAME,   /* value: a text */
    LEAT_JINJA_T_STRING, /* value, without escapes */
    LEAT_JINJA_T_NUMBER, /* value */
    LEAT_JINJA_T_OP,     /* op */
    LEAT_JINJA_T_END,
};

/* Operators of two characters; the others are their character. */
#define LEAT_JINJA_OP(first, second) ((first) << 8 | (second))

struct leat_jinja_token {
    uint8_t kind;
    int op;
    uint32_t line, column; /* in bytes, from 1 */
    struct leat_jinja_value value;
};

/* Cuts the source into tokens, the last of which is END. Texts refer to the source or are in the
 * heap. 0, -EINVAL with line and column, -ENOMEM or -E2BIG. */
int leat_jinja_lex(struct leat_jinja_heap *heap, const char *source, size_t n_bytes,
                   struct leat_jinja_token **ret_tokens, struct leat_error *err);

/* Bytes of the white space, as Python's str.isspace() has it, that the text starts or ends with. */
size_t leat_jinja_leading_space(const char *text, size_t n_bytes);
size_t leat_jinja_trailing_space(const char *text, size_t n_bytes);
/* The same for one character: 0 if it is none. */
size_t leat_jinja_space(const char *text, size_t n_bytes);
