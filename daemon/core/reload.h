/* reload.h: the configuration read anew, and put in the place of the present one if all of it is
 * right.
 *
 *     read (pool) -> look at each stream in use (pool, one after the other) -> replace (loop)
 *
 * Read and checked is what a start would read and check; whatever is wrong, with file, line and
 * column, leaves all as it was. For each stream that is in use a plan of its new spec is built, and
 * what it would give is compared with what its trainers get (struct leat_reload_look): digests,
 * so that the contents of tokenizers count and how something is written does not. Then all is
 * replaced at once, between two turns of the loop. Runs and sessions hold what they were made of
 * (plans, specs' copies, roots), and do not notice.
 *
 * Trainers of a stream that has become another one never have an epoch of two specs. All that read
 * the same sequence (the ranks of one machine) change at the same epoch: the first that none of
 * them has begun. What happens there is session_change.c's.
 *
 * One is under way at a time, the others wait in line; what they find is what is there then.
 * Owner: loop; while the task is on the pool the worker has all but `next`, `control` and `daemon`.
 */
#pragma once

#include "daemon/config/rights.h"
#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/stream.h"
#include "proto/leat.pb-c.h"

struct leat_arena;
struct leat_control;
struct leat_daemon;
struct leat_session;

/* What a plan's batches are a function of, but for the data's bytes. */
struct leat_reload_identity {
    uint8_t spec_digest[LEAT_DIGEST_BYTES], skips_digest[LEAT_DIGEST_BYTES];
    uint8_t files_digest[LEAT_DIGEST_BYTES]; /* of the names of its files */
    int uneven;
};

enum leat_reload_fate {
    LEAT_RELOAD_STAYS,    /* a session of no declared stream, or of the same as before */
    LEAT_RELOAD_AFRESH,   /* it was not planned yet, and will be by what there is then */
    LEAT_RELOAD_FINISHES, /* its epoch, then it goes on with the new one */
    LEAT_RELOAD_ENDS,     /* the same, but there is none */
    LEAT_RELOAD_TOLD,     /* at once */
    LEAT_N_RELOAD_FATES
};

/* What becomes of a stream that is in use: a declared one, or one as a trainer wants it. */
struct leat_reload_look {
    struct leat_daemon_stream *stream; /* a reference */
    const struct leat_spec *spec;      /* the new one; NULL: there is none any more */
    struct leat_spec *variant;         /* the same, if it had to be made */
    bool is_written_same;              /* letter by letter, in the same folder */
    bool
        may_fail; /* that goes on whatever it finds: its data may be gone; or cannot be looked at */
    bool is_known;                     /* it could be planned: */
    struct leat_reload_identity found; /* what it gives */
    uint32_t n_sessions, n_of[LEAT_N_RELOAD_FATES];
};

struct leat_reload {
    struct leat_task task;
    struct leat_reload *next; /* of the daemon's */
    struct leat_daemon *daemon;
    struct leat_control *control; /* whose answer is waited for; NULL: nobody's */
    bool only_checks;
    struct leat_loading loading;
    struct leat_error error;

    struct leat_settings *settings; /* what was read, and what came of it: */
    struct leat_streams streams;
    struct leat_roots *roots;
    struct leat_rights rights;
    struct leat_limits limits;
    size_t n_looks, next_look;
    struct leat_reload_look *looks;
};

void leat_reload_start(struct leat_control *control, bool only_checks);
/* Nobody waits for it; what it says is logged. */
void leat_reload_by_signal(struct leat_daemon *daemon);
/* Its asker has gone. */
void leat_reload_abandon(struct leat_control *control);

/* reload_look.c: finds the streams that are in use and were not looked at: 0 or -ENOMEM. */
int leat_reload_find_streams(struct leat_reload *reload);
/* On the pool: looks at the next one. */
void leat_reload_look(struct leat_reload *reload);
/* When all were looked at: what becomes of each session, and how many of each look those are. */
void leat_reload_judge(struct leat_reload *reload);

/* reload_report.c: what would happen, in words: NULL when memory is out; lives in the arena. */
Leat__ReloadReply *leat_reload_report(const struct leat_reload *reload, struct leat_arena *arena);
/* reload_apply.c: whether the setting has the value that it has now. */
bool leat_reload_keeps(const struct leat_reload *reload, const struct leat_arg *arg);
/* Whether it has to wait for the next start. */
bool leat_reload_is_at_start(const struct leat_arg *arg);
/* Puts all in its place. */
void leat_reload_apply(struct leat_reload *reload);
