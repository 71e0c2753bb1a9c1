/* session.c: the state machine of a trainer's connection. See session.h. */
#include "daemon/trainer/session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/net/socket_closer.h"
#include "daemon/stream/share.h"
#include "daemon/system/process.h"
#include "daemon/trainer/sessions.h"
#include "daemon/users/client_log.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"
#include "proto/base/list.h"

#define HELLO_NS      UINT64_C(10000000000) /* for HELLO, and for OPEN after it */
#define SESSION_BYTES (UINT64_C(128) << 10) /* with its socket and what it may send */
#define LEAVING_NS    UINT64_C(10000000000) /* to give back what is held after GOAWAY */

static const char *const state_names[LEAT_N_SESSION_STATES] = {
    [LEAT_SESSION_HELLO] = "hello",     [LEAT_SESSION_WELCOMED] = "welcomed",
    [LEAT_SESSION_OPENING] = "opening", [LEAT_SESSION_OPENED] = "opened",
    [LEAT_SESSION_SERVING] = "serving", [LEAT_SESSION_LEAVING] = "leaving",
    [LEAT_SESSION_CLOSING] = "closing",
};

const char *leat_session_state_name(enum leat_session_state state) {
    return state_names[state];
}

/* The one setter. A session never goes back to an earlier state. */
static void set_state(struct leat_session *session, enum leat_session_state state) {
    assert(state > session->state);
    assert(state >= LEAT_SESSION_LEAVING || state == session->state + 1);
    session->state = state;
}

/* ---- reports ---- */

void leat_session_log(struct leat_session *session, enum leat_event event,
                      const struct leat_error *err) {
    struct leat_sessions *sessions = session->sessions;
    char text[LEAT_ERROR_PRINT_MAX] = "";

    if (err)
        (void)leat_error_print(err, text, sizeof(text));
    leat_client_log_event(sessions->env, session->peer.uid, event,
                          (struct leat_log_field[]){
                              LEAT_LOG_N("session", session->id),
                              LEAT_LOG_N("uid", session->peer.uid),
                              LEAT_LOG_N("pid", session->peer.pid),
                              LEAT_LOG_F("client", session->client_name),
                              LEAT_LOG_F("stream", session->stream ? session->stream->name : ""),
                              LEAT_LOG_T("error", text),
                              LEAT_LOG_FIELDS_END,
                          });
}

/* Also says where the trainer starts, and where its rank comes from. */
static void log_opened(const struct leat_session *session) {
    leat_client_log_event(session->sessions->env, session->peer.uid, LEAT_EVENT_OPENED,
                          (struct leat_log_field[]){
                              LEAT_LOG_N("session", session->id),
                              LEAT_LOG_N("uid", session->peer.uid),
                              LEAT_LOG_N("pid", session->peer.pid),
                              LEAT_LOG_F("client", session->client_name),
                              LEAT_LOG_F("stream", session->stream->name),
                              LEAT_LOG_N("epoch", session->next_epoch),
                              LEAT_LOG_N("step", session->next_step),
                              LEAT_LOG_N("rank", session->rank),
                              LEAT_LOG_N("world_size", session->world_size),
                              LEAT_LOG_F("source", session->rank_source),
                              LEAT_LOG_FIELDS_END,
                          });
}

/* Sends REFUSE before OPENED and GOAWAY after it. If there is no room, the trainer only sees the
 * end of the connection. */
static void send_error(struct leat_session *session, const struct leat_error *err) {
    leat_delivery_send_error(
        session->delivery,
        session->state < LEAT_SESSION_SERVING ? LEAT_PACKET_REFUSE : LEAT_PACKET_GOAWAY, err);
}

/* ---- end ---- */

static void finish_if_closed(struct leat_session *session);

static void drop_account(struct leat_session *session) {
    leat_account_change(&session->account, LEAT_MEMORY_PROCESS, SESSION_BYTES, 0);
    leat_account_close(&session->account);
}

static void free_session(struct leat_session *session) {
    struct leat_sessions *sessions = session->sessions;

    LEAT_LIST_REMOVE(session);
    sessions->n_sessions--;
    drop_account(session);
    if (session->has_own_stream)
        leat_user_discharge(session->user, LEAT_CHARGE_STREAMS, 1);
    leat_user_discharge(session->user, LEAT_CHARGE_SESSIONS, 1);
    if (session->stream)
        leat_pool_stats_keep(session->stream->totals.pools, session->copies.pools);
    leat_account_close(&session->copies);
    leat_user_unref(session->user);
    leat_streams_unref(&sessions->feeds->streams, session->stream);
    leat_share_forget(&session->consumer);
    free(session->unit);
    free(session);
    leat_env_ended(sessions->env);
}

static void on_peer_closed(struct leat_peer *peer) {
    struct leat_session *session = LEAT_CONTAINER_OF(peer, struct leat_session, peer);

    session->is_peer_closed = true;
    finish_if_closed(session);
}

/* Frees the session in two steps: when the delivery is gone and no slot is held, its process is
 * watched no longer, and when that has ended the session goes. */
static void finish_if_closed(struct leat_session *session) {
    if (session->state != LEAT_SESSION_CLOSING || session->delivery ||
        session->consumer.reader.n_holds > 0)
        return;
    if (session->is_peer_closed)
        free_session(session);
    else
        leat_peer_close(&session->peer, on_peer_closed);
}

static void drop_opening(struct leat_session *session) {
    struct leat_opening *opening = session->opening;

    session->opening = NULL;
    if (!opening)
        return;
    opening->session = NULL; /* freed when it is back from the pool */
    if (!opening->wait.is_waiting)
        return;
    leat_memory_wait_cancel(session->sessions->feeds, &opening->wait);
    leat_opening_free(opening);
}

static void close_session(struct leat_session *session) {
    if (session->state == LEAT_SESSION_CLOSING)
        return;
    set_state(session, LEAT_SESSION_CLOSING);
    leat_session_stop(session);
    if (session->peer.is_dead || session->peer.pidfd < 0)
        leat_session_release_all(session);
    else
        leat_session_keep_holds(session);
    drop_opening(session);
    leat_session_log(session, LEAT_EVENT_CLOSED, NULL);
    session->delivery->ops->close(session->delivery);
}

void leat_session_abandon(struct leat_session *session, const struct leat_error *why) {
    if (session->state < LEAT_SESSION_LEAVING)
        send_error(session, why);
    close_session(session);
    leat_session_release_all(session);
    finish_if_closed(session);
}

void leat_session_leave(struct leat_session *session, const struct leat_error *why) {
    if (session->state >= LEAT_SESSION_LEAVING)
        return;
    send_error(session, why);
    if (session->state < LEAT_SESSION_SERVING) {
        close_session(session);
        return;
    }
    set_state(session, LEAT_SESSION_LEAVING);
    session->deadline_ns = leat_now_ns() + LEAVING_NS;
    leat_session_stop(session);
}

/* The client broke a rule. */
static void punish_client(struct leat_session *session, const struct leat_error *err) {
    session->sessions->n_refused++;
    leat_session_log(session, LEAT_EVENT_BAD_CLIENT, err);
    send_error(session, err);
    close_session(session);
}

void leat_session_refuse(struct leat_session *session, const struct leat_error *err) {
    session->sessions->n_refused++;
    leat_session_log(session, LEAT_EVENT_REFUSED, err);
    send_error(session, err);
    close_session(session);
}

/* ---- opening ---- */

static int send_opened(struct leat_session *session, struct leat_error *err) {
    struct leat_packet packet = {.kind = LEAT_PACKET_OPENED};
    uint8_t *payload = session->sessions->payload;
    size_t n_bytes;
    int r = leat_opening_reply(session->consumer.share->plan, session->seed, session->window,
                               session->world_size, payload, LEAT_PACKET_PAYLOAD_MAX, &n_bytes);

    if (r < 0)
        return leat_error_set(
            err, r,
            "the stream has too many tensors: the daemon cannot describe them in one packet");
    packet.payload_bytes = (uint32_t)n_bytes;
    r = session->delivery->ops->send(session->delivery, &packet, payload);
    if (r == 0)
        r = session->delivery->ops->start(session->delivery, session->window);
    return r < 0 ? leat_error_set(err, r, "the daemon cannot answer OPEN: %s", strerror(-r)) : 0;
}

void leat_session_serve(struct leat_session *session, const struct leat_error *failure) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->state != LEAT_SESSION_OPENED)
        return;
    if (failure || send_opened(session, &err) < 0) {
        leat_session_refuse(session, failure ? failure : &err);
        return;
    }
    set_state(session, LEAT_SESSION_SERVING);
    session->serve_ns = leat_now_ns();
    leat_daemon_stream_opened(session->stream);
    log_opened(session);
    leat_share_mark(&session->consumer);
}

/* Begins to read from a run that is there, or from its own. */
static void begin_reading(struct leat_session *session, struct leat_opening *opening) {
    struct leat_error err = opening->error;

    leat_opening_count(opening, 0);
    session->opening = NULL;
    set_state(session, LEAT_SESSION_OPENED);
    if (!err.code && !session->delivery->ops->keeps_slot)
        (void)leat_admission_open_copies(session->user, opening->plan, session->window,
                                         &session->copies, &err);
    leat_opening_free(opening);
    if (err.code) {
        leat_daemon_stream_fail(session->stream, &err, true, session->sessions->feeds->n_made);
        leat_session_refuse(session, &err);
        return;
    }
    leat_broadcast_wait(&session->consumer.reader);
    leat_share_act(session->consumer.share);
    if (leat_session_has_slots(session))
        leat_session_serve(session, NULL);
}

static void on_memory(struct leat_feeds *feeds, struct leat_memory_wait *wait) {
    struct leat_opening *opening = LEAT_CONTAINER_OF(wait, struct leat_opening, wait);

    (void)feeds;
    begin_reading(opening->session, opening);
}

/* The memory to wait for: none where the session can join a run. */
static uint64_t bytes_to_wait_for(const struct leat_session *session,
                                  const struct leat_opening *opening, uint64_t *ret_loaded) {
    struct leat_run_options options = leat_share_options_for(&session->consumer);

    if (leat_broadcast_could_place(&session->consumer.reader))
        return 0;
    return leat_admission_wait_bytes(&session->user->memory, opening->plan, &options,
                                     session->window, !session->delivery->ops->keeps_slot,
                                     ret_loaded);
}

static void on_planned(struct leat_session *session, struct leat_opening *opening) {
    uint64_t bytes = 0, loaded_bytes = 0;

    session->seed = opening->seed;
    session->window = opening->window;
    session->room.deadline_ns = leat_memory_wait_deadline_ns();
    if (!opening->error.code)
        (void)leat_session_join(session, opening, &opening->error);
    if (!opening->error.code)
        bytes = bytes_to_wait_for(session, opening, &loaded_bytes);
    if (bytes == 0 || loaded_bytes > leat_budget_user_free_bytes(&session->user->memory)) {
        begin_reading(session, opening);
        return;
    }
    leat_opening_count(opening, loaded_bytes);
    leat_memory_wait_start(session->sessions->feeds, &opening->wait, &session->user->memory,
                           bytes - loaded_bytes, session->room.deadline_ns, on_memory);
}

static void take_opening(struct leat_session *session, struct leat_opening *opening) {
    session->opening = opening;
    opening->session = session;
    opening->session_id = session->id;
    opening->on_planned = on_planned;
    session->has_own_stream = opening->has_own_stream;
    opening->has_own_stream = false;
    session->stream = leat_daemon_stream_ref(opening->stream);
    session->window = opening->window;
    session->rank = opening->rank;
    session->world_size = opening->world_size;
    session->local_rank = opening->local_rank;
    session->local_world_size = opening->local_world_size;
    session->next_epoch = opening->run_options.first_epoch;
    session->next_step = opening->run_options.first_step;
    memcpy(session->client_name, opening->client_name, sizeof(session->client_name));
    memcpy(session->rank_source, opening->rank_source, sizeof(session->rank_source));
}

/* ---- packets in ---- */

static int on_hello(struct leat_session *session, const struct leat_packet *packet,
                    const void *payload, struct leat_error *err) {
    struct leat_packet welcome = {
        .kind = LEAT_PACKET_WELCOME,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR,
                  .features = LEAT_FEATURE_JOINED,
                  .session = session->id},
    };

    (void)payload;
    if (packet->hello.magic != LEAT_PACKET_MAGIC)
        return leat_error_set(err, -EPROTO,
                              "HELLO begins with 0x%08x: the client is not a trainer of leat",
                              packet->hello.magic);
    if (packet->hello.major != LEAT_PROTOCOL_MAJOR)
        return leat_error_set(err, -EPROTONOSUPPORT,
                              "the client uses version %u.%u of the protocol, but this daemon uses "
                              "%d.%d: use versions with the same first number",
                              packet->hello.major, packet->hello.minor, LEAT_PROTOCOL_MAJOR,
                              LEAT_PROTOCOL_MINOR);
    if (session->sessions->env->is_draining)
        return leat_error_set(err, -ESHUTDOWN,
                              "this daemon is draining, and accepts no new trainers");
    session->says_reached = packet->hello.features & LEAT_FEATURE_REACHED;
    session->joins = packet->hello.features & LEAT_FEATURE_JOINED;
    set_state(session, LEAT_SESSION_WELCOMED);
    session->deadline_ns = leat_now_ns() + HELLO_NS;
    return session->delivery->ops->send(session->delivery, &welcome, NULL);
}

static int on_open(struct leat_session *session, const struct leat_packet *packet,
                   const void *payload, struct leat_error *err) {
    struct leat_opening *opening;
    int r;

    session->deadline_ns = 0;
    set_state(session, LEAT_SESSION_OPENING);
    if (!session->unit)
        session->unit = leat_process_unit(session->peer.pid);
    opening =
        leat_opening_new(session->sessions, session->user, payload, packet->payload_bytes, err);
    if (!opening)
        return err->code;
    take_opening(session, opening);
    r = leat_opening_start(opening, err);
    if (r < 0)
        session->opening = leat_opening_free(opening);
    return r;
}

/* All four numbers must be those of the announcement, so that a second RELEASE cannot free a later
 * batch in the same slot. */
static int on_release(struct leat_session *session, const struct leat_packet *packet,
                      const void *payload, struct leat_error *err) {
    (void)payload;
    if (!leat_broadcast_release(&session->consumer.reader, packet->batch.generation,
                                packet->batch.slot, packet->batch.epoch, packet->batch.step))
        return leat_error_set(err, -EPROTO,
                              "RELEASE names the batch with generation %llu, slot %u, epoch %llu, "
                              "step %llu, which is not held by this trainer",
                              (unsigned long long)packet->batch.generation, packet->batch.slot,
                              (unsigned long long)packet->batch.epoch,
                              (unsigned long long)packet->batch.step);
    leat_share_act(session->consumer.share);
    leat_share_mark(&session->consumer);
    return 0;
}

/* The trainer has taken a batch of that epoch. */
static int on_reached(struct leat_session *session, const struct leat_packet *packet,
                      const void *payload, struct leat_error *err) {
    uint64_t epoch = packet->batch.epoch;

    (void)payload;
    (void)err;
    if (epoch <= session->reached || epoch > session->next_epoch)
        return 0;
    session->reached = epoch;
    leat_share_mark(&session->consumer);
    return 0;
}

/* The client reads no batch any more. */
static int on_bye(struct leat_session *session, const struct leat_packet *packet,
                  const void *payload, struct leat_error *err) {
    (void)packet;
    (void)payload;
    (void)err;
    leat_session_release_all(session);
    close_session(session);
    return 0;
}

static const struct {
    uint16_t kind;
    bool has_payload;
    uint8_t states; /* in which it may come */
    int (*handle)(struct leat_session *, const struct leat_packet *, const void *,
                  struct leat_error *);
} rules[] = {
    {LEAT_PACKET_RELEASE, false, 1 << LEAT_SESSION_SERVING | 1 << LEAT_SESSION_LEAVING, on_release},
    {LEAT_PACKET_HELLO, false, 1 << LEAT_SESSION_HELLO, on_hello},
    {LEAT_PACKET_OPEN, true, 1 << LEAT_SESSION_WELCOMED, on_open},
    {LEAT_PACKET_REACHED, false, 1 << LEAT_SESSION_SERVING, on_reached},
    {LEAT_PACKET_BYE, false, 0xff, on_bye},
};

bool leat_session_expects_payload(const struct leat_session *session) {
    return session->state == LEAT_SESSION_WELCOMED;
}

bool leat_session_is_serving(const struct leat_session *session) {
    return session->state == LEAT_SESSION_SERVING || session->state == LEAT_SESSION_LEAVING;
}

static int handle_packet(struct leat_session *session, const struct leat_packet *packet,
                         const void *payload, struct leat_error *err) {
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        int r;

        if (rules[i].kind != packet->kind || !(rules[i].states & (1 << session->state)) ||
            (packet->payload_bytes > 0 && !rules[i].has_payload))
            continue;
        r = rules[i].handle(session, packet, payload, err);
        if (r < 0)
            leat_error_set(err, r, "%s", strerror(-r));
        return r;
    }
    if (packet->kind & 0x8000)
        return 0; /* of a later version, and marked as optional */
    return leat_error_set(err, -EPROTO,
                          "a packet of kind %u with %u bytes is not expected in state %s",
                          packet->kind, packet->payload_bytes, state_names[session->state]);
}

void leat_session_on_packet(struct leat_session *session, const struct leat_packet *packet,
                            const void *payload) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    if (session->state == LEAT_SESSION_CLOSING)
        return;
    r = handle_packet(session, packet, payload, &err);
    if (r == -EPROTO || r == -EPROTONOSUPPORT)
        punish_client(session, &err);
    else if (r < 0)
        leat_session_refuse(session, &err);
}

/* ---- from the delivery and the process ---- */

void leat_session_on_end(struct leat_session *session, const struct leat_error *err) {
    if (session->state == LEAT_SESSION_CLOSING)
        return;
    if (err->code == -EPROTO)
        punish_client(session, err);
    else
        close_session(session);
}

void leat_session_on_writable(struct leat_session *session) {
    leat_share_mark(&session->consumer);
}

void leat_session_on_delivery_closed(struct leat_session *session) {
    session->delivery->ops->free(session->delivery);
    session->delivery = NULL;
    finish_if_closed(session);
}

static void on_peer_death(struct leat_peer *peer) {
    struct leat_session *session = LEAT_CONTAINER_OF(peer, struct leat_session, peer);

    close_session(session);
    leat_session_release_all(session);
    finish_if_closed(session);
}

void leat_session_tick(struct leat_session *session, uint64_t now_ns) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_session_seek_room(session, now_ns);
    if (session->deadline_ns == 0 || now_ns < session->deadline_ns)
        return;
    session->deadline_ns = 0;
    if (session->state == LEAT_SESSION_LEAVING) {
        close_session(session);
    } else if (session->state <= LEAT_SESSION_WELCOMED) {
        leat_error_set(&err, -ETIMEDOUT, "the client sent nothing for 10 seconds in state %s",
                       state_names[session->state]);
        leat_session_refuse(session, &err);
    }
}

/* ---- beginning ---- */

void leat_session_turn_away(struct leat_sessions *sessions, int take_fd,
                            const struct leat_delivery_ops *delivery_ops,
                            const struct leat_error *err) {
    sessions->n_refused++;
    if (err)
        leat_delivery_refuse(take_fd, delivery_ops, err);
    leat_socket_closer_dispose(sessions->env->closer, take_fd);
}

static int charge_user(struct leat_session *session, struct leat_error *err) {
    int r;

    session->user = leat_users_get(session->sessions->env->users, session->peer.uid);
    if (!session->user)
        return leat_error_oom(err);
    (void)leat_account_open_of(&session->account, &session->user->memory, 0);
    r = leat_account_must_grow(&session->account, SESSION_BYTES)
            ? leat_user_charge(session->user, LEAT_CHARGE_SESSIONS, 1, err)
            : leat_admission_refuse_growth(session->user, "one more connection", SESSION_BYTES,
                                           err);
    leat_account_change(&session->account, LEAT_MEMORY_PROCESS, 0, SESSION_BYTES);
    return r;
}

/* Before the call nothing refers to the session; after it the session frees itself. */
static int start_session(struct leat_session *session, int take_fd,
                         const struct leat_delivery_ops *ops, struct leat_error *err) {
    int r = ops->open(session, take_fd, &session->delivery);

    if (r < 0) {
        leat_user_discharge(session->user, LEAT_CHARGE_SESSIONS, 1);
        return leat_error_set(err, r, "the daemon cannot watch a connection: %s", strerror(-r));
    }
    LEAT_LIST_ADD(&session->sessions->first, session);
    session->sessions->n_sessions++;
    r = leat_peer_watch(&session->peer, session->sessions->env->loop, take_fd, on_peer_death);
    if (r < 0)
        close_session(session);
    return r < 0 ? 1 : 0;
}

int leat_session_accept(struct leat_sessions *sessions, int take_fd,
                        const struct leat_delivery_ops *delivery_ops) {
    struct leat_session *session = calloc(1, sizeof(*session));
    struct leat_error err = LEAT_ERROR_INIT;
    bool refuses_descriptors = leat_socket_refuse_descriptors(take_fd);
    int r;

    if (session) {
        session->sessions = sessions;
        session->refuses_descriptors = refuses_descriptors;
        session->id = ++sessions->n_made;
        session->start_ns = leat_now_ns();
        session->deadline_ns = session->start_ns + HELLO_NS;
        r = leat_peer_identify(&session->peer, take_fd);
        if (r < 0)
            (void)leat_error_set(&err, r, "the daemon cannot find out which user has connected: %s",
                                 strerror(-r));
        else
            r = charge_user(session, &err);
        if (r == 0)
            r = start_session(session, take_fd, delivery_ops, &err);
        if (r >= 0)
            return r > 0 ? -EMFILE : 0;
        if (session->user) {
            leat_session_log(session, LEAT_EVENT_REFUSED, &err);
            drop_account(session);
        }
        leat_user_unref(session->user);
        free(session);
    } else {
        leat_error_oom(&err);
    }
    leat_session_turn_away(sessions, take_fd, delivery_ops, &err);
    return 0;
}
