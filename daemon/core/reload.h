/* reload.h: reads the configuration again, and replaces the present one if everything is right.
 *
 *     read (pool) -> look at each stream in use (pool, one after the other) -> replace (loop)
 *
 * A reload reads and checks what a start would, and any error leaves everything as it was. For each
 * stream in use it builds a plan of the new spec, and compares its digests with those that trainers
 * get now (struct leat_reload_inspection). So contents of tokenizers matter, but not how a spec is
 * written. Then everything is replaced at once, on the loop. Runs and sessions hold references to
 * the plans, specs and roots that they were made from, and go on.
 *
 * No trainer gets an epoch of two specs. All that read the same sequence, as the ranks of one
 * machine do, change at the same epoch: the first that none of them has begun. session_change.c
 * tells them then.
 *
 * One reload is under way at a time; the others are queued. Owner: loop; while the task is on the
 * pool the worker has all but `next` and `control`.
 */
#pragma once

#include "daemon/config/rights.h"
#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/stream.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

struct leat_arena;
struct leat_control;
struct leat_controls;
struct leat_endpoints;
struct leat_env;
struct leat_service;
struct leat_session;
struct leat_sessions;

/* All that determines a plan's batches, except the bytes of the data. */
struct leat_reload_identity {
    uint8_t spec_digest[LEAT_DIGEST_BYTES], skips_digest[LEAT_DIGEST_BYTES];
    uint8_t files_digest[LEAT_DIGEST_BYTES]; /* of the names of the files */
};

enum leat_reload_fate {
    LEAT_RELOAD_STAYS,    /* its stream is the same as before, or not a declared one */
    LEAT_RELOAD_AFRESH,   /* it has no plan yet, and gets one of the new spec */
    LEAT_RELOAD_FINISHES, /* it finishes its epoch, then goes on with the new stream */
    LEAT_RELOAD_ENDS,     /* it finishes its epoch; then there is no stream any more */
    LEAT_RELOAD_TOLD,     /* it is told at once, and ends */
    LEAT_N_RELOAD_FATES
};

/* A declared stream that is in use, or a trainer's variant of one, and what becomes of it. */
struct leat_reload_inspection {
    struct leat_daemon_stream *stream; /* a reference */
    const struct leat_spec *spec;      /* the new one; NULL: it is not declared any more */
    struct leat_spec *variant;         /* the same, if it was made for this */
    bool is_written_same;              /* the specs are equal, and in the same folder */
    bool may_fail;                     /* an error of the plan does not stop the reload */
    bool is_known;                     /* a plan could be built; `found` is its identity */
    struct leat_reload_identity found;
    uint32_t n_sessions, n_of[LEAT_N_RELOAD_FATES];
};

struct leat_reload {
    struct leat_task task;
    struct leat_reload *next;
    struct leat_reloads *reloads;
    struct leat_control *control; /* waits for the answer; NULL: none does */
    bool only_checks;
    struct leat_loading loading;
    struct leat_error error;

    struct leat_settings *settings; /* what was read, and what was made from it: */
    struct leat_streams streams;
    struct leat_roots *roots;
    struct leat_rights rights;
    struct leat_limits limits;
    size_t n_looks, next_look;
    struct leat_reload_inspection *looks;
};

/* All reloads, and what they change. */
struct leat_reloads {
    struct leat_env *env;
    struct leat_sessions *sessions;
    struct leat_controls *controls;
    struct leat_endpoints *endpoints;
    struct leat_service *service;
    const char *config_file;
    const struct leat_settings_overrides *overrides;
    struct leat_reload *first; /* under way; the queued ones follow */
};

/* For the verb `reload`: control is answered when the reload is over. */
void leat_reload_start(struct leat_reloads *reloads, struct leat_control *control,
                       bool only_checks);
/* For a signal: the result is only logged. */
void leat_reload_by_signal(struct leat_reloads *reloads);
/* The connection that waits for the answer is closed. */
void leat_reload_abandon(struct leat_control *control);

/* reload_inspect.c: finds streams in use that were not looked at yet. 0 or -ENOMEM. */
int leat_reload_find_streams(struct leat_reload *reload);
/* Looks at the next of them, on the pool. */
void leat_reload_inspect(struct leat_reload *reload);
/* When all were looked at: decides what becomes of each session, and counts that for each stream.
 */
void leat_reload_judge(struct leat_reload *reload);

/* reload_report.c: describes all changes, in the arena; NULL without memory. */
Leat__ReloadReply *leat_reload_report(const struct leat_reload *reload, struct leat_arena *arena);
/* True if the setting has the value that it has now. */
bool leat_reload_keeps(const struct leat_reload *reload, const struct leat_arg *arg);
/* True if the setting is in force from the next start on only. */
bool leat_reload_is_at_start(const struct leat_arg *arg);

/* `leatd --reload`, which `systemctl reload` runs: asks the running daemon for a
 * reload and waits for it. `leatctl reload` tells more, but belongs to another package. */
/* directory: of control.sock; NULL: where a daemon would make it. Blocks until the daemon has
 * answered. */
int leat_reload_ask(const char *directory, struct leat_error *err);
