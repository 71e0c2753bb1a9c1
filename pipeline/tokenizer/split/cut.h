/* cut.h: one step that cuts, at work on one piece of the text.
 *
 * Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/split/step.h"

struct leat_split_cut_item { /* a match, or what is between two */
    struct leat_range range;
    bool is_match;
};

struct leat_split_cut {
    const uint8_t *text;
    uint32_t at, end;
    /* Not of SCAN: */
    bool is_pending;  /* there may be words although `at` is the end */
    bool is_searched; /* there are no more matches */
    bool has_match;   /* `match` was found, but the item before it is due first */
    bool has_item;    /* `item` was put back */
    struct leat_range match;
    struct leat_split_cut_item item;
    uint32_t script; /* of SCRIPTS: the last one; 0: any */
    uint32_t base;   /* of REGEX: where the piece begins */
    struct leat_regex_search search;
    struct leat_regex_context *regex; /* the caller's */
    struct leat_error *err;           /* the caller's */
    int error;                        /* of REGEX: negative once it failed */
};

/* Starts on a piece, which must not be empty. */
void leat_split_cut_begin(struct leat_split_cut *cut, const struct leat_split_step *step,
                          const uint8_t *text, struct leat_range piece);

/* The next words, none of them empty, n_max (at least 1) at most; perhaps none. */
size_t leat_split_cut_next(struct leat_split_cut *cut, const struct leat_split_step *step,
                           struct leat_range *words, size_t n_max);

/* True if there are no more words, or cut->error is set. */
static inline bool leat_split_cut_is_done(const struct leat_split_cut *cut) {
    return cut->at >= cut->end && !cut->is_pending;
}
