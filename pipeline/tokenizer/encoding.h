/* encoding.h: the token ids of one text or of a pair, with what is known of each token.
 *
 * Columns of equal length that grow together; those not asked for are NULL and cost nothing.
 * Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/range.h"

/* Bits. */
enum leat_encoding_column {
    LEAT_ENCODING_TYPE_IDS = 1,
    LEAT_ENCODING_OFFSETS = 2,
    LEAT_ENCODING_SPECIAL = 4,   /* 1: added by the post-processor, or padding */
    LEAT_ENCODING_ATTENTION = 8, /* 0: padding */
    LEAT_ENCODING_MARKS = 16,
    LEAT_ENCODING_SURFACES = 32,
    LEAT_ENCODING_WORDS = 64,
    LEAT_ENCODING_TEXTS = 128,
};

#define LEAT_ENCODING_NO_WORD UINT32_MAX

struct leat_encoding {
    int32_t *ids;
    uint32_t *type_ids;
    struct leat_range *offsets; /* bytes of the text; 0..0 for tokens that stand for none */
    uint8_t *special;
    uint8_t *attention;
    uint32_t *marks; /* 1 + the index of the marked range that it shares a byte with; 0: of none */
    uint32_t *surfaces; /* 0: the vocabulary spells it; else see leat_tokenizer_surface */
    uint32_t *words;    /* the word of its text, from 0, that the pre-tokenizer cut; or NO_WORD */
    uint8_t *texts;     /* 1: of the first text, 2: of the second, 0: of none */
    size_t n;           /* tokens */
    size_t capacity;    /* of ids; the other columns have as much if they are wanted */
    uint32_t columns;
};
