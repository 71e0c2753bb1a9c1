/* exec/hand.h: one helper of a crew: its process, what it was asked, what it wrote besides
 * answers, and how all that is told in words.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/asked.h"
#include "pipeline/stages/exec/helper.h"

#define LEAT_EXEC_STRAY_MAX 160

struct leat_exec_hand {
    struct leat_helper helper;
    struct leat_exec_asked asked;
    uint32_t n_failures;    /* in a row without an answer */
    uint64_t since_ns;      /* its last answer, or when the oldest of its questions was asked */
    uint64_t start_ns;      /* not before */
    bool has_answered;      /* since it was started */
    bool is_open;           /* it was asked records, and no probe since */
    bool is_closing;        /* its stdout has ended, since since_ns, but it has not */
    bool starts_with_probe; /* it failed before */
    char stray[LEAT_EXEC_STRAY_MAX]; /* what it wrote since its last answer that is none; "" */
};

/* Room for n_ahead records and a probe. 0 or -ENOMEM. */
int leat_exec_hand_init(struct leat_exec_hand *hand, uint32_t n_ahead);
/* Kills it. */
void leat_exec_hand_deinit(struct leat_exec_hand *hand);
/* Kills it and forgets what it was asked. *ret_status: as of leat_helper_kill. */
void leat_exec_hand_kill(struct leat_exec_hand *hand, int *ret_status);

/* Lines that are no answers: not JSON; JSON without a tag; longer than allowed. */
void leat_exec_hand_note_broken(struct leat_exec_hand *hand, const char *line, size_t n_bytes,
                                const struct leat_error *fault);
void leat_exec_hand_note_kind(struct leat_exec_hand *hand, enum leat_json_kind kind);
void leat_exec_hand_note_long(struct leat_exec_hand *hand);
/* Appends what it wrote and said, if anything, to a text of that size. */
void leat_exec_hand_explain(struct leat_exec_hand *hand, char *text, size_t size);
