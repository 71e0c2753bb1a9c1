/* session.h: one trainer's connection, from HELLO to the release of its last batch.
 *
 *     HELLO -> WELCOMED -> OPENING (plan, on the pool) -> OPENED (run and ring are made) -> SERVING
 *        \________\___________\______________\_______________\-> LEAVING (GOAWAY was said; what it
 *         \________\___________\______________\_______________\     holds may still come back)
 *          \_______________________________________________________-> CLOSING
 *
 * Everything that happens goes through one step function; the state has one setter. A client is
 * believed nothing: a packet that is not expected ends its own session, and only that. A CLOSING
 * session lives until its socket is closed, its plan is back from the pool, and no slot is held in
 * its name: those of a process that lost its connection but lives are quarantined until it ends.
 * Owner: loop.
 */
#pragma once

#include "daemon/config/settings.h"
#include "daemon/log/log.h"
#include "daemon/stream/stream.h"
#include "daemon/trainer/delivery.h"
#include "daemon/users/peer.h"

enum leat_session_state {
    LEAT_SESSION_HELLO,
    LEAT_SESSION_WELCOMED,
    LEAT_SESSION_OPENING,
    LEAT_SESSION_OPENED,
    LEAT_SESSION_SERVING,
    LEAT_SESSION_LEAVING,
    LEAT_SESSION_CLOSING,
    LEAT_N_SESSION_STATES,
};

#define LEAT_SESSION_OUTBOX      32
#define LEAT_SESSION_CLIENT_NAME 64
#define LEAT_SESSION_RANK_SOURCE 16

#define LEAT_LOOKS_MAX 32 /* half a minute, see look.h */

/* Of a session, taken with that look at its stream. */
struct leat_session_look {
    uint64_t at_ns, n_batches, wait_ns, idle_ns, hold_ns;
};

struct leat_opening;
struct leat_share;

struct leat_session {
    struct leat_session *next, **link; /* of the daemon's sessions */
    struct leat_session *next_dirty;
    bool is_dirty;
    struct leat_daemon *daemon;
    uint64_t id;
    enum leat_session_state state;
    struct leat_peer peer;
    struct leat_user *user;
    struct leat_session_delivery *delivery;
    struct leat_opening *opening; /* on the pool */
    struct leat_daemon_stream *stream;
    struct leat_share *share;    /* once it is planned */
    struct leat_hub_session hub; /* what it wants of that, and holds */
    struct leat_account account; /* of the connection itself */
    struct leat_account copies;  /* memory of copies of batches, with copy delivery */
    bool refuses_descriptors;    /* the kernel lets none through */
    bool has_own_stream;         /* charged for it */
    bool is_peer_closed;
    bool is_finished; /* the last END was sent */
    uint64_t start_ns, deadline_ns;

    uint32_t window, rank, world_size;
    uint32_t local_rank, local_world_size;                /* on this machine; size 0: unknown */
    struct leat_hub_hold holds[LEAT_SETTINGS_MAX_WINDOW]; /* of hub */
    bool has_failed;   /* its run has, and it had all that was made */
    uint32_t n_outbox; /* taken from the hub, not yet announced */
    struct leat_feed_output outbox[LEAT_SESSION_OUTBOX];

    /* its stream is another one since a reload, or there is none: it gets nothing of this epoch */
    struct leat_session_change {
        bool is_set;
        uint64_t epoch;
    } change;
    int reload_fate; /* enum leat_reload_fate, by the reload that is about to be */

    /* it is on no run, as there is no room for its own */
    struct leat_session_room {
        uint64_t deadline_ns;    /* of the opening */
        uint64_t since_ns;       /* 0: not so */
        uint64_t returned_ns;    /* when others were last seen to give back memory, */
        uint64_t n_seen;         /* so much of it */
        struct leat_error error; /* why there is none */
    } room;
    uint64_t n_batches, next_epoch, next_step;
    uint64_t reached;                   /* the latest epoch that the trainer has begun, */
    bool says_reached;                  /* and says so */
    uint64_t seed;                      /* in force */
    uint64_t wait_start_ns;             /* it has credit and nothing is ready, since; 0: not so */
    uint64_t hold_start_ns;             /* it holds all that it may, since; 0: not so */
    uint64_t idle_start_ns;             /* it waits and holds nothing, since; 0: not so */
    uint64_t wait_ns, hold_ns, idle_ns; /* of these so far, but for what goes on */
    uint64_t serve_ns;                  /* since when it is served; 0: it is not */
    struct leat_session_look looks[LEAT_LOOKS_MAX];
    char *unit; /* see leat_process_unit(); NULL: not known */
    char client_name[LEAT_SESSION_CLIENT_NAME + 1];
    char rank_source[LEAT_SESSION_RANK_SOURCE + 1]; /* who said its rank, for the log */
};

/* Makes a session of a fresh connection; on failure too, the descriptor is taken care of. -EMFILE:
 * the caller should accept no more for now. */
int leat_session_accept(struct leat_daemon *daemon, int take_fd,
                        const struct leat_delivery_ops *delivery_ops);
/* Ends a fresh connection that becomes no session, and tells it why. err NULL: it is told nothing.
 */
void leat_session_turn_away(struct leat_daemon *daemon, int take_fd,
                            const struct leat_delivery_ops *delivery_ops,
                            const struct leat_error *err);

/* Ends it kindly: GOAWAY, and a while to give back what it holds. */
void leat_session_leave(struct leat_session *session, const struct leat_error *why);
/* Ends it now. */
void leat_session_close(struct leat_session *session);
/* Ends it now, and forgets what it holds: the daemon is about to end, and fills no slot any more.
 */
void leat_session_abandon(struct leat_session *session, const struct leat_error *why);
/* Tells its trainer something of which it does not end, if there is room in its socket. */
void leat_session_notify(struct leat_session *session, const struct leat_error *notice);
/* Ends what has waited too long for its client. */
void leat_session_tick(struct leat_session *session, uint64_t now_ns);

const char *leat_session_state_name(enum leat_session_state state);

/* From the delivery. A session may be CLOSING after each of them. */
void leat_session_on_packet(struct leat_session *session, const struct leat_packet *packet,
                            const void *payload);
void leat_session_on_end(struct leat_session *session, const struct leat_error *err);
void leat_session_on_writable(struct leat_session *session);
void leat_session_on_delivery_closed(struct leat_session *session);
bool leat_session_expects_payload(const struct leat_session *session);
bool leat_session_is_serving(const struct leat_session *session);

/* From the opening. */
void leat_session_on_planned(struct leat_session *session, struct leat_opening *opening);

/* From its share: the run that it begins with has slots, or (err) could not have any. */
void leat_session_on_started(struct leat_session *session, const struct leat_error *err);
/* There is no run for it. */
void leat_session_fail(struct leat_session *session, const struct leat_error *err);
/* There is no room for its run, for this reason: whether it may wait for some. */
bool leat_session_may_wait(struct leat_session *session, const struct leat_error *err);

static inline struct leat_session *leat_session_of(const struct leat_hub_session *hub) {
    return (struct leat_session *)(uintptr_t)((const char *)hub -
                                              offsetof(struct leat_session, hub));
}

/* Batches out (session_serve.c). Something may be there for it, soon it is looked. */
void leat_session_mark(struct leat_session *session);
void leat_session_unmark(struct leat_session *session);
/* Looks for the session that was marked last. */
void leat_session_flush_next(struct leat_daemon *daemon);
/* It takes no more batches; those that it was not told of are given back. */
void leat_session_stop(struct leat_session *session);
/* Forgets what the client holds, or keeps it until the process has ended. */
void leat_session_release_all(struct leat_session *session);
void leat_session_keep_holds(struct leat_session *session);
/* Changes (session_change.c). The first epoch of which it has taken nothing. */
uint64_t leat_session_fresh_epoch(const struct leat_session *session);
/* From that epoch on it has another stream, or none; or not, after all. */
void leat_session_set_change(struct leat_session *session, uint64_t epoch);
void leat_session_clear_change(struct leat_session *session);
/* It has all of the epochs before, and gets nothing of this stream any more. */
bool leat_session_is_at_change(const struct leat_session *session);
/* Tells it so, and lets it go. */
void leat_session_tell_change(struct leat_session *session);
/* The same at once, in the midst of an epoch: it cannot go on. */
void leat_session_tell_now(struct leat_session *session);
/* What session.c tells for it. */
void leat_session_refuse(struct leat_session *session, const struct leat_error *err);
void leat_session_log(struct leat_session *session, enum leat_event event,
                      const struct leat_error *err);
