/* session.c: the state machine of a trainer's connection. See session.h. */
#include "daemon/trainer/session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/core/daemon.h"
#include "daemon/stream/share.h"
#include "daemon/system/process.h"
#include "daemon/trainer/opening.h"
#include "daemon/trainer/session_log.h"

#define ROOM_NS       UINT64_C(60000000000) /* that one waits for memory at most, */
#define ROOM_IDLE_NS  UINT64_C(10000000000) /* while nobody gives back anything */
#define HELLO_NS      UINT64_C(10000000000) /* for HELLO and for OPEN, each */
#define SESSION_BYTES (UINT64_C(128) << 10) /* itself, its socket, what it may say */
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

/* The one setter: a session only ever moves on. */
static void set_state(struct leat_session *session, enum leat_session_state state) {
    assert(state > session->state);
    assert(state >= LEAT_SESSION_LEAVING || state == session->state + 1);
    session->state = state;
}

/* ---- telling ---- */

void leat_session_log(struct leat_session *session, enum leat_event event,
                      const struct leat_error *err) {
    struct leat_daemon *daemon = session->daemon;
    char text[LEAT_ERROR_PRINT_MAX] = "";

    if (err)
        (void)leat_error_print(err, text, sizeof(text));
    leat_daemon_log_client(daemon, session->peer.uid, event,
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

/* REFUSE before OPENED, GOAWAY behind it. If there is no room the end of the connection must do. */
static void send_error(struct leat_session *session, const struct leat_error *err) {
    enum leat_packet_kind kind =
        session->state < LEAT_SESSION_SERVING ? LEAT_PACKET_REFUSE : LEAT_PACKET_GOAWAY;
    uint8_t payload[LEAT_DELIVERY_ERROR_MAX];
    struct leat_packet packet;

    if (leat_delivery_error_packet(kind, err, &packet, payload) == 0)
        (void)session->delivery->ops->send(session->delivery, &packet, payload);
}

void leat_session_notify(struct leat_session *session, const struct leat_error *notice) {
    uint8_t payload[LEAT_DELIVERY_ERROR_MAX];
    struct leat_packet packet;

    if (session->state == LEAT_SESSION_SERVING &&
        leat_delivery_error_packet(LEAT_PACKET_NOTICE, notice, &packet, payload) == 0)
        (void)session->delivery->ops->send(session->delivery, &packet, payload);
}

/* ---- end ---- */

static void finish_if_closed(struct leat_session *session);

static void drop_account(struct leat_session *session) {
    leat_account_change(&session->account, LEAT_MEMORY_PROCESS, SESSION_BYTES, 0);
    leat_account_close(&session->account);
}

static void free_session(struct leat_session *session) {
    struct leat_daemon *daemon = session->daemon;

    *session->link = session->next;
    if (session->next)
        session->next->link = session->link;
    daemon->n_sessions--;
    drop_account(session);
    if (session->has_own_stream)
        leat_user_discharge(session->user, LEAT_CHARGE_STREAMS, 1);
    leat_user_discharge(session->user, LEAT_CHARGE_SESSIONS, 1);
    if (session->stream)
        leat_pool_stats_keep(session->stream->totals.pools, session->copies.pools);
    leat_account_close(&session->copies);
    leat_user_unref(session->user);
    leat_streams_unref(&daemon->streams, session->stream);
    leat_session_unmark(session);
    leat_share_unref(session->share);
    free(session->unit);
    free(session);
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        leat_listener_resume(&daemon->listeners[i]);
    leat_daemon_on_ended(daemon);
}

static void on_peer_closed(struct leat_peer *peer) {
    struct leat_session *session =
        (struct leat_session *)((char *)peer - offsetof(struct leat_session, peer));

    session->is_peer_closed = true;
    finish_if_closed(session);
}

/* The delivery is gone, no slot is held: then the process need not be watched any longer, and after
 * that nothing keeps the session. */
static void finish_if_closed(struct leat_session *session) {
    if (session->state != LEAT_SESSION_CLOSING || session->delivery || session->hub.n_holds > 0)
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
    leat_memory_wait_cancel(session->daemon, &opening->wait);
    leat_opening_free(opening);
}

void leat_session_close(struct leat_session *session) {
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
    leat_session_close(session);
    leat_session_release_all(session);
    finish_if_closed(session);
}

void leat_session_leave(struct leat_session *session, const struct leat_error *why) {
    if (session->state >= LEAT_SESSION_LEAVING)
        return;
    send_error(session, why);
    if (session->state < LEAT_SESSION_SERVING) {
        leat_session_close(session);
        return;
    }
    set_state(session, LEAT_SESSION_LEAVING);
    session->deadline_ns = leat_daemon_now_ns() + LEAVING_NS;
    leat_session_stop(session);
}

/* The client broke a rule. */
static void punish(struct leat_session *session, const struct leat_error *err) {
    session->daemon->n_refused++;
    leat_session_log(session, LEAT_EVENT_BAD_CLIENT, err);
    send_error(session, err);
    leat_session_close(session);
}

/* The client asked for what it cannot have. */
void leat_session_refuse(struct leat_session *session, const struct leat_error *err) {
    session->daemon->n_refused++;
    leat_session_log(session, LEAT_EVENT_REFUSED, err);
    send_error(session, err);
    leat_session_close(session);
}

/* ---- opening ---- */

static int send_opened(struct leat_session *session, struct leat_error *err) {
    struct leat_packet packet = {.kind = LEAT_PACKET_OPENED};
    uint8_t *payload = session->daemon->payload;
    size_t n_bytes;
    int r = leat_opening_reply(session->share->plan, session->seed, session->window,
                               session->world_size, payload, LEAT_PACKET_PAYLOAD_MAX, &n_bytes);

    if (r < 0)
        return leat_error_set(err, r, "the stream has more tensors than OPENED can describe");
    packet.payload_bytes = (uint32_t)n_bytes;
    r = session->delivery->ops->send(session->delivery, &packet, payload);
    if (r == 0)
        r = session->delivery->ops->start(session->delivery, session->window);
    return r < 0 ? leat_error_set(err, r, "answering OPEN: %s", strerror(-r)) : 0;
}

void leat_session_on_started(struct leat_session *session, const struct leat_error *failure) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (failure)
        session->room.error = *failure;
    if (session->state != LEAT_SESSION_OPENED)
        return;
    if (failure || send_opened(session, &err) < 0) {
        leat_session_refuse(session, failure ? failure : &err);
        return;
    }
    set_state(session, LEAT_SESSION_SERVING);
    session->serve_ns = leat_daemon_now_ns();
    leat_daemon_stream_opened(session->stream);
    leat_session_log_opened(session);
    leat_session_mark(session);
}

void leat_session_fail(struct leat_session *session, const struct leat_error *err) {
    struct leat_error copy = *err;

    if (session->state == LEAT_SESSION_OPENED) {
        leat_session_refuse(session, &copy);
        return;
    }
    (void)leat_error_print(err, session->stream->totals.last_error,
                           sizeof(session->stream->totals.last_error));
    leat_session_log(session, LEAT_EVENT_STREAM_FAILED, &copy);
    leat_session_leave(session, &copy);
}

/* Ranks of one machine follow each other; where they do not, as nobody says or a launcher deals
 * them out in another way, each is alone. */
static void choose_ranks(const struct leat_session *session, struct leat_hub_session *hub) {
    uint32_t n = session->local_world_size, first = session->rank - session->local_rank;
    bool is_known = n > 0 && session->local_rank < n && session->local_rank <= session->rank &&
                    n <= session->world_size && first <= session->world_size - n;

    hub->rank = session->rank;
    hub->first_rank = is_known ? first : session->rank;
    hub->n_ranks = is_known ? n : 1;
}

static void join_share(struct leat_session *session, struct leat_opening *opening) {
    const struct leat_run_options *options = &opening->run_options;

    session->share = leat_share_get(opening);
    if (!session->share) {
        leat_error_oom(&opening->error);
        return;
    }
    session->hub = (struct leat_hub_session){
        .next = {options->first_epoch, options->first_step},
        .phase = options->round_phase,
        .n_epochs = options->n_epochs,
        .n_left = options->n_steps ? options->n_steps : LEAT_HUB_NO_LIMIT,
        .window = session->window,
        .holds = session->holds,
    };
    choose_ranks(session, &session->hub);
    leat_hub_join(&session->share->hub, &session->hub);
    session->reached = session->hub.next.epoch;
}

/* On a run that is there, or its own. */
static void begin(struct leat_session *session, struct leat_opening *opening) {
    struct leat_error err = opening->error;

    leat_opening_count(opening, 0);
    session->opening = NULL;
    set_state(session, LEAT_SESSION_OPENED);
    if (!err.code && !session->delivery->ops->keeps_slot)
        (void)leat_admission_open_copies(session->user, opening->plan, session->window,
                                         &session->copies, &err);
    leat_opening_free(opening);
    if (err.code) {
        leat_daemon_stream_fail(session->stream, &err, true, session->daemon->next_feed);
        leat_session_refuse(session, &err);
        return;
    }
    leat_hub_wait(&session->hub);
    leat_share_act(session->share);
    if (session->hub.run && leat_feed_of(session->hub.run)->state != LEAT_FEED_STARTING)
        leat_session_on_started(session, NULL);
}

static void on_memory(struct leat_daemon *daemon, struct leat_memory_wait *wait) {
    struct leat_opening *opening =
        (struct leat_opening *)((char *)wait - offsetof(struct leat_opening, wait));

    (void)daemon;
    begin(opening->session, opening);
}

/* Memory that is worth waiting for; where a run is there, only that of copies. */
static uint64_t bytes_to_wait_for(const struct leat_session *session,
                                  const struct leat_opening *opening, uint64_t *ret_loaded) {
    if (leat_hub_could_place(&session->hub))
        return 0;
    return leat_admission_wait_bytes(session->daemon, &session->user->memory, opening->plan,
                                     session->window, !session->delivery->ops->keeps_slot,
                                     ret_loaded);
}

void leat_session_on_planned(struct leat_session *session, struct leat_opening *opening) {
    uint64_t bytes = 0, loaded_bytes = 0;

    session->room.deadline_ns = leat_memory_wait_deadline_ns();
    if (!opening->error.code) {
        leat_opening_fit_window(opening, session);
        join_share(session, opening);
    }
    if (!opening->error.code)
        bytes = bytes_to_wait_for(session, opening, &loaded_bytes);
    if (bytes == 0 || loaded_bytes > leat_budget_user_free_bytes(&session->user->memory)) {
        begin(session, opening);
        return;
    }
    leat_opening_count(opening, loaded_bytes);
    leat_memory_wait_start(session->daemon, &opening->wait, &session->user->memory,
                           bytes - loaded_bytes, session->room.deadline_ns, on_memory);
}

/* ---- packets in ---- */

static int on_hello(struct leat_session *session, const struct leat_packet *packet,
                    const void *payload, struct leat_error *err) {
    struct leat_packet welcome = {
        .kind = LEAT_PACKET_WELCOME,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR,
                  .session = session->id},
    };

    (void)payload;
    if (packet->hello.magic != LEAT_PACKET_MAGIC)
        return leat_error_set(err, -EPROTO, "HELLO has the magic 0x%08x: this is no leat client",
                              packet->hello.magic);
    if (packet->hello.major != LEAT_PROTOCOL_MAJOR)
        return leat_error_set(err, -EPROTONOSUPPORT,
                              "the client speaks protocol %u.%u, this daemon %d.%d: use versions "
                              "with the same first number",
                              packet->hello.major, packet->hello.minor, LEAT_PROTOCOL_MAJOR,
                              LEAT_PROTOCOL_MINOR);
    if (session->daemon->is_draining)
        return leat_error_set(err, -ESHUTDOWN, "this daemon is draining: it takes no new sessions");
    session->says_reached = packet->hello.features & LEAT_FEATURE_REACHED;
    set_state(session, LEAT_SESSION_WELCOMED);
    session->deadline_ns = leat_daemon_now_ns() + HELLO_NS;
    return session->delivery->ops->send(session->delivery, &welcome, NULL);
}

static int on_open(struct leat_session *session, const struct leat_packet *packet,
                   const void *payload, struct leat_error *err) {
    session->deadline_ns = 0;
    set_state(session, LEAT_SESSION_OPENING);
    if (!session->unit)
        session->unit = leat_process_unit(session->peer.pid);
    return leat_opening_start(session, payload, packet->payload_bytes, err);
}

/* Clears only what this session holds, and only if all four numbers are those of the announcement:
 * a second RELEASE cannot free a later batch in the same slot. */
static int on_release(struct leat_session *session, const struct leat_packet *packet,
                      const void *payload, struct leat_error *err) {
    (void)payload;
    if (!leat_hub_release(&session->hub, packet->batch.generation, packet->batch.slot,
                          packet->batch.epoch, packet->batch.step))
        return leat_error_set(
            err, -EPROTO,
            "RELEASE of generation %llu, slot %u, epoch %llu, step %llu, which is not held",
            (unsigned long long)packet->batch.generation, packet->batch.slot,
            (unsigned long long)packet->batch.epoch, (unsigned long long)packet->batch.step);
    leat_share_act(session->share);
    leat_session_mark(session);
    return 0;
}

/* It has taken a batch of that epoch, which it was sent. */
static int on_reached(struct leat_session *session, const struct leat_packet *packet,
                      const void *payload, struct leat_error *err) {
    uint64_t epoch = packet->batch.epoch;

    (void)payload;
    (void)err;
    if (epoch <= session->reached || epoch > session->next_epoch)
        return 0;
    session->reached = epoch;
    leat_session_mark(session);
    return 0;
}

/* Also says that nothing is read any more. */
static int on_bye(struct leat_session *session, const struct leat_packet *packet,
                  const void *payload, struct leat_error *err) {
    (void)packet;
    (void)payload;
    (void)err;
    leat_session_release_all(session);
    leat_session_close(session);
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

static int step(struct leat_session *session, const struct leat_packet *packet, const void *payload,
                struct leat_error *err) {
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
        return 0; /* of a later version, and said to be optional */
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
    r = step(session, packet, payload, &err);
    if (r == -EPROTO || r == -EPROTONOSUPPORT)
        punish(session, &err);
    else if (r < 0)
        leat_session_refuse(session, &err);
}

/* ---- from the delivery and the process ---- */

void leat_session_on_end(struct leat_session *session, const struct leat_error *err) {
    if (session->state == LEAT_SESSION_CLOSING)
        return;
    if (err->code == -EPROTO)
        punish(session, err);
    else
        leat_session_close(session);
}

void leat_session_on_writable(struct leat_session *session) {
    leat_session_mark(session);
}

void leat_session_on_delivery_closed(struct leat_session *session) {
    session->delivery->ops->free(session->delivery);
    session->delivery = NULL;
    finish_if_closed(session);
}

static void on_peer_death(struct leat_peer *peer) {
    struct leat_session *session =
        (struct leat_session *)((char *)peer - offsetof(struct leat_session, peer));

    leat_session_close(session);
    leat_session_release_all(session);
    finish_if_closed(session);
}

/* ---- room for its run ---- */

/* One that is new waits as long as all do that are new, if there could be room at all. */
bool leat_session_may_wait(struct leat_session *session, const struct leat_error *err) {
    uint64_t loaded_bytes;

    session->room.error = *err;
    return session->state == LEAT_SESSION_SERVING ||
           (err->code == -ENOMEM && leat_daemon_now_ns() < session->room.deadline_ns &&
            leat_admission_wait_bytes(session->daemon, &session->user->memory, session->share->plan,
                                      session->window, false, &loaded_bytes) > 0);
}

static bool has_waited_enough(struct leat_session *session, uint64_t now_ns) {
    struct leat_session_room *room = &session->room;
    uint64_t n_returned = session->daemon->budget.n_returned_bytes;

    if (room->since_ns == 0)
        room->since_ns = now_ns;
    if (room->since_ns == now_ns || n_returned != room->n_seen)
        room->returned_ns = now_ns;
    room->n_seen = n_returned;
    return now_ns - room->returned_ns >= ROOM_IDLE_NS || now_ns - room->since_ns >= ROOM_NS;
}

/* Others are ahead of it, and keep what it would need. */
static void fail_for_room(struct leat_session *session) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, -ENOMEM,
                   "the trainer fell behind those that it shared batches with, and there was no "
                   "memory for it to go on by itself: %s",
                   session->room.error.message);
    leat_session_fail(session, &err);
}

static void look_for_room(struct leat_session *session, uint64_t now_ns) {
    if (session->hub.is_waiting) {
        leat_hub_retry(&session->hub);
        leat_share_act(session->share);
    }
    if (!session->hub.is_waiting)
        session->room.since_ns = 0;
    if (session->state == LEAT_SESSION_OPENED && session->hub.run &&
        leat_feed_of(session->hub.run)->state != LEAT_FEED_STARTING)
        leat_session_on_started(session, NULL);
    else if (session->hub.is_waiting && session->state == LEAT_SESSION_SERVING &&
             has_waited_enough(session, now_ns))
        fail_for_room(session);
}

void leat_session_tick(struct leat_session *session, uint64_t now_ns) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->share)
        look_for_room(session, now_ns);
    if (session->deadline_ns == 0 || now_ns < session->deadline_ns)
        return;
    session->deadline_ns = 0;
    if (session->state == LEAT_SESSION_LEAVING) {
        leat_session_close(session);
    } else if (session->state <= LEAT_SESSION_WELCOMED) {
        leat_error_set(&err, -ETIMEDOUT, "nothing was said for 10 seconds in state %s",
                       state_names[session->state]);
        leat_session_refuse(session, &err);
    }
}

/* ---- beginning ---- */

static void link_session(struct leat_session *session) {
    struct leat_daemon *daemon = session->daemon;

    session->next = daemon->sessions;
    session->link = &daemon->sessions;
    if (session->next)
        session->next->link = &session->next;
    daemon->sessions = session;
    daemon->n_sessions++;
}

void leat_session_turn_away(struct leat_daemon *daemon, int take_fd,
                            const struct leat_delivery_ops *delivery_ops,
                            const struct leat_error *err) {
    daemon->n_refused++;
    if (err)
        leat_delivery_refuse(take_fd, delivery_ops, err);
    leat_reaper_dispose(&daemon->reaper, take_fd);
}

static int charge(struct leat_session *session, struct leat_error *err) {
    int r;

    session->user = leat_users_get(&session->daemon->users, session->peer.uid);
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

/* Up to here nothing refers to the session; from here on it frees itself. */
static int start(struct leat_session *session, int take_fd, const struct leat_delivery_ops *ops,
                 struct leat_error *err) {
    int r = ops->open(session, take_fd, &session->delivery);

    if (r < 0) {
        leat_user_discharge(session->user, LEAT_CHARGE_SESSIONS, 1);
        return leat_error_set(err, r, "a connection cannot be watched: %s", strerror(-r));
    }
    link_session(session);
    r = leat_peer_watch(&session->peer, &session->daemon->loop, take_fd, on_peer_death);
    if (r < 0)
        leat_session_close(session);
    return r < 0 ? 1 : 0;
}

int leat_session_accept(struct leat_daemon *daemon, int take_fd,
                        const struct leat_delivery_ops *delivery_ops) {
    struct leat_session *session = calloc(1, sizeof(*session));
    struct leat_error err = LEAT_ERROR_INIT;
    bool refuses_descriptors = leat_reaper_refuse_descriptors(take_fd);
    int r;

    if (session) {
        session->daemon = daemon;
        session->refuses_descriptors = refuses_descriptors;
        session->id = ++daemon->next_session;
        session->start_ns = leat_daemon_now_ns();
        session->deadline_ns = session->start_ns + HELLO_NS;
        r = leat_peer_identify(&session->peer, take_fd);
        if (r < 0)
            (void)leat_error_set(&err, r, "who is at the other end? %s", strerror(-r));
        else
            r = charge(session, &err);
        if (r == 0)
            r = start(session, take_fd, delivery_ops, &err);
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
    leat_session_turn_away(daemon, take_fd, delivery_ops, &err);
    return 0;
}
