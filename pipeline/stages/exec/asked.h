/* exec/asked.h: what a helper was asked and has not answered, and to which of it a line
 * belongs.
 *
 * Each question carries a tag, a text of its own in the member `_leat`, that the answer repeats. So
 * nothing is ever taken for the answer to another record, whatever else is written to stdout.
 * Questions are answered in their order: a helper that answers one leaves none before it to be
 * answered.
 * Pure. Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/json.h"

#define LEAT_EXEC_TAG       "_leat"
#define LEAT_EXEC_TAG_BYTES 8
#define LEAT_EXEC_DROP      "_drop"    /* true in an answer: the record is left out */
#define LEAT_EXEC_PROBE     UINT32_MAX /* a question that is asked for its answer's place only */

struct leat_exec_question {
    uint32_t row; /* or LEAT_EXEC_PROBE */
    uint32_t tag;
};

struct leat_exec_asked {
    struct leat_exec_question *ring; /* [capacity], the oldest at `first` */
    uint32_t capacity, first, n;
    uint32_t n_ever;                /* tags are made of it */
    struct leat_exec_question last; /* that was answered, if has_last */
    bool has_last;
};

enum leat_exec_match {
    LEAT_EXEC_STRAY,    /* no tag: no answer */
    LEAT_EXEC_ANSWER,   /* to the question at *ret_place; those before it were passed over */
    LEAT_EXEC_AGAIN,    /* one more to the last that was answered */
    LEAT_EXEC_MISTAGGED /* to none that is left */
};

/* 0 or -ENOMEM. */
int leat_exec_asked_init(struct leat_exec_asked *asked, uint32_t capacity);
void leat_exec_asked_deinit(struct leat_exec_asked *asked);
/* None of them is waited for any more. */
void leat_exec_asked_clear(struct leat_exec_asked *asked);

/* The tag of a new question; there must be room. */
uint32_t leat_exec_asked_add(struct leat_exec_asked *asked, uint32_t row);
/* The oldest one, which is forgotten; is_answered: and may be answered again. */
struct leat_exec_question leat_exec_asked_take(struct leat_exec_asked *asked, bool is_answered);
/* The newest one, which is forgotten. */
struct leat_exec_question leat_exec_asked_take_back(struct leat_exec_asked *asked);

enum leat_exec_match leat_exec_asked_match(const struct leat_exec_asked *asked,
                                           struct leat_json_node line, uint32_t *ret_place);

/* As it stands between quotes. */
void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag);
