/* session.h: one trainer's connection, from HELLO to the release of its last batch.
 *
 *     HELLO -> WELCOMED -> OPENING (plan, on the pool) -> OPENED (run and ring are made) -> SERVING
 *        \________\___________\______________\_______________\-> LEAVING (GOAWAY was said; what it
 *         \________\___________\______________\_______________\     holds may still come back)
 *          \_______________________________________________________-> CLOSING
 *
 * Every packet goes through one step function, and the state has one setter. No client is trusted:
 * an unexpected packet ends its own session and no other. A CLOSING session lives until its socket
 * is closed, its plan is back from the pool, and it holds no slot. Slots that a live process held
 * when it lost its connection are quarantined until that process ends.
 * Owner: loop.
 */
#pragma once

#include "daemon/config/settings.h"
#include "daemon/log/log.h"
#include "daemon/stream/consumer.h"
#include "daemon/stream/stream.h"
#include "daemon/trainer/delivery.h"
#include "daemon/trainer/opening.h"
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

#define LEAT_SESSION_OUTBOX 32

#define LEAT_VERDICT_SAMPLES_MAX 32 /* of half a minute, see verdict_samples.h */

/* The counters of a session, taken with a sample of its stream. */
struct leat_session_sample {
    uint64_t at_ns, n_batches, wait_ns, idle_ns, hold_ns;
};

struct leat_session {
    struct leat_session *next, **link; /* of the daemon's sessions */
    struct leat_sessions *sessions;
    uint64_t id;
    enum leat_session_state state;
    struct leat_peer peer;
    struct leat_user *user;
    struct leat_session_delivery *delivery;
    struct leat_opening *opening; /* on the pool */
    struct leat_daemon_stream *stream;
    struct leat_consumer consumer; /* of its share, once its stream is planned */
    struct leat_account account;   /* of the connection itself */
    struct leat_account copies;    /* of copies of batches, with copy delivery */
    bool refuses_descriptors;      /* the kernel lets none through */
    bool has_own_stream;           /* that its user is charged for */
    bool is_peer_closed;
    bool is_finished; /* the last END was sent */
    uint64_t start_ns, deadline_ns;

    uint32_t window, rank, world_size;
    uint32_t local_rank, local_world_size; /* on this machine; size 0: unknown */
    struct leat_broadcast_hold holds[LEAT_SETTINGS_MAX_WINDOW]; /* of its reader */
    bool has_failed;   /* its run has failed, and it has taken all that was made */
    uint32_t n_outbox; /* taken from its share, and not announced yet */
    struct leat_feed_output outbox[LEAT_SESSION_OUTBOX];

    /* A reload changed or removed its stream: it gets nothing from this epoch on. */
    struct leat_session_change {
        bool is_set;
        uint64_t epoch;
    } change;
    int reload_fate; /* enum leat_reload_fate, under the reload in progress */

    struct leat_session_room {   /* the wait for memory for a run of its own */
        uint64_t deadline_ns;    /* of the opening */
        uint64_t since_ns;       /* 0: it does not wait */
        uint64_t returned_ns;    /* when others were last seen to give back memory, */
        uint64_t n_seen;         /* and the count of bytes returned by then */
        struct leat_error error; /* why it has to wait */
    } room;
    uint64_t n_batches, next_epoch, next_step;
    uint64_t reached;                   /* the latest epoch that the trainer has begun */
    bool says_reached;                  /* its client reports that, with REACHED */
    bool joins;                         /* its client takes and sends joined packets */
    uint64_t seed;                      /* in force */
    uint64_t wait_start_ns;             /* since then it has credit and nothing is ready; or 0 */
    uint64_t hold_start_ns;             /* since then it holds all that it may; or 0 */
    uint64_t idle_start_ns;             /* since then it waits and holds nothing; or 0 */
    uint64_t wait_ns, hold_ns, idle_ns; /* the sums of such times, without the present ones */
    uint64_t serve_ns;                  /* when serving began; 0: it is not served */
    struct leat_session_sample samples[LEAT_VERDICT_SAMPLES_MAX];
    char *unit; /* see leat_process_unit(); NULL: not known */
    char client_name[LEAT_OPENING_CLIENT_NAME + 1];
    char rank_source[LEAT_OPENING_RANK_SOURCE + 1]; /* which variable its rank came from */
};

/* Makes a session of a fresh connection, and takes over the descriptor even if it fails. -EMFILE:
 * no further connection should be accepted for now. */
int leat_session_accept(struct leat_sessions *sessions, int take_fd,
                        const struct leat_delivery_ops *delivery_ops);
/* Ends a fresh connection that becomes no session, and sends the reason unless err is NULL. */
void leat_session_turn_away(struct leat_sessions *sessions, int take_fd,
                            const struct leat_delivery_ops *delivery_ops,
                            const struct leat_error *err);

/* Sends GOAWAY, and leaves the trainer time to release what it holds. */
void leat_session_leave(struct leat_session *session, const struct leat_error *why);
/* Ends it now and forgets what it holds: the daemon ends, and fills no slot any more. */
void leat_session_abandon(struct leat_session *session, const struct leat_error *why);
/* Ends it with REFUSE: the trainer asked for something that it cannot have. */
void leat_session_refuse(struct leat_session *session, const struct leat_error *err);
/* Ends it because its stream failed, or no run can be made for it. */
void leat_session_fail(struct leat_session *session, const struct leat_error *err);
/* Ends what has waited too long for its client or for memory. */
void leat_session_tick(struct leat_session *session, uint64_t now_ns);

const char *leat_session_state_name(enum leat_session_state state);
void leat_session_log(struct leat_session *session, enum leat_event event,
                      const struct leat_error *err);

/* From the delivery. A session may be CLOSING after each of them. */
void leat_session_on_packet(struct leat_session *session, const struct leat_packet *packet,
                            const void *payload);
void leat_session_on_end(struct leat_session *session, const struct leat_error *err);
void leat_session_on_writable(struct leat_session *session);
void leat_session_on_delivery_closed(struct leat_session *session);
bool leat_session_expects_payload(const struct leat_session *session);
bool leat_session_is_serving(const struct leat_session *session);

/* The first run has slots, or (err) could not get any: OPENED or REFUSE goes out. */
void leat_session_serve(struct leat_session *session, const struct leat_error *err);

/* session_consumer.c: joins the share of the opening's stream. 0 or -ENOMEM. */
int leat_session_join(struct leat_session *session, const struct leat_opening *opening,
                      struct leat_error *err);
/* True if its run has a ring. */
bool leat_session_has_slots(const struct leat_session *session);
/* Tries again to get a run, if memory was short; gives up after a while. */
void leat_session_seek_room(struct leat_session *session, uint64_t now_ns);

/* session_serve.c: announces what is ready. */
void leat_session_flush(struct leat_session *session);
/* Takes no more batches, and gives back those that were not announced. */
void leat_session_stop(struct leat_session *session);
/* Forgets what the client holds, or quarantines it until the process has ended. */
void leat_session_release_all(struct leat_session *session);
void leat_session_keep_holds(struct leat_session *session);

/* session_change.c: the first epoch of which it has taken nothing. */
uint64_t leat_session_fresh_epoch(const struct leat_session *session);
/* Its stream is another one, or none, from that epoch on; or stays what it is, after all. */
void leat_session_set_change(struct leat_session *session, uint64_t epoch);
void leat_session_clear_change(struct leat_session *session);
/* True if it has taken all epochs before the change. */
bool leat_session_is_at_change(const struct leat_session *session);
/* Tells the trainer of the change at the end of an epoch, and lets the session go. */
void leat_session_tell_change(struct leat_session *session);
/* Tells it in the midst of an epoch that it cannot go on. */
void leat_session_tell_now(struct leat_session *session);
