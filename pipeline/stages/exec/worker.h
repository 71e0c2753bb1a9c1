/* exec/worker.h: one worker of a pool: its process, the records that it was asked and has not
 * answered (pending), and what it wrote besides answers.
 *
 * Each record is asked with a tag, a text in the member `_leat`, that the answer repeats. So
 * nothing is ever taken for the answer to another record, whatever else is written to stdout.
 * Records are answered in their order: one that is answered leaves none before it to be answered.
 * Owner: the job.
 */
#pragma once

#include "pipeline/stages/exec/helper.h"
#include "pipeline/tokenizer/json.h"

#define LEAT_EXEC_TAG       "_leat"
#define LEAT_EXEC_TAG_BYTES 8
#define LEAT_EXEC_DROP      "_drop"    /* true in an answer: the record is left out */
#define LEAT_EXEC_CANARY    UINT32_MAX /* the row of a record that is asked once more (pool.h) */
#define LEAT_EXEC_STRAY_MAX 160

struct leat_exec_pending {
    struct {
        uint32_t row; /* or LEAT_EXEC_CANARY */
        uint32_t tag;
    } * ring;                    /* [capacity], the oldest at `first` */
    uint32_t capacity, first, n; /* n below capacity: there is room */
    uint32_t n_ever;             /* tags are made of it */
};

enum leat_exec_match {
    LEAT_EXEC_STRAY,    /* no tag: no answer */
    LEAT_EXEC_ANSWER,   /* to the one at *ret_place; those before it were passed over */
    LEAT_EXEC_MISTAGGED /* to none that is pending */
};

/* 0 or -ENOMEM. */
int leat_exec_pending_init(struct leat_exec_pending *pending, uint32_t capacity);
void leat_exec_pending_deinit(struct leat_exec_pending *pending);
/* Returns the tag; there must be room. */
uint32_t leat_exec_pending_add(struct leat_exec_pending *pending, uint32_t row);
/* The row of the oldest, of the newest; it is no longer pending. */
uint32_t leat_exec_pending_take(struct leat_exec_pending *pending);
uint32_t leat_exec_pending_take_back(struct leat_exec_pending *pending);
/* True if the newest is a record, and not the canary. */
bool leat_exec_pending_ends_with_record(const struct leat_exec_pending *pending);
enum leat_exec_match leat_exec_pending_match(const struct leat_exec_pending *pending,
                                             struct leat_json_node line, uint32_t *ret_place);
/* The tag as it stands between quotes. */
void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag);

struct leat_exec_worker {
    struct leat_helper helper;
    struct leat_exec_pending pending;
    uint32_t n_failures; /* in a row without an answer */
    uint64_t since_ns;   /* its last answer, or when the oldest of what is pending was asked */
    uint64_t start_ns;   /* not before */
    bool has_answered;   /* since it was started */
    char stray[LEAT_EXEC_STRAY_MAX]; /* what it wrote since its last answer that is none; "" */
};

/* Room for n_ahead records and a canary. 0 or -ENOMEM. */
int leat_exec_worker_init(struct leat_exec_worker *worker, uint32_t n_ahead);
/* Kills it. */
void leat_exec_worker_deinit(struct leat_exec_worker *worker);
/* Kills it and forgets what was pending. *ret_status: as of leat_helper_kill. */
void leat_exec_worker_kill(struct leat_exec_worker *worker, int *ret_status);

/* Keeps a line that is no answer. fault: why it is not JSON; NULL: it is. */
void leat_exec_worker_note(struct leat_exec_worker *worker, const char *line, size_t n_bytes,
                           const struct leat_error *fault);
/* The same for a line that is longer than allowed. */
void leat_exec_worker_note_long(struct leat_exec_worker *worker);
