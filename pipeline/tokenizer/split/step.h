/* step.h: the steps that a pre-tokenizer comes down to. A step either cuts each piece of the text
 * into words, or rewrites each piece; a Metaspace is one of each kind.
 *
 * A step is immutable once read.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/metaspace.h"
#include "pipeline/tokenizer/split/regex.h"
#include "pipeline/tokenizer/split/scan.h"

#define LEAT_SPLIT_STEPS_MAX 32

enum leat_split_step_kind {
    /* cut */
    LEAT_SPLIT_STEP_SCAN,
    LEAT_SPLIT_STEP_REGEX,
    LEAT_SPLIT_STEP_STRING,
    LEAT_SPLIT_STEP_CLASS,   /* single characters of a class */
    LEAT_SPLIT_STEP_LENGTH,  /* words of so many characters */
    LEAT_SPLIT_STEP_SCRIPTS, /* where the script changes */
    /* rewrite */
    LEAT_SPLIT_STEP_PREFIX,    /* a blank in front of what does not begin with one */
    LEAT_SPLIT_STEP_METASPACE, /* another character for each blank, and perhaps one in front */
    LEAT_SPLIT_STEP_BYTES,     /* each byte as a character of GPT-2's alphabet */
};

/* The fate of a match, in the order of the names in step.c. */
enum leat_split_step_behavior {
    LEAT_BEHAVIOR_REMOVED,
    LEAT_BEHAVIOR_ISOLATED,
    LEAT_BEHAVIOR_MERGED_WITH_PREVIOUS,
    LEAT_BEHAVIOR_MERGED_WITH_NEXT,
    LEAT_BEHAVIOR_CONTIGUOUS,
};

struct leat_split_step {
    enum leat_split_step_kind kind;
    enum leat_split_step_behavior behavior; /* of REGEX, STRING, CLASS */
    bool is_inverted; /* of the same: what is between matches counts as matches */
    const struct leat_scanner *scanner;
    leat_scan_fn *scan; /* the scanner's, for this machine */
    struct leat_regex *regex;
    uint32_t classes;  /* enum leat_unicode_class */
    uint32_t n_length; /* of LENGTH, in characters */
    uint8_t *bytes;    /* of STRING; the character of METASPACE */
    uint32_t n_bytes;
    enum leat_metaspace_scheme scheme;
};

static inline bool leat_split_step_rewrites(const struct leat_split_step *step) {
    return step->kind >= LEAT_SPLIT_STEP_PREFIX;
}

struct leat_split_steps {
    struct leat_split_step items[LEAT_SPLIT_STEPS_MAX];
    uint32_t n;
    bool is_byte_level; /* there was a last step BYTES, which is left out */
};

/* Reads a pre-tokenizer. 0, -ENOMEM, -EINVAL. To be freed in any case. */
int leat_split_steps_read(const struct leat_component *component,
                          struct leat_split_steps *ret_steps, struct leat_error *err);
void leat_split_steps_deinit(struct leat_split_steps *steps);

/* The steps in words, malloc'ed; NULL: out of memory. */
char *leat_split_steps_describe(const struct leat_split_steps *steps);
size_t leat_split_steps_n_bytes(const struct leat_split_steps *steps);

/* ---- carrying out the steps that rewrite (rewrite.c) */

/* Rewrites the pieces of `text`, together with what is between them; the pieces become ranges of
 * the result. starts_document: byte 0 of the text is the first of the document. 0, -ENOMEM, -E2BIG.
 */
int leat_split_step_rewrite(const struct leat_split_step *step, struct leat_range *pieces,
                            size_t n_pieces, bool starts_document,
                            struct leat_writer_memory *memory, struct leat_text_view *text);
