/* exec/worker.h: one process of a pool, the records that are pending there, and what it wrote
 * besides answers.
 *
 * Each record carries a tag, a text in the member `_leat`, that its answer repeats. Records are
 * answered in their order: an answer leaves no earlier record pending.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/helper.h"
#include "pipeline/tokenizer/json.h"

#define LEAT_EXEC_TAG       "_leat"
#define LEAT_EXEC_TAG_BYTES 8
#define LEAT_EXEC_DROP      "_drop"    /* true in an answer: the record is left out */
#define LEAT_EXEC_CANARY    UINT32_MAX /* the row of the canary (pool.h) */
#define LEAT_EXEC_STRAY_MAX 160

struct leat_exec_pending {
    struct leat_exec_question {
        uint32_t row; /* or LEAT_EXEC_CANARY */
        uint32_t tag;
    } * ring; /* [capacity], the oldest at `first` */
    uint32_t capacity, first, n;
    uint32_t n_ever;                /* tags are made of it */
    struct leat_exec_question last; /* the last that was answered, if has_last */
    bool has_last;
};

enum leat_exec_match {
    LEAT_EXEC_STRAY,    /* the line has no tag: it is no answer */
    LEAT_EXEC_ANSWER,   /* to the question at *ret_place; those before it were passed over */
    LEAT_EXEC_AGAIN,    /* a second answer to pending->last */
    LEAT_EXEC_MISTAGGED /* the tag is of no question that can be answered */
};

/* 0 or -ENOMEM. */
int leat_exec_pending_init(struct leat_exec_pending *pending, uint32_t capacity);
void leat_exec_pending_deinit(struct leat_exec_pending *pending);
void leat_exec_pending_clear(struct leat_exec_pending *pending);
/* Returns the tag of the question. There must be room. */
uint32_t leat_exec_pending_add(struct leat_exec_pending *pending, uint32_t row);
/* Removes the oldest question, which becomes the last one, and returns its row. */
uint32_t leat_exec_pending_take(struct leat_exec_pending *pending);
/* Removes the newest question and returns its row. */
uint32_t leat_exec_pending_take_back(struct leat_exec_pending *pending);
enum leat_exec_match leat_exec_pending_match(const struct leat_exec_pending *pending,
                                             struct leat_json_node line, uint32_t *ret_place);
/* Writes the tag as it stands between quotes. */
void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag);

struct leat_exec_worker {
    struct leat_helper helper;
    struct leat_exec_pending pending;
    uint32_t n_failures; /* in a row without an answer */
    uint64_t since_ns;   /* of the last answer, or of the oldest question if that is later */
    uint64_t start_ns;   /* it is not started before */
    bool has_answered;   /* since it was started */
    bool is_open;        /* it was asked records, and no canary since */
    bool is_closing;     /* its stdout has ended at since_ns, but the process has not */
    char stray[LEAT_EXEC_STRAY_MAX]; /* the last line since its last answer that is none; or "" */
};

/* Makes room for n_pending records and a canary. 0 or -ENOMEM. */
int leat_exec_worker_init(struct leat_exec_worker *worker, uint32_t n_pending);
/* Kills the process. */
void leat_exec_worker_deinit(struct leat_exec_worker *worker);
/* Kills the process and forgets what was pending. *ret_status: as of leat_helper_kill. */
void leat_exec_worker_kill(struct leat_exec_worker *worker, int *ret_status);
/* Keeps a line that is not JSON as `stray`. */
void leat_exec_worker_note_broken(struct leat_exec_worker *worker, const char *line, size_t n_bytes,
                                  const struct leat_error *fault);
/* Writes "; it wrote ..; it said: .." to the text, if it did. */
void leat_exec_worker_explain(struct leat_exec_worker *worker, char *text, size_t size);
